/* write_file: a whole file, new or seen in full. */
#include "tools/render.h"

static int make(void *context, struct st_str old, struct st_buf *new, struct stet_error *err) {
	(void)old;
	st_buf_add(new, *(const struct st_str *)context);
	return new->failed ? st_fail_nomem(err) : 0;
}

static int run(struct st_call *call, struct stet_error *err) {
	const char *path = st_call_path(call, "path", err);
	if (!path)
		return STET_E_INVALID;
	struct st_str content = st_arg_str(call, "content");
	struct st_change change = {
		.path = path, .kind = ST_CHANGE_WHOLE, .make = make, .context = &content};
	struct stet_answer *answer;
	int code = st_call_change(call, &change, "path", &answer, err);
	if (code < 0)
		return code;
	st_json_add(call->doc, call->result, "created", yyjson_mut_bool(call->doc, answer->created));
	st_json_add_size(call->doc, call->result, "size", content.len);
	if (answer->noop) {
		st_json_add_text(call->doc, call->result, "note",
		                 ST_STR("File already exists with identical content"));
		st_buf_adds(&call->text, "File already exists with identical content\n");
	} else {
		st_buf_addf(&call->text, "%s file %s\n", answer->created ? "Created" : "Wrote",
		            st_shown(path));
	}
	st_buf_addf(&call->text, "fileHash: %s\n", answer->hash);
	stet_answer_free(answer);
	return 0;
}

static const struct st_param params[] = {
	{.name = "path",
     .aliases = "filePath file_path",
     .required = true,
     .description = "The file, relative to the workspace."},
	{.name = "content", .required = true, .description = "All of the new content."},
	ST_PARAM_EXPECTED_HASH,
	ST_PARAM_ON_STALE,
	ST_PARAM_SESSION,
	ST_PARAMS_END,
};

const struct st_tool st_write_file = {
	.name = "write_file",
	.title = "Write a file",
	.description =
		"Create a file, or replace one that you have read completely. Use edit_file or "
		"text_replace to change a part. "
		"Identical content is a no-op.",
	.params = params,
	.output_schema = "{\"type\":\"object\",\"properties\":{" ST_SCHEMA_STATUS
					 ",\"path\":{\"type\":\"string\"},\"created\":{\"type\":\"boolean\"},\"size\":{"
					 "\"type\":\"integer\"},"
					 "\"fileHash\":{\"type\":\"string\"}," ST_SCHEMA_COMMIT "," ST_SCHEMA_FAILURE
					 "},\"required\":[\"status\"]}",
	.hints = ST_HINT_DESTRUCTIVE | ST_HINT_IDEMPOTENT,
	.group = ST_GROUP_FILES,
	.run = run,
};
