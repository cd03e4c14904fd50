/* changes: list the files in use that changed since a clock, and those that the session should read again. */
#include "base/plural.h"
#include "core/watch/shared_watcher.h"
#include "core/session/session.h"
#include "tools/render.h"

enum { LIMIT = 200, LIMIT_MAX = 10000 };

/* One of the two lists of the answer. */
struct list {
	yyjson_mut_doc *doc;
	yyjson_mut_val *items;
	/* The list as text. */
	struct st_buf *text;
	size_t limit;
	size_t count;
};

/* Count one more item; false if it is beyond the limit and must not be added. */
static bool count_item(struct list *list) {
	return list->count++ < list->limit;
}

static void add_text_line(struct list *list, const char *word, const char *path) {
	st_buf_adds(list->text, word);
	st_buf_addc(list->text, ' ');
	st_quote_name(list->text, st_str(path));
	st_buf_addc(list->text, '\n');
}

static void add_change(struct list *list, const char *path, const char *event) {
	if (!count_item(list))
		return;
	yyjson_mut_val *item = yyjson_mut_obj(list->doc);
	st_json_add_text(list->doc, item, "path", st_str(path));
	st_json_add_text(list->doc, item, "event", st_str(event));
	st_json_push(list->doc, list->items, item);
	add_text_line(list, event, path);
}

static void add_stale(void *data, const char *path, enum st_seen_status status) {
	struct list *list = data;
	if (!count_item(list))
		return;
	st_json_push(list->doc, list->items, st_json_text(list->doc, st_str(path)));
	add_text_line(list, status == ST_DELETED ? "deleted" : "modified", path);
}

/* Say how many items the list left out, and return that number. */
static size_t end_list(struct list *list) {
	size_t left = list->count > list->limit ? list->count - list->limit : 0;
	if (left > 0)
		st_buf_addf(list->text, "... and %zu more; ask with a larger limit\n", left);
	return left;
}

static size_t render_changes(struct st_call *call, const struct stet_changes *changes,
                             size_t limit) {
	struct list list = {.doc = call->doc, .text = &call->text, .limit = limit};
	bool fresh = stet_changes_fresh(changes);
	size_t count = stet_changes_count(changes);
	st_json_add_text(call->doc, call->result, "clock", st_str(stet_changes_clock(changes)));
	yyjson_mut_val *is_fresh = yyjson_mut_bool(call->doc, fresh);
	st_json_add(call->doc, call->result, "fresh", is_fresh);
	list.items = st_json_add_array(call->doc, call->result, "changes");
	if (fresh)
		st_buf_addf(&call->text, "%s. %zu %s in use:\n",
		            st_arg(call, "clock") ? "The changes since that clock are not known"
		                                  : "Watching begins now",
		            count, st_plural(count, "file is", "files are"));
	else
		st_buf_addf(&call->text, "%zu %s changed.\n", count, st_plural(count, "file", "files"));
	for (size_t i = 0; i < count; i++)
		add_change(&list, stet_changes_path(changes, i), stet_changes_event(changes, i));
	return end_list(&list);
}

/* Compare by stat and content, not by events: the watch may have begun after the file was read. */
static int render_stale(struct st_call *call, size_t limit, size_t *left, struct stet_error *err) {
	st_auto(st_buf) lines = ST_BUF_INIT;
	struct list list = {.doc = call->doc, .text = &lines, .limit = limit};
	list.items = st_json_add_array(call->doc, call->result, "stale");
	int code = st_session_each_changed(call->session, add_stale, &list, err);
	*left += end_list(&list);
	if (list.count > 0)
		st_buf_adds(&call->text,
		            "These files differ from what you read; read them again before you change "
		            "them:\n");
	st_buf_add(&call->text, st_buf_str(&lines));
	call->text.failed |= lines.failed;
	return code;
}

static int run_changes(struct st_call *call, struct stet_error *err) {
	struct stet_workspace *ws = call->session->ws;
	struct stet_changes *changes = NULL;
	int64_t limit = st_arg_int(call, "limit", LIMIT);
	if (limit < 1 || limit > LIMIT_MAX)
		return st_fail(err, STET_E_INVALID, "\"limit\" of changes must be from 1 to %d.",
		               LIMIT_MAX);
	int code = st_shared_watcher_use_all(&ws->watcher, &call->session->tracker.files, err);
	if (code == 0)
		code = stet_workspace_since(ws, st_arg_str(call, "clock").ptr, &changes, err);
	if (code < 0)
		return code;
	st_json_add_text(call->doc, call->result, "status", ST_STR("success"));
	size_t left = render_changes(call, changes, (size_t)limit);
	code = render_stale(call, (size_t)limit, &left, err);
	if (left > 0)
		st_json_add_size(call->doc, call->result, "omitted", left);
	st_buf_addf(&call->text, "Clock: %s\n", stet_changes_clock(changes));
	stet_changes_free(changes);
	return code;
}

static const struct st_param params[] = {
	{.name = "clock",
     .description = "From an earlier answer; without it all files in use are listed."},
	{.name = "limit", .type = ST_PARAM_INTEGER, .description = "How many to list, 200 by default."},
	ST_PARAM_SESSION,
	ST_PARAMS_END,
};

const struct st_tool st_changes = {
	.name = "changes",
	.title = "What changed",
	.description =
		"List which of the files read or written here changed since an earlier clock, whoever "
		"changed them; stale lists those that differ from what you read. Use it after running "
		"commands, instead of reading files again.",
	.params = params,
	.output_schema =
		ST_OUTPUT("\"clock\":{\"type\":\"string\"},\"fresh\":{\"type\":\"boolean\"},\"changes\":{"
                  "\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"path\":{"
                  "\"type\":\"string\"},\"event\":{\"enum\":[\"add\",\"change\",\"unlink\"]}},"
                  "\"required\":[\"path\",\"event\"]}},\"stale\":{\"type\":\"array\",\"items\":{"
                  "\"type\":\"string\"}},\"omitted\":{\"type\":\"integer\"}"),
	.hints = ST_HINT_READ_ONLY | ST_HINT_IDEMPOTENT,
	.run = run_changes,
};
