/*
 * The protocol core over a workspace: it finishes each message once, answers it at
 * most once, and sends nothing but JSON-RPC. Input: messages of either era, one per
 * line.
 */
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include "mcp/service/service.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { MESSAGES_MAX = 32, ROUNDS = 500 };

/* A received message, and how often it was finished and answered. */
struct watcher {
	struct st_mcp_sink sink;
	int answers, dones;
};

static struct stet_host *host;
static struct st_service *service;
static char root[] = "/dev/shm/stet-fuzz-XXXXXX";
static struct watcher watchers[MESSAGES_MAX];

static void must(bool truth) {
	if (!truth)
		abort();
}

/* ---- a workspace, made again now and then ---- */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *walk) {
	return remove(path);
}

static void end(void) {
	st_service_free(service);
	stet_host_close(host);
	nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void put(const char *name, const char *text) {
	char path[100];
	snprintf(path, sizeof path, "%s/%s", root, name);
	FILE *file = fopen(path, "w");
	must(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void begin(void) {
	const char *roots = root;
	must(mkdir(root, 0700) == 0);
	put("a.txt", "one\ntwo\n");
	put("a.md", "# One\n\ntext\n\n## Two\n\n```c\ncode\n```\n");
	put("AGENTS.md", "Be kind.\n");
	must(stet_host_open(&roots, 1, &host, NULL) == 0);
	must(stet_host_set(host, STET_OPTION_DURABLE, 0, NULL) == 0);
	must(st_service_new(host, NULL, &service, NULL) == 0);
}

static void refresh(void) {
	static int round;
	if (round == 0) {
		must(mkdtemp(root));
		must(rmdir(root) == 0);
		atexit(end);
	} else if (round % ROUNDS == 0) {
		end();
	}
	if (round++ % ROUNDS == 0)
		begin();
}

/* ---- sent messages ---- */

static void check_part(yyjson_val *message) {
	must(st_str_eq(st_json_str(yyjson_obj_get(message, "jsonrpc")), ST_STR("2.0")));
	bool result = yyjson_is_obj(yyjson_obj_get(message, "result"));
	yyjson_val *error = yyjson_obj_get(message, "error");
	bool method = yyjson_is_str(yyjson_obj_get(message, "method"));
	must(result + yyjson_is_obj(error) + method == 1);
	if (error)
		must(yyjson_is_int(yyjson_obj_get(error, "code")) &&
		     yyjson_get_len(yyjson_obj_get(error, "message")) > 0);
	if (!method)
		must(yyjson_obj_get(message, "id"));
}

static void check(struct st_buf *text) {
	must(!memchr(text->ptr, '\n', text->len));
	yyjson_doc *doc = yyjson_read(text->ptr, text->len, 0);
	must(doc);
	yyjson_val *message = yyjson_doc_get_root(doc);
	yyjson_arr_iter parts = yyjson_arr_iter_with(message);
	for (yyjson_val *part; (part = yyjson_arr_iter_next(&parts));)
		check_part(part);
	if (!yyjson_is_arr(message))
		check_part(message);
	yyjson_doc_free(doc);
}

static void on_event(struct st_mcp_sink *sink, struct st_buf *message) {
	struct watcher *watcher = (struct watcher *)sink;
	must(watcher->answers == 0 && watcher->dones == 0);
	check(message);
}

static void on_answer(struct st_mcp_sink *sink, struct st_buf *message, int status) {
	struct watcher *watcher = (struct watcher *)sink;
	must(watcher->answers++ == 0 && watcher->dones == 0);
	must(status == 200 || status == 400 || status == 404 || status == 500);
	check(message);
}

static void on_done(struct st_mcp_sink *sink) {
	must(((struct watcher *)sink)->dones++ == 0);
}

/* ---- received messages ---- */

static size_t send_all(struct st_mcp_peer *peer, struct st_str text) {
	size_t count = 0;
	while (text.len > 0 && count < MESSAGES_MAX) {
		const char *end_of_line = memchr(text.ptr, '\n', text.len);
		size_t len = end_of_line ? (size_t)(end_of_line - text.ptr) : text.len;
		struct watcher *watcher = &watchers[count++];
		*watcher = (struct watcher){.sink = {on_event, on_answer, on_done}};
		st_mcp_receive(peer, st_strn(text.ptr, len), &watcher->sink);
		text = st_str_slice(text, len + (end_of_line != NULL), text.len);
	}
	return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
	static struct watcher own;
	struct st_mcp_server *server = NULL;
	struct st_mcp_peer *peer = NULL;
	if (len < 1)
		return 0;
	refresh();
	own = (struct watcher){.sink = {on_event, on_answer, on_done}};
	must(st_mcp_server_new(st_service_base(service), NULL, &server, NULL) == 0);
	st_service_serve(service, server);
	/* The first byte chooses how the peer is connected. */
	must(st_mcp_peer_new(server, data[0] % 3, NULL, &own.sink, &peer, NULL) == 0);
	size_t count = send_all(peer, st_strn((const char *)data + 1, len - 1));
	st_service_dispatch(service);
	st_mcp_peer_close(peer);
	for (size_t i = 0; i < count; i++)
		must(watchers[i].dones == 1);
	must(own.answers == 0 && own.dones == 0);
	st_service_serve(service, NULL);
	st_mcp_server_free(server);
	return 0;
}
