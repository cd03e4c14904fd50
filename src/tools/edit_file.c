/* edit_file: ordered edits of one file, all or nothing. */
#include "text/edits.h"

#include "text/unified.h"
#include "tools/render.h"

enum { EDITS_MAX = 1000 };

/* More of a diff is not shown in an answer; the whole of a dry run's is. */
#define DIFF_SHOWN ((size_t)16 << 10)
#define DRY_DIFF_SHOWN ((size_t)1 << 20)

struct work {
	struct st_call *call;
	const char *path;
	struct st_edit *edits;
	size_t count;
	bool dry_run;
	struct st_edited *results;
	struct st_edits_failure *failure;
	int code;
	struct st_buf diff;
	bool truncated;
	size_t first_merged, last_merged;
};

static void work_release(struct work *work) {
	free(work->edits);
	free(work->results);
	free(work->failure);
	st_buf_release(&work->diff);
}

/* ---- arguments ---- */

static yyjson_val *get_any(yyjson_val *object, const char *const *names) {
	for (; *names; names++) {
		yyjson_val *value = yyjson_obj_get(object, *names);
		if (value)
			return value;
	}
	return NULL;
}

static int read_edit(yyjson_val *value, size_t number, struct st_edit *edit, struct stet_error *err) {
	static const char *const old_names[] = {"oldText", "oldStr", "old_string", "old_str", "old_text", "oldString", NULL};
	static const char *const new_names[] = {"newText", "newStr", "new_string", "new_str", "new_text", "newString", NULL};
	static const char *const all_names[] = {"replaceAll", "replace_all", NULL};
	yyjson_val *old = get_any(value, old_names), *new = get_any(value, new_names);
	yyjson_val *all = get_any(value, all_names);
	if (!yyjson_is_str(old) || !yyjson_is_str(new))
		return st_fail(err, STET_E_INVALID, "Edit %zu needs \"oldText\" and \"newText\" as strings.", number);
	if (all && !yyjson_is_bool(all))
		return st_fail(err, STET_E_INVALID, "\"replaceAll\" of edit %zu must be true or false.", number);
	*edit = (struct st_edit){st_json_str(old), st_json_str(new), yyjson_get_bool(all)};
	return 0;
}

static int read_list(yyjson_val *list, struct work *work, struct stet_error *err) {
	if (!yyjson_is_arr(list) || yyjson_arr_size(list) == 0)
		return st_fail(err, STET_E_INVALID,
		               "The argument \"edits\" of edit_file must be a list of {oldText, newText}, with at least one.");
	if (yyjson_arr_size(list) > EDITS_MAX)
		return st_fail(err, STET_E_INVALID, "edit_file takes up to %d edits at once, not %zu.", EDITS_MAX,
		               yyjson_arr_size(list));
	size_t i, max;
	yyjson_val *value;
	yyjson_arr_foreach(list, i, max, value) {
		int code = read_edit(value, i + 1, &work->edits[i], err);
		if (code < 0)
			return code;
		work->count++;
	}
	return 0;
}

static int read_edits(struct work *work, struct stet_error *err) {
	yyjson_val *list = st_arg(work->call, "edits");
	yyjson_val *old = st_arg(work->call, "oldText"), *new = st_arg(work->call, "newText");
	size_t count = yyjson_is_arr(list) && yyjson_arr_size(list) > 0 ? yyjson_arr_size(list) : 1;
	work->edits = calloc(count, sizeof *work->edits);
	work->results = calloc(count, sizeof *work->results);
	work->failure = calloc(1, sizeof *work->failure);
	if (!work->edits || !work->results || !work->failure)
		return st_fail_nomem(err);
	if (list && (old || new))
		return st_fail(err, STET_E_INVALID, "Give edit_file either \"edits\" or \"oldText\" and \"newText\", not both.");
	if (list)
		return read_list(list, work, err);
	if (!old || !new)
		return st_fail(err, STET_E_INVALID,
		               "edit_file needs \"edits\" (a list of {oldText, newText}), or \"oldText\" and \"newText\".");
	work->edits[work->count++] = (struct st_edit){
		st_json_str(old), st_json_str(new), st_arg_flag(work->call, "replaceAll", false)};
	return 0;
}

/* ---- the change ---- */

static int show_diff(struct work *work, struct st_str old, struct st_str new, struct stet_error *err) {
	struct st_diff_opts opts = ST_DIFF_OPTS(work->path);
	opts.max_bytes = work->dry_run ? DRY_DIFF_SHOWN : DIFF_SHOWN;
	st_auto(st_diff_report) report = {0};
	int code = st_diff_unified(old, new, &opts, &work->diff, &report, err);
	work->truncated = report.truncated;
	return code;
}

static int make(void *context, struct st_str old, struct st_buf *new, struct stet_error *err) {
	struct work *work = context;
	int code = st_edits_apply(old, work->edits, work->count, work->call->session->ws->max_file,
	                          work->results, new, work->failure, err);
	work->code = code;
	return code < 0 ? code : show_diff(work, old, st_buf_str(new), err);
}

static int merged(void *context, struct st_str current, struct st_str text, struct stet_error *err) {
	struct work *work = context;
	int code = show_diff(work, current, text, err);
	if (code < 0)
		return code;
	return st_merged_lines(current, text, &work->first_merged, &work->last_merged, err);
}

/* Which edit failed, and the places that stood in its way or come near. */
static void render_failure(struct st_call *call, const struct work *work) {
	const struct st_edits_failure *failure = work->failure;
	if (work->code != STET_E_AMBIGUOUS && work->code != STET_E_NO_MATCH)
		return;
	call->failure = yyjson_mut_obj(call->doc);
	st_json_add_text(call->doc, call->failure, "status", ST_STR("error"));
	st_json_add_size(call->doc, call->failure, "edit", failure->edit);
	yyjson_mut_val *lines = st_json_add_array(
		call->doc, call->failure, work->code == STET_E_AMBIGUOUS ? "matches" : "nearest");
	size_t count = work->code == STET_E_AMBIGUOUS ? failure->places.count : failure->nearest.count;
	for (size_t i = 0; i < count && i < 100; i++)
		st_json_push(call->doc, lines,
		             yyjson_mut_uint(call->doc, work->code == STET_E_AMBIGUOUS
		                                                ? failure->places.lines[i]
		                                                : failure->nearest.list[i].first));
}

static void render(struct st_call *call, const struct work *work, const struct stet_answer *answer) {
	yyjson_mut_val *list = st_json_add_array(call->doc, call->result, "edits");
	for (size_t i = 0; i < work->count; i++) {
		const struct st_edited *edited = &work->results[i];
		yyjson_mut_val *item = yyjson_mut_obj(call->doc);
		st_json_add_size(call->doc, item, "occurrencesReplaced", edited->replaced);
		/* After a merge only the lines of all edits together are known. */
		st_render_span(call, item, "affectedLines", work->last_merged ? work->first_merged : edited->first,
		               work->last_merged ? work->last_merged : edited->last);
		st_json_push(call->doc, list, item);
	}
	if (work->dry_run) {
		st_json_add_true(call->doc, call->result, "dryRun");
		st_json_add_text(call->doc, call->result, "diff", st_buf_str(&work->diff));
		st_buf_addf(&call->text, "Dry run: \"%s\" is not changed.\n", work->path);
	} else if (answer->noop) {
		st_buf_addf(&call->text, "File \"%s\" has these changes already; nothing was written.\n", work->path);
	} else {
		st_buf_addf(&call->text, "Updated file \"%s\"\n", work->path);
	}
	st_buf_addf(&call->text, "fileHash: %s\n", answer->hash);
	if (answer->merged)
		st_buf_adds(&call->text, "Merged with changes that others made meanwhile; see foreignDiff.\n");
	if (work->diff.len > 0)
		st_buf_addf(&call->text, "\n%s", work->diff.ptr);
}

/* ---- creation: an empty oldText where there is no file ---- */

static int make_new(void *context, struct st_str old, struct st_buf *new, struct stet_error *err) {
	const struct work *work = context;
	if (old.len > 0)
		return st_fail(err, STET_E_EXISTS,
		               "File \"%s\" exists already, and an empty oldText only creates files. Give the text to change.",
		               work->path);
	st_buf_add(new, work->edits[0].new_text);
	return new->failed ? st_fail_nomem(err) : 0;
}

static bool is_creation(const struct work *work) {
	return work->count == 1 && work->edits[0].old_text.len == 0;
}

static int create(struct st_call *call, struct work *work, struct stet_error *err) {
	struct stat st;
	struct st_place place = ST_PLACE_INIT;
	int code = st_root_locate(&call->session->ws->root, st_str(work->path), &place, err);
	bool exists = code == 0 && place.exists;
	st = place.st;
	st_place_release(&place);
	if (code < 0)
		return code;
	if (exists && st.st_size > 0)
		return st_fail(err, STET_E_EXISTS,
		               "File \"%s\" exists already, and an empty oldText only creates files. Give the text to change.",
		               work->path);
	struct st_change change = {
		.path = work->path, .kind = ST_CHANGE_WHOLE, .text = true, .dry_run = work->dry_run,
		.make = make_new, .context = work};
	struct stet_answer *answer;
	code = st_call_change(call, &change, "path", &answer, err);
	if (code < 0)
		return code;
	st_json_add(call->doc, call->result, "created", yyjson_mut_bool(call->doc, answer->created));
	st_buf_addf(&call->text, "Created file \"%s\"\nfileHash: %s\n", work->path, answer->hash);
	stet_answer_free(answer);
	return 0;
}

static int edit(struct st_call *call, struct work *work, struct stet_error *err) {
	struct st_change change = {
		.path = work->path,
		.kind = ST_CHANGE_ANCHORED,
		.anchor = work->edits[0].old_text,
		.text = true,
		.dry_run = work->dry_run,
		.make = make,
		.merged = merged,
		.context = work,
	};
	struct stet_answer *answer;
	int code = st_call_change(call, &change, "path", &answer, err);
	if (code < 0) {
		render_failure(call, work);
		return code;
	}
	render(call, work, answer);
	stet_answer_free(answer);
	return 0;
}

static int run(struct st_call *call, struct stet_error *err) {
	__attribute__((cleanup(work_release))) struct work work = {.call = call};
	work.path = st_call_path(call, "path", err);
	if (!work.path)
		return STET_E_INVALID;
	work.dry_run = st_arg_flag(call, "dryRun", false);
	int code = read_edits(&work, err);
	if (code < 0)
		return code;
	return is_creation(&work) ? create(call, &work, err) : edit(call, &work, err);
}

static const struct st_param params[] = {
	{.name = "path", .aliases = "filePath file_path", .required = true,
	 .description = "The file, relative to the workspace."},
	{.name = "edits", .type = ST_PARAM_ANY,
	 .schema = "\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"oldText\":{\"type\":\"string\"},"
	           "\"newText\":{\"type\":\"string\"},\"replaceAll\":{\"type\":\"boolean\"}},\"required\":[\"oldText\",\"newText\"]}",
	 .description = "Edits, applied in order, all or none. Each oldText must occur exactly once unless replaceAll is true."},
	{.name = "oldText", .aliases = "oldStr old_string old_str old_text oldString",
	 .description = "For a single edit: the text to find. Empty creates the file."},
	{.name = "newText", .aliases = "newStr new_string new_str new_text newString",
	 .description = "For a single edit: what to put in its place."},
	{.name = "replaceAll", .aliases = "replace_all", .type = ST_PARAM_BOOLEAN,
	 .description = "For a single edit: replace every occurrence."},
	{.name = "dryRun", .aliases = "dry_run", .type = ST_PARAM_BOOLEAN,
	 .description = "Only show the diff; change nothing."},
	ST_PARAM_EXPECTED_HASH,
	ST_PARAM_ON_STALE,
	ST_PARAM_SESSION,
	ST_PARAMS_END,
};

const struct st_tool st_edit_file = {
	.name = "edit_file",
	.title = "Edit a file",
	.description = "Make one or more search-and-replace edits in a file, all or nothing, and show the diff. Refused if the file changed "
	               "since you read it; the refusal shows what changed, and the same call then succeeds.",
	.params = params,
	.output_schema = "{\"type\":\"object\",\"properties\":{" ST_SCHEMA_STATUS
	                 ",\"path\":{\"type\":\"string\"},\"edits\":{\"type\":\"array\",\"items\":{\"type\":\"object\","
	                 "\"properties\":{\"occurrencesReplaced\":{\"type\":\"integer\"},\"affectedLines\":" ST_SCHEMA_SPAN
	                 "}}},\"created\":{\"type\":\"boolean\"},\"dryRun\":{\"type\":\"boolean\"},\"fileHash\":{\"type\":\"string\"},"
	                 "\"edit\":{\"type\":\"integer\"},\"matches\":{\"type\":\"array\",\"items\":{\"type\":\"integer\"}},"
	                 "\"nearest\":{\"type\":\"array\",\"items\":{\"type\":\"integer\"}},"
	                 ST_SCHEMA_COMMIT "," ST_SCHEMA_FAILURE "},\"required\":[\"status\"]}",
	.hints = ST_HINT_DESTRUCTIVE,
	.run = run,
};
