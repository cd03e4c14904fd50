/* move_file: another name for a file or directory; what was read of it stays read. */
#include "base/quote.h"
#include "core/visit.h"
#include "fs/move.h"
#include "tools/render.h"

/* A relative destination is meant in the workspace of the source. */
static const char *find_destination(struct st_call *call, struct stet_error *err) {
	struct stet_session *source = call->session;
	const char *to = st_call_path(call, "destination", err);
	if (!to)
		return NULL;
	if (to[0] != '/')
		call->session = source;
	if (call->session == source)
		return to;
	st_fail(
		err, STET_E_INVALID,
		"%s is in another workspace, and nothing is copied. Read the file, write it there, then "
		"delete it here.",
		st_shown(to));
	return NULL;
}

static int run(struct st_call *call, struct stet_error *err) {
	const char *from = st_call_path(call, "source", err);
	const char *to = from ? find_destination(call, err) : NULL;
	if (!from || !to)
		return err->code;
	struct stet_session *session = call->session;
	st_auto(st_moved) moved = {0};
	int code = st_workspace_check_move(session->ws, from, to, err);
	if (code == 0)
		code = st_move(&session->ws->root, st_str(from), st_str(to), session->ws->guard.state_dir,
		               !session->ws->durable, &moved, err);
	if (code < 0)
		return code;
	/* Short of memory, it counts as unread under its new name, which is safe. */
	(void)st_tracker_move(&session->tracker, moved.from, moved.to, NULL);
	st_visit_moved(session, moved.from, moved.to, moved.is_dir);
	st_json_add_text(call->doc, call->result, "status", ST_STR("success"));
	st_render_path(call, call->result, "source", moved.from);
	st_render_path(call, call->result, "destination", moved.to);
	st_buf_addf(&call->text, "Moved %s to %s\n", st_shown(from), st_shown(to));
	return 0;
}

static const struct st_param params[] = {
	{.name = "source",
     .aliases = "from path",
     .required = true,
     .description = "The file, link or directory."},
	{.name = "destination",
     .aliases = "to",
     .required = true,
     .description = "Its new path, where nothing may be."},
	ST_PARAM_SESSION,
	ST_PARAMS_END,
};

const struct st_tool st_move_file = {
	.name = "move_file",
	.title = "Move or rename a file",
	.description =
		"Move or rename a file or directory. Never replaces anything; what you have read "
		"stays read under the new name.",
	.params = params,
	.output_schema =
		ST_OUTPUT("\"source\":{\"type\":\"string\"},\"destination\":{\"type\":\"string\"}"),
	.hints = ST_HINT_DESTRUCTIVE,
	.group = ST_GROUP_FILES,
	.run = run,
};
