/* list_allowed_directories: list the roots of the workspaces. */
#include "tools/render.h"

static int run_list_allowed_directories(struct st_call *call, struct stet_error *err) {
	(void)err;
	st_json_add_text(call->doc, call->result, "status", ST_STR("success"));
	yyjson_mut_val *list = st_json_add_array(call->doc, call->result, "directories");
	st_buf_adds(&call->text, "Allowed directories:\n");
	for (size_t i = 0; i < call->session_count; i++) {
		const char *root = call->sessions[i]->ws->root.path;
		st_json_push(call->doc, list, st_json_text(call->doc, st_str(root)));
		st_quote_name(&call->text, st_str(root));
		st_buf_addc(&call->text, '\n');
	}
	/* Programs split the text at line ends, so the last line has none. */
	if (st_call_is_parsed(call))
		st_buf_truncate(&call->text, call->text.len - 1);
	return 0;
}

static const struct st_param params[] = {
	ST_PARAM_SESSION,
	ST_PARAMS_END,
};

const struct st_tool st_list_allowed_directories = {
	.name = "list_allowed_directories",
	.title = "List the workspaces",
	.description =
		"List the directories that you may work in. A relative path means the first of them "
		"that has it.",
	.params = params,
	.output_schema =
		ST_OUTPUT("\"directories\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}"),
	.hints = ST_HINT_READ_ONLY | ST_HINT_IDEMPOTENT,
	.group = ST_GROUP_FILES,
	.run = run_list_allowed_directories,
};
