/* record_tool_result: record in the state of the work what another program's tool did. */
#include "base/cancel.h"
#include "base/plural.h"
#include "stet/state.h"
#include "tools/render.h"

/* Copy the lists of the record into the answer. */
static void render_record(struct st_call *call, yyjson_val *root) {
	yyjson_val *files = yyjson_obj_get(root, "files"), *ignored = yyjson_obj_get(root, "ignored");
	st_json_add(call->doc, call->result, "files", yyjson_val_mut_copy(call->doc, files));
	st_json_add(call->doc, call->result, "ignored", yyjson_val_mut_copy(call->doc, ignored));
	if (yyjson_is_true(yyjson_obj_get(root, "tasks"))) {
		st_buf_adds(&call->text, "The tasks follow this list.\n");
		return;
	}
	size_t count = yyjson_arr_size(files), left = yyjson_arr_size(ignored);
	size_t compared = yyjson_get_uint(yyjson_obj_get(root, "compared"));
	if (compared) {
		st_json_add_size(call->doc, call->result, "compared", compared);
		st_buf_addf(&call->text, "%zu tracked %s compared with the disk.\n", compared,
		            st_plural(compared, "file was", "files were"));
	}
	if (compared && count + left == 0)
		return;
	st_buf_addf(&call->text, "%zu %s checked", count, st_plural(count, "file was", "files were"));
	if (left > 0)
		st_buf_addf(&call->text, ", %zu %s ignored", left, st_plural(left, "path", "paths"));
	st_buf_adds(&call->text, ".\n");
}

enum { NAME_MAX_BYTES = 200 };

static int run_record_tool_result(struct st_call *call, struct stet_error *err) {
	struct st_str tool = st_arg_str(call, "tool");
	if (tool.len == 0 || tool.len > NAME_MAX_BYTES || strlen(tool.ptr) != tool.len)
		return st_fail(err, STET_E_INVALID,
		               "\"tool\" is the name of the tool that was called, of at most %d bytes.",
		               NAME_MAX_BYTES);
	size_t len;
	st_autofree char *text = yyjson_val_write(st_arg(call, "result"), YYJSON_WRITE_NOFLAG, &len);
	char *answer = NULL;
	if (!text)
		return st_fail_nomem(err);
	st_cancel_progress(len);
	int code = stet_record(call->session, tool.ptr, text, len, &answer, err);
	if (code < 0)
		return code;
	yyjson_doc *doc = NULL;
	code = st_json_parse(st_str(answer), "The record", &doc, err);
	if (code == 0) {
		st_json_add_text(call->doc, call->result, "status", ST_STR("success"));
		render_record(call, yyjson_doc_get_root(doc));
	}
	yyjson_doc_free(doc);
	stet_free(answer);
	return code;
}

static const struct st_param params[] = {
	{.name = "tool",
     .aliases = "toolName tool_name",
     .required = true,
     .description = "The tool's name, such as apply_patch or shell."},
	{.name = "result",
     .type = ST_PARAM_ANY,
     .schema = "\"type\":[\"object\",\"array\",\"string\"]",
     .required = true,
     .description = "The tool's answer; its arguments help too."},
	ST_PARAM_SESSION,
	ST_PARAMS_END,
};

const struct st_tool st_record_tool_result = {
	.name = "record_tool_result",
	.title = "Record another tool's work",
	.description =
		"Record that a tool of another program wrote, moved or deleted files, or ran a "
		"command. The server then checks the files that the result names.",
	.params = params,
	.output_schema = ST_OUTPUT("\"files\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}},"
                               "\"ignored\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}},"
                               "\"compared\":{\"type\":\"integer\"}"),
	.hints = ST_HINT_IDEMPOTENT,
	.group = ST_GROUP_STATE,
	.run = run_record_tool_result,
};
