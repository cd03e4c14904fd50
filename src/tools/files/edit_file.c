/* edit_file: apply a list of edits to one file, all or nothing. */
#include "text/patch/edits.h"

#include <stdio.h>

#include "text/diff/unified.h"
#include "tools/render.h"

enum { EDITS_MAX = 1000 };

struct edit_op {
	struct st_call *call;
	/* The path as the caller spells it. */
	const char *path;
	/* The path below the root, without links; valid during the change. */
	const char *found;
	/* The file does not exist yet. */
	bool is_new;
	struct st_edit *edits;
	size_t count;
	bool dry_run;
	struct st_edited *results;
	struct st_edits_failure *failure;
	struct st_buf diff;
	bool truncated;
	size_t first_merged, last_merged;
};

static void edit_op_release(struct edit_op *op) {
	free(op->edits);
	free(op->results);
	free(op->failure);
	st_buf_release(&op->diff);
}

/* ---- arguments ---- */

#define OLD_NAMES "oldStr old_string old_str old_text oldString"
#define NEW_NAMES "newStr new_string new_str new_text newString"

static const struct st_param edit_params[] = {
	{.name = "oldText", .aliases = OLD_NAMES, .required = true, .description = "the text to find."},
	{.name = "newText",
     .aliases = NEW_NAMES,
     .required = true,
     .description = "what to put in its place."},
	{.name = "replaceAll",
     .aliases = "replace_all",
     .type = ST_PARAM_BOOLEAN,
     .description = "all of them."},
	ST_PARAMS_END,
};

static int read_edit(yyjson_val *value, size_t number, struct st_edit *edit,
                     struct stet_error *err) {
	yyjson_val *values[3];
	char what[48];
	snprintf(what, sizeof what, "edit_file's edit %zu", number);
	int code = st_args_bind(what, edit_params, value, values, err);
	if (code < 0)
		return code;
	*edit = (struct st_edit){st_json_str(values[0]), st_json_str(values[1]),
	                         yyjson_get_bool(values[2])};
	return 0;
}

static int read_list(yyjson_val *list, struct edit_op *op, struct stet_error *err) {
	if (!yyjson_is_arr(list) || yyjson_arr_size(list) == 0)
		return st_fail(err, STET_E_INVALID,
		               "The argument \"edits\" of edit_file must be a list of {oldText, newText}, "
		               "with at least one.");
	if (yyjson_arr_size(list) > EDITS_MAX)
		return st_fail(err, STET_E_INVALID, "edit_file takes up to %d edits at once, not %zu.",
		               EDITS_MAX, yyjson_arr_size(list));
	size_t i, max;
	yyjson_val *value;
	yyjson_arr_foreach(list, i, max, value) {
		int code = read_edit(value, i + 1, &op->edits[i], err);
		if (code < 0)
			return code;
		op->count++;
	}
	return 0;
}

static int read_edits(struct edit_op *op, struct stet_error *err) {
	yyjson_val *list = st_arg(op->call, "edits");
	yyjson_val *old = st_arg(op->call, "oldText"), *new = st_arg(op->call, "newText");
	/* Some models send both forms, one of them empty. */
	if (yyjson_arr_size(list) > 0 && st_json_str(old).len == 0 && st_json_str(new).len == 0)
		old = new = NULL;
	if (yyjson_is_arr(list) && yyjson_arr_size(list) == 0 && old && new)
		list = NULL;
	size_t count = yyjson_is_arr(list) && yyjson_arr_size(list) > 0 ? yyjson_arr_size(list) : 1;
	op->edits = calloc(count, sizeof *op->edits);
	op->results = calloc(count, sizeof *op->results);
	op->failure = calloc(1, sizeof *op->failure);
	if (!op->edits || !op->results || !op->failure)
		return st_fail_nomem(err);
	if (list && (old || new))
		return st_fail(err, STET_E_INVALID,
		               "Give edit_file either \"edits\" or \"oldText\" and \"newText\", not both.");
	if (list && st_arg_flag(op->call, "replaceAll", false))
		return st_fail(err, STET_E_INVALID,
		               "Put \"replaceAll\" into the \"edits\" that need it, not beside them.");
	if (list)
		return read_list(list, op, err);
	if (!old || !new)
		return st_fail(err, STET_E_INVALID,
		               "edit_file needs \"edits\" (a list of {oldText, newText}), or \"oldText\" "
		               "and \"newText\".");
	op->edits[op->count++] = (struct st_edit){st_json_str(old), st_json_str(new),
	                                          st_arg_flag(op->call, "replaceAll", false)};
	return 0;
}

/* ---- the change ---- */

static int show_diff(struct edit_op *op, struct st_str old, struct st_str new,
                     struct stet_error *err) {
	struct st_diff_opts opts = ST_DIFF_OPTS(op->found);
	if (op->is_new)
		opts.old_name = NULL;
	/* Leave half of the answer for instructions and for changes of others. */
	opts.max_bytes = st_call_room(op->call) / 2;
	st_auto(st_diff_report) report = {0};
	int code = st_diff_unified(old, new, &opts, &op->diff, &report, err);
	op->truncated = report.truncated;
	return code;
}

static void set_found(void *context, const char *path) {
	struct edit_op *op = context;
	op->found = path;
}

static int make_edited(void *context, struct st_str old, struct st_buf *new,
                       struct stet_error *err) {
	struct edit_op *op = context;
	int code = st_edits_apply(old, op->edits, op->count, op->call->session->ws->max_file,
	                          op->results, new, op->failure, err);
	return code < 0 ? code : show_diff(op, old, st_buf_str(new), err);
}

static int describe_merged_edits(void *context, struct st_str current, struct st_str text,
                                 struct stet_error *err) {
	struct edit_op *op = context;
	int code = show_diff(op, current, text, err);
	if (code < 0)
		return code;
	return st_merged_lines(current, text, &op->first_merged, &op->last_merged, err);
}

/* Tell which edit failed, and the lines of several matches or of the nearest text. */
static void render_failure(struct st_call *call, const struct edit_op *op, int code) {
	const struct st_edits_failure *failure = op->failure;
	if (code != STET_E_AMBIGUOUS && code != STET_E_NO_MATCH)
		return;
	call->failure = yyjson_mut_obj(call->doc);
	st_json_add_text(call->doc, call->failure, "status", ST_STR("error"));
	st_json_add_size(call->doc, call->failure, "edit", failure->edit);
	yyjson_mut_val *lines = st_json_add_array(call->doc, call->failure,
	                                          code == STET_E_AMBIGUOUS ? "matches" : "nearest");
	size_t count = code == STET_E_AMBIGUOUS ? failure->places.count : failure->nearest.count;
	for (size_t i = 0; i < count && i < 100; i++)
		st_json_push(call->doc, lines,
		             yyjson_mut_uint(call->doc, code == STET_E_AMBIGUOUS
		                                            ? failure->places.lines[i]
		                                            : failure->nearest.list[i].first));
}

static void render_dry_run(struct st_call *call, const struct edit_op *op) {
	st_json_add_true(call->doc, call->result, "dryRun");
	st_json_add_text(call->doc, call->result, "diff", st_buf_str(&op->diff));
	if (op->truncated)
		st_json_add_true(call->doc, call->result, "diffTruncated");
	st_buf_addf(&call->text, "Dry run: %s is not changed.\n", st_quoted(op->path));
}

/* Tell which edits matched with another indentation. */
static void render_shifts(struct st_call *call, const struct edit_op *op) {
	st_auto(st_buf) note = ST_BUF_INIT;
	for (size_t i = 0; i < op->count; i++) {
		if (op->results[i].shift.count == 0)
			continue;
		st_buf_adds(&note, note.len > 0 ? " " : "");
		if (op->count > 1)
			st_buf_addf(&note, "Edit %zu: ", i + 1);
		st_shift_add(&note, &op->results[i].shift);
	}
	if (note.len == 0)
		return;
	st_json_add_text(call->doc, call->result, "note", st_buf_str(&note));
	st_buf_addf(&call->text, "%s\n", st_buf_cstr(&note));
}

static void render_edits(struct st_call *call, const struct edit_op *op,
                         const struct stet_answer *answer) {
	yyjson_mut_val *list = st_json_add_array(call->doc, call->result, "edits");
	for (size_t i = 0; i < op->count; i++) {
		const struct st_edited *edited = &op->results[i];
		yyjson_mut_val *item = yyjson_mut_obj(call->doc);
		st_json_add_size(call->doc, item, "occurrencesReplaced", edited->replaced);
		/* After a merge, only the lines of all edits together are known. */
		st_render_span(call, item, "affectedLines",
		               op->last_merged ? op->first_merged : edited->first,
		               op->last_merged ? op->last_merged : edited->last);
		st_json_push(call->doc, list, item);
	}
	if (op->dry_run) {
		render_dry_run(call, op);
	} else if (answer->noop) {
		st_buf_addf(&call->text, "File %s has these changes already; nothing was written.\n",
		            st_quoted(op->path));
	} else {
		st_buf_addf(&call->text, "Updated file %s\n", st_quoted(op->path));
	}
	st_buf_addf(&call->text, "fileHash: %s\n", answer->hash);
	render_shifts(call, op);
	if (op->diff.len > 0)
		st_buf_addf(&call->text, "\n%s", op->diff.ptr);
	st_render_merged(call, answer);
}

/* ---- creation: an empty oldText for a file that does not exist ---- */

static int fail_not_new(const struct edit_op *op, struct stet_error *err) {
	return st_fail(err, STET_E_EXISTS,
	               "File %s already exists, and an empty oldText only creates files. Give the text "
	               "to change.",
	               st_quoted(op->path));
}

static int make_new(void *context, struct st_str old, struct st_buf *new, struct stet_error *err) {
	struct edit_op *op = context;
	if (old.len > 0)
		return fail_not_new(op, err);
	st_buf_add(new, op->edits[0].new_text);
	if (new->failed)
		return st_fail_nomem(err);
	return op->dry_run ? show_diff(op, old, st_buf_str(new), err) : 0;
}

static bool is_creation(const struct edit_op *op) {
	return op->count == 1 && op->edits[0].old_text.len == 0;
}

static void render_new(struct st_call *call, const struct edit_op *op,
                       const struct stet_answer *answer) {
	st_json_add(call->doc, call->result, "created", yyjson_mut_bool(call->doc, answer->created));
	if (op->dry_run) {
		render_dry_run(call, op);
		st_buf_addf(&call->text, "\n%s", st_buf_cstr(&op->diff));
		return;
	}
	st_buf_addf(&call->text, "%s file %s\nfileHash: %s\n", answer->created ? "Created" : "Updated",
	            st_quoted(op->path), answer->hash);
}

static int create_file(struct st_call *call, struct edit_op *op, struct stet_error *err) {
	st_auto(st_place) place = ST_PLACE_INIT;
	int code = st_root_locate(&call->session->ws->root, st_str(op->path), &place, err);
	if (code < 0)
		return code;
	/* An empty file may be filled this way: it has no text that an edit could find. */
	if (place.exists && (!S_ISREG(place.st.st_mode) || place.st.st_size > 0))
		return fail_not_new(op, err);
	op->is_new = !place.exists;
	struct st_change change = {.path = op->path,
	                           .kind = ST_CHANGE_WHOLE,
	                           .text = true,
	                           .dry_run = op->dry_run,
	                           .found = set_found,
	                           .make = make_new,
	                           .context = op};
	struct stet_answer *answer;
	code = st_call_change(call, &change, "path", &answer, err);
	if (code < 0)
		return code;
	render_new(call, op, answer);
	stet_answer_free(answer);
	return 0;
}

static int edit_file(struct st_call *call, struct edit_op *op, struct stet_error *err) {
	struct st_change change = {
		.path = op->path,
		.kind = ST_CHANGE_ANCHORED,
		.anchor = op->edits[0].old_text,
		.text = true,
		.dry_run = op->dry_run,
		.partly = &op->truncated,
		.found = set_found,
		.make = make_edited,
		.merged = describe_merged_edits,
		.context = op,
	};
	struct stet_answer *answer;
	int code = st_call_change(call, &change, "path", &answer, err);
	if (code < 0) {
		render_failure(call, op, code);
		return code;
	}
	render_edits(call, op, answer);
	stet_answer_free(answer);
	return 0;
}

static int run_edit_file(struct st_call *call, struct stet_error *err) {
	st_auto(edit_op) op = {.call = call};
	op.path = st_call_path(call, "path", err);
	if (!op.path)
		return err->code;
	op.dry_run = st_arg_flag(call, "dryRun", false);
	int code = read_edits(&op, err);
	if (code < 0)
		return code;
	return is_creation(&op) ? create_file(call, &op, err) : edit_file(call, &op, err);
}

static const struct st_param params[] = {
	ST_PARAM_PATH,
	{.name = "edits",
     .type = ST_PARAM_ANY,
     .schema = "\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"oldText\":{"
               "\"type\":\"string\"},"
               "\"newText\":{\"type\":\"string\"},\"replaceAll\":{\"type\":\"boolean\"}},"
               "\"required\":[\"oldText\",\"newText\"]}",
     .description = "Applied in order. Each oldText must occur exactly once, unless replaceAll."},
	{.name = "oldText",
     .aliases = OLD_NAMES,
     .blank = true,
     .description = "Instead of edits: the text to find; empty creates the file."},
	{.name = "newText", .aliases = NEW_NAMES, .blank = true, .description = "Its replacement."},
	{.name = "replaceAll",
     .aliases = "replace_all",
     .type = ST_PARAM_BOOLEAN,
     .description = "With oldText: every occurrence."},
	{.name = "dryRun",
     .aliases = "dry_run",
     .type = ST_PARAM_BOOLEAN,
     .description = "Only show the diff."},
	ST_PARAM_EXPECTED_HASH,
	ST_PARAM_ON_STALE,
	ST_PARAM_SESSION,
	ST_PARAMS_END,
};

const struct st_tool st_edit_file = {
	.name = "edit_file",
	.title = "Edit a file",
	.description =
		"Search and replace in one file, all or nothing; shows the diff. If the file changed since "
		"your read, the refusal shows the change, and the same call then succeeds.",
	.params = params,
	.output_schema =
		ST_OUTPUT("\"path\":{\"type\":\"string\"},\"edits\":{\"type\":\"array\",\"items\":{"
                  "\"type\":\"object\",\"properties\":{\"occurrencesReplaced\":{\"type\":"
                  "\"integer\"},\"affectedLines\":" ST_SCHEMA_SPAN
                  "}}},\"created\":{\"type\":\"boolean\"},\"dryRun\":{\"type\":\"boolean\"},"
                  "\"fileHash\":{\"type\":\"string\"},\"edit\":{\"type\":\"integer\"},\"matches\":{"
                  "\"type\":\"array\",\"items\":{\"type\":\"integer\"}},\"nearest\":{\"type\":"
                  "\"array\",\"items\":{\"type\":\"integer\"}}"),
	.hints = ST_HINT_DESTRUCTIVE,
	.group = ST_GROUP_FILES,
	.listed = ST_LISTED_CORE,
	.always_load = true,
	.run = run_edit_file,
};
