/* move_file: move or rename a file or directory; what the session has seen of it stays seen. */
#include <stdio.h>

#include "base/quote.h"
#include "core/session/transfer.h"
#include "fs/write/move.h"
#include "tools/render.h"

static struct st_move_end move_end(const struct stet_session *session, const char *path) {
	const struct stet_workspace *ws = session->ws;
	return (struct st_move_end){&ws->root, ws->writes.state_dir, st_str(path)};
}

/* After a rename: move what the session has seen, and log the move. */
static void follow_move(struct stet_session *from, struct stet_session *to,
                        const struct st_moved *moved) {
	if (from == to) {
		/* The move replaced the file that the session saw under the new name. */
		if (!moved->is_dir)
			st_tracker_forget(&to->tracker, moved->to);
		/* If memory runs out, the file counts as unread under its new name, which is safe. */
		(void)st_tracker_move(&from->tracker, moved->from, moved->to, NULL);
		st_session_report_move(from, moved->from, moved->to, moved->is_dir);
	} else if (!moved->is_dir) {
		st_transfer_follow(from, moved->from, to, moved->to);
	} else {
		const struct st_file_event gone = {.path = moved->from, .kind = ST_EVENT_DIR_REMOVED};
		st_session_report(from, &gone);
	}
}

/* Rename, or copy and delete if the workspaces are on different filesystems. */
static int move_file(struct stet_session *from, const char *source, struct stet_session *to,
                     const char *destination, struct st_moved *moved, struct stet_error *err) {
	struct st_move_end start = move_end(from, source), end = move_end(to, destination);
	int code = st_move(&start, &end, !to->ws->durable, moved, err);
	if (code == 0)
		follow_move(from, to, moved);
	if (code == 0 || !moved->crosses)
		return code;
	st_auto(st_transferred) done = {0};
	code = st_transfer_move(from, source, to, destination, &done, err);
	moved->from = done.from;
	moved->to = done.to;
	moved->unproven = done.unproven;
	done.from = done.to = NULL;
	return code;
}

static void note_unproven(struct st_call *call, const struct st_moved *moved) {
	char notice[256];
	if (!moved->unproven)
		return;
	snprintf(notice, sizeof notice,
	         "This is %s: stet does not notice others who write below the mount. A file that one "
	         "of them put at either name during the move may be lost.",
	         moved->unproven);
	st_call_notice(call, notice);
}

/* Of several workspaces, say which one the file is in now. */
static void say_moved(struct st_call *call, struct stet_session *from, struct stet_session *to,
                      const struct st_moved *moved) {
	st_auto(st_buf) source = ST_BUF_INIT, destination = ST_BUF_INIT;
	call->session = from;
	st_call_spell(call, moved->from, &source);
	call->session = to;
	st_call_spell(call, moved->to, &destination);
	st_buf_addf(&call->text, "Moved %s to %s\n", st_quoted(st_buf_cstr(&source)),
	            st_quoted(st_buf_cstr(&destination)));
}

static int run_move_file(struct st_call *call, struct stet_error *err) {
	const char *from = st_call_link(call, "source", err);
	struct stet_session *source = call->session;
	const char *to = from ? st_call_destination(call, err) : NULL;
	if (!to)
		return err->code;
	st_auto(st_moved) moved = {0};
	struct stet_session *destination = call->session;
	int code = st_workspace_check_move(source->ws, from, destination->ws, to, err);
	if (code == 0)
		code = move_file(source, from, destination, to, &moved, err);
	if (code < 0)
		return code;
	*err = (struct stet_error){0};
	st_json_add_text(call->doc, call->result, "status", ST_STR("success"));
	call->session = source;
	st_render_path(call, call->result, "source", moved.from);
	call->session = destination;
	st_render_path(call, call->result, "destination", moved.to);
	if (st_call_is_parsed(call))
		st_buf_addf(&call->text, "Successfully moved %s to %s", st_arg_str(call, "source").ptr,
		            st_arg_str(call, "destination").ptr);
	else if (call->session_count > 1)
		say_moved(call, source, destination, &moved);
	else
		st_buf_addf(&call->text, "Moved %s to %s\n", st_quoted(from), st_quoted(to));
	note_unproven(call, &moved);
	return 0;
}

static const struct st_param params[] = {
	{.name = "source",
     .aliases = "from path",
     .required = true,
     .description = "The file, link or directory."},
	{.name = "destination", .aliases = "to", .required = true, .description = "The new path."},
	ST_PARAM_SESSION,
	ST_PARAMS_END,
};

const struct st_tool st_move_file = {
	.name = "move_file",
	.title = "Move or rename a file",
	.description = "Move or rename a file or directory. Never replaces anything.",
	.params = params,
	.output_schema =
		ST_OUTPUT("\"source\":{\"type\":\"string\"},\"destination\":{\"type\":\"string\"}"),
	.hints = ST_HINT_DESTRUCTIVE,
	.group = ST_GROUP_FILES,
	.listed = ST_LISTED_DEFAULT,
	.run = run_move_file,
};
