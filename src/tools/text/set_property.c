/* set_property: set or remove one key of a note's front matter. */
#include "text/patch/property.h"

#include "tools/render.h"

struct property_op {
	struct st_property property;
	/* The old lines that go, which the session must have seen, and the key's line in the new text. */
	struct st_interval old;
	size_t line;
	bool is_markdown;
};

static void set_kind(void *context, const char *path) {
	struct property_op *op = context;
	op->is_markdown = st_is_markdown(path);
}

static int make_property(void *context, struct st_str old, struct st_buf *new,
                         struct stet_error *err) {
	struct property_op *op = context;
	if (!op->is_markdown)
		return st_fail(err, STET_E_INVALID,
		               "Only Markdown files have front matter. Edit this one as text.");
	return st_property_apply(&op->property, old, new, &op->old, &op->line, err);
}

static void render_property(struct st_call *call, const struct property_op *op,
                            const struct stet_answer *answer) {
	struct st_str key = op->property.key;
	st_json_add_text(call->doc, call->result, "key", key);
	st_json_add(call->doc, call->result, "removed",
	            yyjson_mut_bool(call->doc, !op->property.value));
	if (answer->noop)
		st_buf_addf(&call->text, "Nothing to change in %s: ", st_quoted(answer->path));
	else if (op->property.value)
		st_buf_addf(&call->text, "Set in line %zu of %s: ", op->line, st_quoted(answer->path));
	else
		st_buf_addf(&call->text, "Removed from %s: ", st_quoted(answer->path));
	st_buf_add(&call->text, key);
	st_buf_addf(&call->text, "\nfileHash: %s\n", answer->hash);
	st_render_merged(call, answer);
}

static int run_set_property(struct st_call *call, struct stet_error *err) {
	const char *path = st_call_path(call, "filePath", err);
	if (!path)
		return err->code;
	bool removes = st_arg_flag(call, "remove", false);
	struct property_op op = {
		.property = {.key = st_arg_str(call, "key"), .value = st_arg(call, "value")}};
	if (removes == (op.property.value != NULL))
		return st_fail(err, STET_E_INVALID, "Give set_property either a value or remove: true.");
	struct st_change change = {
		.path = path,
		.kind = ST_CHANGE_ANCHORED,
		.text = true,
		.unnamed = &op.old,
		.found = set_kind,
		.make = make_property,
		.context = &op,
	};
	struct stet_answer *answer;
	int code = st_call_change(call, &change, "filePath", &answer, err);
	if (code < 0)
		return code;
	render_property(call, &op, answer);
	stet_answer_free(answer);
	return 0;
}

static const struct st_param params[] = {
	ST_PARAM_FILE_PATH,
	{.name = "key", .required = true, .description = "A key at the top level."},
	{.name = "value",
     .type = ST_PARAM_ANY,
     .blank = true,
     .schema = "\"type\":[\"string\",\"number\",\"boolean\",\"array\",\"object\"]",
     .description = "The new value."},
	{.name = "remove", .type = ST_PARAM_BOOLEAN, .description = "Remove the key instead."},
	ST_PARAM_EXPECTED_HASH,
	ST_PARAM_ON_STALE,
	ST_PARAM_SESSION,
	ST_PARAMS_END,
};

const struct st_tool st_set_property = {
	.name = "set_property",
	.title = "Set a property of a note",
	.description = "Set or remove one key of a Markdown file's front matter.",
	.params = params,
	.output_schema = ST_OUTPUT("\"filePath\":{\"type\":\"string\"},\"key\":{\"type\":\"string\"},"
                               "\"removed\":{\"type\":\"boolean\"},\"fileHash\":{\"type\":"
                               "\"string\"}"),
	.hints = ST_HINT_DESTRUCTIVE | ST_HINT_IDEMPOTENT,
	.group = ST_GROUP_TEXT,
	.for_vaults = true,
	.run = run_set_property,
};
