/* copy_file: copy a file to a path where nothing exists. */
#include "base/quote.h"
#include "core/session/transfer.h"
#include "tools/render.h"

static int run_copy_file(struct st_call *call, struct stet_error *err) {
	const char *from = st_call_path(call, "source", err);
	struct stet_session *source = call->session;
	const char *to = from ? st_call_destination(call, err) : NULL;
	if (!to)
		return err->code;
	char hash[ST_HASH_SHORT + 1];
	st_auto(st_transferred) done = {0};
	int code = st_transfer_copy(source, from, call->session, to, &done, err);
	if (code < 0)
		return code;
	st_hash_hex(&done.hash, hash, ST_HASH_SHORT);
	st_json_add_text(call->doc, call->result, "status", ST_STR("success"));
	st_json_add_text(call->doc, call->result, "source", st_str(from));
	st_render_path(call, call->result, "destination", done.to);
	/* Of several workspaces, say which one the copy is in. */
	st_auto(st_buf) made = ST_BUF_INIT;
	st_call_spell(call, done.to, &made);
	st_buf_addf(&call->text, "Copied %s to %s\nfileHash: %s\n", st_quoted(from),
	            st_quoted(call->session_count > 1 ? st_buf_cstr(&made) : to), hash);
	return 0;
}

static const struct st_param params[] = {
	{.name = "source",
     .aliases = "from path",
     .required = true,
     .description = "The file to copy."},
	{.name = "destination",
     .aliases = "to",
     .required = true,
     .description = "The path of the copy; it must not exist."},
	ST_PARAM_SESSION,
	ST_PARAMS_END,
};

const struct st_tool st_copy_file = {
	.name = "copy_file",
	.title = "Copy a file",
	.description =
		"Copy a file with its permissions. Never replaces anything; what you have read of the "
		"file counts as read in the copy.",
	.params = params,
	.output_schema =
		ST_OUTPUT("\"source\":{\"type\":\"string\"},\"destination\":{\"type\":\"string\"}"),
	.group = ST_GROUP_FILES,
	.run = run_copy_file,
};
