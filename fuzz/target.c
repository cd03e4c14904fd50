/*
 * text_patch from its JSON: for any target and operation the answer is JSON, a
 * failure has a message and leaves the file alone, and a success gives the number of
 * lines.
 *
 * Input: a byte that chooses the operation and whether the target is sent as an
 * object or as a string, then the target.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "stet/stet.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const char text[] =
	"---\nkey: value\n---\n# Title\n\nText.\n\n## Setup\n\n- item\n\n"
	"  ```sh\n  make\n  ```\n\nTitle\n=====\n\n## Setup\n\nlast";

static void must(bool truth) {
	if (!truth)
		abort();
}

static char directory[64];
static struct stet_workspace *ws;

static void remove_directory(void) {
	stet_workspace_close(ws);
	char path[128];
	snprintf(path, sizeof path, "%s/a.md", directory);
	unlink(path);
	rmdir(directory);
}

static void open_workspace(void) {
	if (ws)
		return;
	snprintf(directory, sizeof directory, "%s/stet-fuzz-XXXXXX",
	         access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	must(mkdtemp(directory) != NULL);
	must(stet_workspace_open(directory, &ws, NULL) == 0);
	must(stet_workspace_set(ws, STET_OPTION_DURABLE, 0, NULL) == 0);
	atexit(remove_directory);
}

static void put_text(void) {
	char path[128];
	snprintf(path, sizeof path, "%s/a.md", directory);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	must(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

static bool is_unchanged(void) {
	char path[128], bytes[sizeof text + 1];
	snprintf(path, sizeof path, "%s/a.md", directory);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = read(fd, bytes, sizeof bytes);
	close(fd);
	return got == (ssize_t)strlen(text) && memcmp(bytes, text, strlen(text)) == 0;
}

/* Append the target, as it is or as a JSON string. */
static void add_target(struct st_buf *out, struct st_str target, bool quoted) {
	if (!quoted) {
		st_buf_add(out, target);
		return;
	}
	st_buf_addc(out, '"');
	for (size_t i = 0; i < target.len; i++) {
		unsigned char byte = (unsigned char)target.ptr[i];
		if (byte == '"' || byte == '\\' || byte < 0x20)
			st_buf_addf(out, "\\u%04x", byte);
		else
			st_buf_addc(out, (char)byte);
	}
	st_buf_addc(out, '"');
}

static void check_answer(int code, const char *answer, size_t len) {
	must(answer != NULL);
	yyjson_doc *doc = NULL;
	must(st_json_parse(st_strn(answer, len), "The answer", &doc, NULL) == 0);
	yyjson_val *root = yyjson_doc_get_root(doc);
	yyjson_val *data = yyjson_obj_get(root, "structuredContent");
	must(yyjson_is_obj(data) && yyjson_is_str(yyjson_obj_get(data, "status")));
	must((code < 0) == yyjson_get_bool(yyjson_obj_get(root, "isError")));
	if (code < 0)
		must(yyjson_get_len(yyjson_obj_get(data, "message")) > 0 && is_unchanged());
	else
		must(yyjson_is_int(yyjson_obj_get(data, "linesDelta")));
	yyjson_doc_free(doc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
	static const char *const operations[] = {"replace", "insert",       "delete",
	                                         "REPLACE", "replaceLines", ""};
	if (len == 0)
		return 0;
	open_workspace();
	put_text();
	struct stet_session *session = NULL;
	must(stet_session_open(ws, NULL, &session, NULL) == 0);
	st_auto(st_buf) args = ST_BUF_INIT;
	st_buf_addf(&args,
	            "{\"filePath\":\"a.md\",\"operation\":\"%s\",\"content\":\"new\\n\",\"target\":",
	            operations[data[0] / 2 % 6]);
	add_target(&args, st_strn((const char *)data + 1, len - 1), data[0] & 1);
	st_buf_addc(&args, '}');
	char *answer = NULL;
	size_t answer_len = 0;
	int code = stet_call(session, "text_patch", args.ptr, args.len, &answer, &answer_len, NULL);
	check_answer(code, answer, answer_len);
	stet_free(answer);
	stet_session_close(session);
	return 0;
}
