/* The roots of a client, to which the host moves. */
#include "base/quote.h"
#include "base/uri.h"
#include "mcp/service/service_state.h"
#include "tools/host.h"

enum { ROOTS_MAX = 64, QUOTE_MAX = 200 };

/* The usable roots of a client. */
struct named {
	char *paths[ROOTS_MAX];
	size_t count;
	/* Sentences about the others. */
	struct st_buf left_out;
};

static void named_release(struct named *named) {
	for (size_t i = 0; i < named->count; i++)
		free(named->paths[i]);
	st_buf_release(&named->left_out);
}

/* Expand "~", which people write in a client's settings, where no shell expands it. */
static bool expand_home(struct st_str text, struct st_buf *path) {
	const char *home = getenv("HOME");
	if (!home || home[0] != '/')
		return false;
	st_buf_addf(path, "%s%.*s", home, (int)text.len - 1, text.ptr + 1);
	return !path->failed;
}

static bool contains(struct st_str text, const char *part) {
	return memmem(text.ptr, text.len, part, strlen(part)) != NULL;
}

/*
 * Get the directory of a plain path or of a URI, by the rules of Node's
 * fileURLToPath(), which other servers use. Returns NULL or what is wrong.
 */
static const char *read_root(struct st_str uri, struct st_buf *path) {
	if (memchr(uri.ptr, '\0', uri.len))
		return "holds a NUL character";
	if (uri.len > 0 && uri.ptr[0] == '/') {
		st_buf_add(path, uri);
		return NULL;
	}
	if (st_str_eq(uri, ST_STR("~")) || st_str_starts(uri, ST_STR("~/")))
		return expand_home(uri, path) ? NULL : "needs a home directory, and HOME names none";
	if (!st_str_starts(uri, ST_STR("file://")))
		return "is no file: URI";
	if (contains(uri, "%2f") || contains(uri, "%2F"))
		return "holds an encoded slash";
	/* Drop a query or fragment. */
	size_t len = 0;
	while (len < uri.len && uri.ptr[len] != '?' && uri.ptr[len] != '#')
		len++;
	return st_uri_path(st_str_slice(uri, 0, len), path) ? NULL
	                                                    : "is no URI of a file on this machine";
}

static void leave_out(struct named *named, struct st_str uri, const char *why) {
	st_buf_adds(&named->left_out, " ");
	st_quote_text(&named->left_out, uri, QUOTE_MAX);
	st_buf_addf(&named->left_out, " %s.", why);
}

static bool add_named_root(struct named *named, yyjson_val *root) {
	yyjson_val *value = yyjson_obj_get(root, "uri");
	st_auto(st_buf) path = ST_BUF_INIT;
	struct st_str uri = st_json_str(value);
	const char *why = yyjson_is_str(value) ? read_root(uri, &path) : "is no URI";
	if (!why && named->count == ROOTS_MAX)
		why = "exceeds the limit of 64 roots";
	if (why) {
		leave_out(named, uri, why);
		return !named->left_out.failed;
	}
	named->paths[named->count] = path.failed ? NULL : strdup(st_buf_cstr(&path));
	return named->paths[named->count] && ++named->count;
}

static struct stet_workspace *first_workspace(const struct st_service *service) {
	return stet_host_workspace(service->host, 0);
}

static void add_notice(struct st_service *service, const char *why, const struct named *named) {
	st_write_notice(&first_workspace(service)->writes, "%s%s Work goes on in %s.", why,
	                st_buf_cstr(&named->left_out), st_quoted(first_workspace(service)->root.path));
}

/* Move the host to the roots; subscriptions go on there. */
static void move_host(struct st_service *service, const struct named *named) {
	struct stet_error why = {0};
	st_auto(st_buf) text = ST_BUF_INIT;
	st_service_watch_pause(service);
	int code = stet_host_move(service->host, (const char *const *)named->paths, named->count, &why);
	st_service_watch_resume(service);
	st_buf_addf(&text, "None of the client's roots can be used. %s", why.message);
	if (code < 0)
		add_notice(service, st_buf_cstr(&text), named);
	else if (named->left_out.len > 0)
		st_write_notice(&first_workspace(service)->writes, "A root of the client was left out:%s",
		                st_buf_cstr(&named->left_out));
}

void st_service_use_roots(struct st_mcp_service *base, yyjson_val *list) {
	struct st_service *service = (struct st_service *)base;
	st_auto(named) named = {.left_out = ST_BUF_INIT};
	bool read = true;
	yyjson_arr_iter roots = yyjson_arr_iter_with(list);
	for (yyjson_val *root; read && (root = yyjson_arr_iter_next(&roots));)
		read = add_named_root(&named, root);
	if (!list)
		add_notice(service, "The client did not say what its roots are.", &named);
	else if (!read)
		add_notice(service, "Out of memory for the client's roots.", &named);
	else if (named.count > 0)
		move_host(service, &named);
	else
		add_notice(service,
		           named.left_out.len > 0 ? "None of the client's roots can be used:"
		                                  : "The client has no roots.",
		           &named);
}
