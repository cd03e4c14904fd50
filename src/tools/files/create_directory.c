/* create_directory: create a directory and its missing parents. */
#include "base/quote.h"
#include "core/workspace/vault.h"
#include "fs/path/dirs.h"
#include "tools/render.h"

static int run_create_directory(struct st_call *call, struct stet_error *err) {
	const char *path = st_call_path(call, "path", err);
	if (!path)
		return err->code;
	const struct stet_workspace *ws = call->session->ws;
	st_autofree char *relative_path = NULL;
	size_t made = 0;
	int code = st_vault_check_path(ws, path, err);
	if (code < 0)
		return code;
	code = st_dir_make(&ws->root, st_str(path), ws->writes.state_dir, &made, &relative_path, err);
	if (code < 0)
		return code;
	st_json_add_text(call->doc, call->result, "status", ST_STR("success"));
	st_render_path(call, call->result, "path", *relative_path ? relative_path : ".");
	st_json_add(call->doc, call->result, "created", yyjson_mut_bool(call->doc, made > 0));
	if (st_call_is_parsed(call))
		st_buf_addf(&call->text, "Successfully created directory %s", st_arg_str(call, "path").ptr);
	else
		st_buf_addf(&call->text,
		            made > 0 ? "Created directory %s\n" : "Directory %s already exists\n",
		            st_quoted(path));
	return 0;
}

static const struct st_param params[] = {
	{.name = "path",
     .aliases = "directory dir",
     .required = true,
     .description = "The directory to create."},
	ST_PARAM_SESSION,
	ST_PARAMS_END,
};

const struct st_tool st_create_directory = {
	.name = "create_directory",
	.title = "Create a directory",
	.description = "Create a directory and its missing parents. It may already exist.",
	.params = params,
	.output_schema = ST_OUTPUT("\"path\":{\"type\":\"string\"},\"created\":{\"type\":\"boolean\"}"),
	.hints = ST_HINT_IDEMPOTENT,
	.group = ST_GROUP_FILES,
	.run = run_create_directory,
};
