/* history: the log of writes with its diffs, one write, or a run as one diff. */
#include "base/plural.h"
#include "base/quote.h"
#include "tools/render.h"
#include "tools/state/run_args.h"

enum { LIMIT = 20 };

/* The bytes of an answer that are reserved for the sentence about omitted entries. */
enum { ROOM_MIN = 600 };

struct history {
	struct st_call *call;
	struct st_run run;
	bool with_diff;
	/* Entries to show, those that were, and the writes or files in them. */
	size_t limit, entries, count;
	yyjson_mut_val *items;
};

static void history_release(struct history *history) {
	st_run_release(&history->run);
}

/* ---- a diff ---- */

/* The bytes of a version, empty for no file; *lost if they are gone. */
static struct st_blob *bytes_of(const struct history *history, const char *path,
                                const struct st_version *version, bool *lost) {
	if (!version->exists)
		return NULL;
	struct st_blob *blob = st_run_bytes(history->call->session->ws, path, &version->hash);
	*lost |= !blob;
	return blob;
}

static struct st_str text_of(const struct st_blob *blob) {
	return blob ? st_strn(blob->bytes, blob->len) : st_str("");
}

static bool is_binary(struct st_str text) {
	return memchr(text.ptr, '\0', text.len) != NULL;
}

static int show_texts(struct history *history, yyjson_mut_val *item, const char *path,
                      const struct st_version *before, const struct st_version *after,
                      struct st_str old, struct st_str new, struct stet_error *err) {
	struct st_call *call = history->call;
	st_auto(st_diff_report) report = {0};
	st_auto(st_buf) diff = ST_BUF_INIT;
	const struct st_diff_opts opts = {
		.old_name = before->exists ? path : NULL,
		.new_name = after->exists ? path : NULL,
		.context = 3,
		.max_bytes = st_call_room(call) - ROOM_MIN / 2,
	};
	int code = st_diff_unified(old, new, &opts, &diff, &report, err);
	if (code < 0)
		return code;
	st_json_add_text(call->doc, item, "diff", st_buf_str(&diff));
	if (report.truncated)
		st_json_add_true(call->doc, item, "diffTruncated");
	st_buf_add(&call->text, st_buf_str(&diff));
	return 0;
}

static void say_instead(struct history *history, yyjson_mut_val *item, const char *why) {
	st_json_add_text(history->call->doc, item, "noDiff", st_str(why));
	st_buf_addf(&history->call->text, "No diff: %s.\n", why);
}

static int show_diff(struct history *history, yyjson_mut_val *item, const char *path,
                     const struct st_version *before, const struct st_version *after,
                     struct stet_error *err) {
	bool lost_old = false, lost_new = false;
	struct st_blob *old = bytes_of(history, path, before, &lost_old);
	struct st_blob *new = bytes_of(history, path, after, &lost_new);
	int code = 0;
	if (st_workspace_check_type(history->call->session->ws, path, NULL) < 0)
		say_instead(history, item, "files of this type may not be read here");
	else if (lost_old)
		say_instead(history, item, "the version before is no longer kept");
	else if (lost_new)
		say_instead(history, item, "the version after is no longer kept");
	else if (is_binary(text_of(old)) || is_binary(text_of(new)))
		say_instead(history, item, "it is a binary file");
	else
		code = show_texts(history, item, path, before, after, text_of(old), text_of(new), err);
	st_blob_put(old);
	st_blob_put(new);
	return code;
}

static void add_name(struct st_call *call, const char *path) {
	st_auto(st_buf) name = ST_BUF_INIT;
	st_call_spell(call, path, &name);
	st_quote_name(&call->text, st_buf_str(&name));
}

/* ---- writes ---- */

static void add_hash(struct st_call *call, yyjson_mut_val *item, const char *key,
                     const struct st_version *version) {
	char hex[ST_HASH_HEX + 1];
	st_hash_hex(&version->hash, hex, ST_HASH_HEX);
	st_json_add(call->doc, item, key,
	            version->exists ? st_json_text(call->doc, st_str(hex))
	                            : yyjson_mut_null(call->doc));
}

static yyjson_mut_val *add_write(struct history *history, const struct st_run_write *write) {
	struct st_call *call = history->call;
	yyjson_mut_val *item = yyjson_mut_obj(call->doc);
	st_json_add(call->doc, item, "id", yyjson_mut_sint(call->doc, write->id));
	st_render_path(call, item, "path", write->path);
	st_json_add_time(call->doc, item, "time", write->at);
	if (write->session)
		st_json_add_text(call->doc, item, "session", st_str(st_name_without_owner(write->session)));
	if (write->story)
		st_json_add_text(call->doc, item, "story", st_str(write->story));
	add_hash(call, item, "before", &write->before);
	add_hash(call, item, "after", &write->after);
	if (write->undoes)
		st_json_add(call->doc, item, "undoes", yyjson_mut_sint(call->doc, write->undoes));
	if (write->undone_by)
		st_json_add(call->doc, item, "undoneBy", yyjson_mut_sint(call->doc, write->undone_by));
	st_json_push(call->doc, history->items, item);
	return item;
}

/* "write 12: list.txt, by me, 2026-01-31T12:00:00Z, story x, undone by 15" */
static void say_write(struct history *history, const struct st_run_write *write,
                      const yyjson_mut_val *item) {
	struct st_buf *text = &history->call->text;
	yyjson_mut_val *time = yyjson_mut_obj_get((yyjson_mut_val *)(uintptr_t)item, "time");
	const char *verb = !write->before.exists  ? "created"
	                   : !write->after.exists ? "deleted"
	                                          : "changed";
	st_buf_addf(text, "write %lld: %s ", (long long)write->id, verb);
	add_name(history->call, write->path);
	st_buf_addf(text, ", %s", time ? yyjson_mut_get_str(time) : "-");
	if (write->session)
		st_buf_addf(text, ", by %s", st_quoted(st_name_without_owner(write->session)));
	if (write->story)
		st_buf_addf(text, ", story %s", st_quoted(write->story));
	if (write->undoes)
		st_buf_addf(text, ", takes back %lld", (long long)write->undoes);
	if (write->undone_by)
		st_buf_addf(text, ", taken back by %lld", (long long)write->undone_by);
	st_buf_addc(text, '\n');
}

static int show_write(struct history *history, const struct st_run_write *write, int64_t set,
                      struct stet_error *err) {
	yyjson_mut_val *item = add_write(history, write);
	if (set)
		st_json_add(history->call->doc, item, "changeSet",
		            yyjson_mut_sint(history->call->doc, set));
	say_write(history, write, item);
	return history->with_diff
	           ? show_diff(history, item, write->path, &write->before, &write->after, err)
	           : 0;
}

/* Whether one more fits; an answer has one at least. */
static bool has_room(const struct history *history) {
	return history->entries < history->limit &&
	       (history->count == 0 || st_call_room(history->call) > ROOM_MIN);
}

/* How many writes from the n-th on were made as one. */
static size_t count_set(const struct st_run *run, size_t n) {
	size_t count = 1;
	while (n + count < run->count && st_run_is_same_change(run->writes[n], run->writes[n + count]))
		count++;
	return count;
}

/* One entry of the log: a write, or all those of a change set, whose newest one gives it its number. */
static int show_entry(struct history *history, size_t count, struct stet_error *err) {
	struct st_run_write **writes = &history->run.writes[history->count];
	int code = 0;
	if (count > 1)
		st_buf_addf(&history->call->text, "change set %lld: %zu files\n", (long long)writes[0]->id,
		            count);
	for (size_t i = 0; i < count && code == 0; i++)
		code = show_write(history, writes[i], count > 1 ? writes[0]->id : 0, err);
	return code;
}

static int by_newest(const void *a, const void *b) {
	const struct st_run_write *left = *(struct st_run_write *const *)a;
	const struct st_run_write *right = *(struct st_run_write *const *)b;
	return (left->id < right->id) - (left->id > right->id);
}

static int show_writes(struct history *history, struct stet_error *err) {
	struct st_run *run = &history->run;
	int code = 0;
	if (run->count > 0)
		qsort(run->writes, run->count, sizeof *run->writes, by_newest);
	history->items = st_json_add_array(history->call->doc, history->call->result, "writes");
	while (history->count < run->count && code == 0 && has_room(history)) {
		size_t count = count_set(run, history->count);
		code = show_entry(history, count, err);
		history->count += count;
		history->entries++;
	}
	return code;
}

/* ---- a run ---- */

/* Whether others wrote between two writes of the run. */
static bool has_others(const struct st_run_file *file) {
	for (size_t i = 1; i < file->count; i++) {
		const struct st_version *made = &file->writes[i - 1]->after;
		const struct st_version *met = &file->writes[i]->before;
		if (made->exists != met->exists || (made->exists && !st_hash_eq(&made->hash, &met->hash)))
			return true;
	}
	return false;
}

static int show_file(struct history *history, const struct st_run_file *file,
                     struct stet_error *err) {
	struct st_call *call = history->call;
	const struct st_version *before = &file->writes[0]->before;
	const struct st_version *after = &file->writes[file->count - 1]->after;
	yyjson_mut_val *item = yyjson_mut_obj(call->doc);
	st_render_path(call, item, "path", file->path);
	st_json_add_size(call->doc, item, "writes", file->count);
	add_hash(call, item, "before", before);
	add_hash(call, item, "after", after);
	st_json_push(call->doc, history->items, item);
	bool same = before->exists == after->exists &&
	            (!before->exists || st_hash_eq(&before->hash, &after->hash));
	if (has_others(file)) {
		st_json_add_true(call->doc, item, "others");
		add_name(call, file->path);
		st_buf_adds(&call->text,
		            ": others changed it in between; the diff has their changes too\n");
	}
	if (same || st_workspace_check_type(call->session->ws, file->path, NULL) < 0) {
		add_name(call, file->path);
		st_buf_adds(&call->text, same ? ": is what it was before\n" : ": ");
	}
	return same ? 0 : show_diff(history, item, file->path, before, after, err);
}

static int show_run(struct history *history, struct stet_error *err) {
	const struct st_run *run = &history->run;
	int code = 0;
	history->items = st_json_add_array(history->call->doc, history->call->result, "files");
	history->limit = SIZE_MAX;
	for (; history->count < run->file_count && code == 0 && has_room(history); history->count++)
		code = show_file(history, &run->files[history->count], err);
	return code;
}

/* ---- the call ---- */

static void say_omitted(struct history *history, size_t total, const char *one, const char *many) {
	size_t left = total - history->count;
	if (left == 0)
		return;
	st_json_add_size(history->call->doc, history->call->result, "omitted", left);
	st_buf_addf(&history->call->text, "... and %zu more %s\n", left, st_plural(left, one, many));
}

static int run_history_tool(struct st_call *call, struct stet_error *err) {
	st_auto(st_place) place = ST_PLACE_INIT;
	bool as_run = st_arg_flag(call, "run", false), named = false;
	int64_t limit = st_arg_int(call, "limit", LIMIT);
	struct st_run_query query = {.any = !as_run, .for_display = as_run};
	st_auto(history) history = {.call = call};
	if (limit < 1)
		return st_fail(err, STET_E_INVALID, "limit takes a number from 1.");
	int code = st_call_run_query(call, &place, &query, &named, err);
	if (code == 0 && as_run && !named && !query.path)
		code = st_fail(err, STET_E_INVALID,
		               "A run needs at least one of \"of\", \"story\", \"since\", \"id\" and "
		               "\"path\".");
	query.set = query.id && !query.path;
	if (code == 0)
		code = st_run_find(call->session, &query, &history.run, err);
	/* An empty log is no mistake of the caller. */
	if (code == STET_E_NOT_FOUND && query.any && !query.id) {
		st_buf_addf(&call->text, "%s\n", err->message);
		code = 0;
	}
	if (code < 0)
		return code;
	history.limit = (size_t)limit;
	history.with_diff = st_arg_flag(call, "diff", query.id != 0);
	st_json_add_text(call->doc, call->result, "status", ST_STR("success"));
	code = (as_run ? show_run : show_writes)(&history, err);
	if (as_run)
		say_omitted(&history, history.run.file_count, "file", "files");
	else
		say_omitted(&history, history.run.count, "write", "writes");
	return code;
}

static const struct st_param params[] = {
	{.name = "path", .aliases = "filePath file_path", .description = "Of one file."},
	ST_PARAM_RUN_OF,
	ST_PARAM_RUN_STORY,
	ST_PARAM_RUN_SINCE,
	ST_PARAM_RUN_ID,
	{.name = "run", .type = ST_PARAM_BOOLEAN, .description = "One diff for each file."},
	{.name = "diff", .type = ST_PARAM_BOOLEAN, .description = "With diffs."},
	{.name = "limit", .type = ST_PARAM_INTEGER, .description = "How many writes; 20 by default."},
	ST_PARAM_SESSION,
	ST_PARAMS_END,
};

const struct st_tool st_history = {
	.name = "history",
	.title = "Writes and their diffs",
	.description = "List writes, newest first, or show a run of them as one diff.",
	.params = params,
	.output_schema = ST_OUTPUT("\"writes\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}},"
                               "\"files\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}},"
                               "\"omitted\":{\"type\":\"integer\"}"),
	.hints = ST_HINT_READ_ONLY | ST_HINT_IDEMPOTENT,
	.group = ST_GROUP_STATE,
	.run = run_history_tool,
};
