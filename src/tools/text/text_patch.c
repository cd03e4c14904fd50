/* text_patch: replace, insert or delete at lines, headings, sections and code blocks. */
#include "text/patch/patch.h"

#include "tools/render.h"

struct patch_op {
	struct st_patch patch;
	struct st_patch_result result;
	/* The lines around the change, in the new text. */
	struct st_context context;
	/* The lines that changed, in the new text. */
	size_t first, last;
	bool merged;
	/* The old lines that it removes, except a heading that the caller named. */
	struct st_interval unnamed;
	struct st_buf before, after;
};

static void patch_op_release(struct patch_op *op) {
	st_patch_result_release(&op->result);
	st_context_release(&op->context);
	st_buf_release(&op->before);
	st_buf_release(&op->after);
}

/* ---- the target ---- */

static int fail_target(struct stet_error *err, const char *what) {
	return st_fail(err, STET_E_INVALID,
	               "The argument \"target\" of text_patch %s. Give an object with exactly one of "
	               "lines {start, end}, "
	               "heading, beforeHeading, appendToSection, codeBlock {index}, wholeSection.",
	               what);
}

static const struct st_param lines_params[] = {
	{.name = "start",
     .type = ST_PARAM_INTEGER,
     .required = true,
     .description = "the first line, from 1."},
	{.name = "end", .type = ST_PARAM_INTEGER, .description = "the last line."},
	ST_PARAMS_END,
};
static const struct st_param heading_params[] = {
	{.name = "text", .required = true, .description = "the heading, such as \"## Setup\"."},
	{.name = "occurrence",
     .type = ST_PARAM_INTEGER,
     .description = "which one of several, from 1."},
	ST_PARAMS_END,
};
static const struct st_param code_params[] = {
	{.name = "index",
     .type = ST_PARAM_INTEGER,
     .required = true,
     .description = "which code block, from 0."},
	ST_PARAMS_END,
};

static int read_lines(yyjson_val *value, struct st_patch *patch, struct stet_error *err) {
	yyjson_val *values[2];
	if (!yyjson_is_obj(value))
		return st_fail(
			err, STET_E_INVALID,
			"The target \"lines\" takes {\"start\": 3, \"end\": 5}, lines from 1, not %s.",
			st_json_kind(value));
	int code = st_args_bind("target \"lines\"", lines_params, value, values, err);
	if (code < 0)
		return code;
	patch->start = st_json_int(values[0]);
	patch->end = st_json_int(values[1]);
	/* For st_patch_apply() an end of 0 means "left out"; -1 makes it report a bad number. */
	if (values[1] && patch->end == 0 && patch->start != 0)
		patch->end = -1;
	return 0;
}

static int read_heading(yyjson_val *value, const char *target, struct st_patch *patch,
                        struct stet_error *err) {
	yyjson_val *values[2] = {value, NULL};
	if (!yyjson_is_str(value) && !yyjson_is_obj(value))
		return st_fail(err, STET_E_INVALID,
		               "The target \"%s\" takes a heading such as \"## Setup\", or {\"text\": \"## "
		               "Setup\", \"occurrence\": 2}, not %s.",
		               target, st_json_kind(value));
	int code = yyjson_is_obj(value) ? st_args_bind(target, heading_params, value, values, err) : 0;
	if (code < 0)
		return code;
	patch->heading = st_json_str(values[0]);
	patch->occurrence = st_json_int(values[1]);
	return 0;
}

static int read_code_block(yyjson_val *value, struct st_patch *patch, struct stet_error *err) {
	yyjson_val *index = value;
	if (!st_json_is_int(value) && !yyjson_is_obj(value))
		return st_fail(err, STET_E_INVALID,
		               "The target \"codeBlock\" takes {\"index\": 0}, counted from 0, not %s.",
		               st_json_kind(value));
	int code = yyjson_is_obj(value)
	               ? st_args_bind("target \"codeBlock\"", code_params, value, &index, err)
	               : 0;
	patch->index = st_json_int(index);
	return code;
}

static int read_target_object(yyjson_val *object, struct st_patch *patch, struct stet_error *err) {
	if (!yyjson_is_obj(object))
		return fail_target(err, "is not a JSON object");
	if (yyjson_obj_size(object) == 0)
		return fail_target(err, "names no target");
	if (yyjson_obj_size(object) > 1)
		return fail_target(err, "names more than one target");

	yyjson_obj_iter iter = yyjson_obj_iter_with(object);
	yyjson_val *key = yyjson_obj_iter_next(&iter), *value = yyjson_obj_iter_get_val(key);
	int code = st_patch_target_parse(st_json_str(key), &patch->target, err);
	if (code < 0)
		return code;
	switch (patch->target) {
	case ST_TARGET_LINES:
		return read_lines(value, patch, err);
	case ST_TARGET_CODE_BLOCK:
		return read_code_block(value, patch, err);
	default:
		return read_heading(value, st_patch_target_name(patch->target), patch, err);
	}
}

/* Models often send the object as a string. Then `doc` receives it; the caller frees it after the patch. */
static int read_target(yyjson_val *target, yyjson_doc **doc, struct st_patch *patch,
                       struct stet_error *err) {
	if (yyjson_is_str(target)) {
		struct stet_error why = {0};
		int code = st_json_parse(st_json_str(target), "Its contents", doc, &why);
		if (code == STET_E_NOMEM)
			return st_fail_nomem(err);
		if (code < 0) {
			st_auto(st_buf) what = ST_BUF_INIT;
			st_buf_addf(&what, "is a string that does not hold a JSON object (%s)", why.message);
			return fail_target(err, st_buf_cstr(&what));
		}
		target = yyjson_doc_get_root(*doc);
	}
	return read_target_object(target, patch, err);
}

/* ---- the change ---- */

/* Find the lines around the change. After a deletion there are no lines between them. */
static int find_context(struct patch_op *op, struct st_str text, struct stet_error *err) {
	bool gone = op->result.operation == ST_PATCH_DELETE;
	size_t last = gone ? op->first - 1 : op->last;
	st_context_release(&op->context);
	return st_context_of_lines(&op->context, text, op->first, last, err);
}

/* Judge by the path without links: a link may have another extension than its target. */
static void set_markdown(void *context, const char *path) {
	struct patch_op *op = context;
	op->patch.markdown = st_is_markdown(path);
}

static struct st_interval find_unnamed(const struct st_patch *patch,
                                       const struct st_patch_result *result) {
	size_t first = result->first + (patch->target == ST_TARGET_WHOLE_SECTION);
	size_t end = result->first + result->old_count;
	return patch->target == ST_TARGET_HEADING ? (struct st_interval){1, 0}
	                                          : (struct st_interval){first, end - 1};
}

static int make_patched(void *context, struct st_str old, struct st_buf *new,
                        struct stet_error *err) {
	struct patch_op *op = context;
	op->merged = false;
	st_patch_result_release(&op->result);
	int code = st_patch_apply(&op->patch, old, &op->result, err);
	if (code < 0)
		return code;
	op->first = op->result.first;
	op->last = op->result.last;
	op->unnamed = find_unnamed(&op->patch, &op->result);
	st_buf_clear(&op->before);
	st_buf_clear(&op->after);
	st_preview_add(&op->before, op->result.before);
	st_preview_add(&op->after, op->result.after);
	code = find_context(op, st_buf_str(&op->result.text), err);
	if (code < 0)
		return code;
	if (op->before.failed || op->after.failed)
		return st_fail_nomem(err);
	st_buf_move(new, &op->result.text);
	return 0;
}

static int describe_merged_patch(void *context, struct st_str current, struct st_str text,
                                 struct stet_error *err) {
	struct patch_op *op = context;
	op->merged = true;
	/* Deleted lines are reported with their numbers before the deletion. */
	bool gone = op->result.operation == ST_PATCH_DELETE;
	int code = gone ? st_merged_lines(text, current, &op->first, &op->last, err)
	                : st_merged_lines(current, text, &op->first, &op->last, err);
	return code < 0 ? code : find_context(op, text, err);
}

static void render_patched(struct st_call *call, const struct patch_op *op,
                           const struct stet_answer *answer) {
	static const char *const counts[] = {"linesChanged", "linesInserted", "linesDeleted"};
	static const char *const verbs[] = {"Replaced", "Inserted", "Deleted"};
	const struct st_patch_result *result = &op->result;
	st_json_add_text(call->doc, call->result, "operation",
	                 st_str(st_patch_operation_name(result->operation)));
	st_render_span(call, call->result, "affectedLines", op->first, op->last);
	st_json_add(call->doc, call->result, "linesDelta", yyjson_mut_sint(call->doc, result->delta));
	st_json_add_size(call->doc, call->result, counts[result->operation], result->count);
	if (answer->noop)
		st_buf_addf(&call->text, "Nothing to change in %s.\n", st_quoted(answer->path));
	else
		st_buf_addf(&call->text, "%s lines %zu-%zu of %s.\n", verbs[result->operation], op->first,
		            op->last, st_quoted(answer->path));
	st_buf_addf(&call->text, "fileHash: %s\n", answer->hash);
	st_render_preview(call, st_buf_str(&op->before), st_buf_str(&op->after));
	st_render_context(call, &op->context);
	if (result->note.len > 0) {
		st_auto(st_buf) note = ST_BUF_INIT;
		st_buf_addf(&note, "%s%s", op->merged ? "In the line numbers before the merge: " : "",
		            result->note.ptr);
		st_json_add_text(call->doc, call->result, "note", st_buf_str(&note));
		st_buf_addf(&call->text, "%s\n", st_buf_cstr(&note));
	}
}

static int apply_patch(struct st_call *call, struct patch_op *op, const char *path,
                       struct stet_error *err) {
	struct st_change change = {
		.path = path,
		.kind = op->patch.target == ST_TARGET_LINES ? ST_CHANGE_LINES : ST_CHANGE_ANCHORED,
		.text = true,
		.unnamed = &op->unnamed,
		.found = set_markdown,
		.make = make_patched,
		.merged = describe_merged_patch,
		.context = op,
	};
	struct stet_answer *answer;
	int code = st_call_change(call, &change, "filePath", &answer, err);
	if (code < 0)
		return code;
	render_patched(call, op, answer);
	stet_answer_free(answer);
	return 0;
}

static int run_text_patch(struct st_call *call, struct stet_error *err) {
	st_auto(patch_op) op = {0};
	const char *path = st_call_path(call, "filePath", err);
	if (!path)
		return err->code;
	op.patch.content = st_arg_str(call, "content");
	op.patch.has_content = st_arg(call, "content") != NULL;
	op.patch.preserve_indent = st_arg_flag(call, "preserveIndent", true);
	yyjson_doc *doc = NULL;
	int code = st_patch_operation_parse(st_arg_str(call, "operation"), &op.patch.operation, err);
	if (code == 0)
		code = read_target(st_arg(call, "target"), &doc, &op.patch, err);
	if (code == 0)
		code = apply_patch(call, &op, path, err);
	yyjson_doc_free(doc);
	return code;
}

static const struct st_param params[] = {
	ST_PARAM_FILE_PATH,
	{.name = "operation", .required = true, .description = "replace, insert or delete."},
	{.name = "target",
     .type = ST_PARAM_ANY,
     .required = true,
     .schema =
         "\"type\":\"object\",\"properties\":{\"lines\":{},\"heading\":{},\"beforeHeading\":{},"
         "\"appendToSection\":{},\"codeBlock\":{},\"wholeSection\":{}},\"minProperties\":1,"
         "\"maxProperties\":1",
     .description = "One of: lines {start, end} (from 1; insert goes after end, start 0 is the "
                    "top), heading, beforeHeading and appendToSection (insert only), codeBlock "
                    "{index} (from 0, between the fences), wholeSection. A heading is '## Setup', "
                    "or {text, occurrence} if there are several."},
	{.name = "content", .blank = true, .description = "The new text."},
	{.name = "preserveIndent",
     .aliases = "preserve_indent",
     .type = ST_PARAM_BOOLEAN,
     .description = "Shift content to the indentation of its place; default true."},
	ST_PARAM_EXPECTED_HASH,
	ST_PARAM_ON_STALE,
	ST_PARAM_SESSION,
	ST_PARAMS_END,
};

const struct st_tool st_text_patch = {
	.name = "text_patch",
	.alias = "TextPatch",
	.title = "Patch text by structure",
	.description =
		"Replace, insert or delete at a place named by Markdown structure, or as a last resort by "
		"lines.",
	.params = params,
	.output_schema =
		ST_OUTPUT("\"filePath\":{\"type\":\"string\"},\"operation\":{\"enum\":[\"replace\","
                  "\"insert\",\"delete\"]},\"affectedLines\":" ST_SCHEMA_SPAN
                  ",\"linesDelta\":{\"type\":\"integer\"},\"linesChanged\":{\"type\":\"integer\"},"
                  "\"linesInserted\":{\"type\":\"integer\"},\"linesDeleted\":{\"type\":\"integer\"}"
                  ",\"preview\":" ST_SCHEMA_PREVIEW ",\"context\":" ST_SCHEMA_CONTEXT
                  ",\"fileHash\":{\"type\":\"string\"}"),
	.hints = ST_HINT_DESTRUCTIVE,
	.group = ST_GROUP_TEXT,
	.listed = ST_LISTED_DEFAULT,
	.run = run_text_patch,
};
