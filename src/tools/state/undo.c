/* undo: undo the last write of a file, if the file has not changed since. */
#include "base/quote.h"
#include "stet/state.h"
#include "tools/render.h"

static void render_conflict(struct st_call *call, const struct stet_answer *answer) {
	call->failure = yyjson_mut_obj(call->doc);
	st_json_add_text(call->doc, call->failure, "status", ST_STR("conflict"));
	st_json_add_text(call->doc, call->failure, "reason", st_str(answer->reason));
	st_json_add_text(call->doc, call->failure, "message", st_buf_str(&answer->message));
	if (answer->has_hash)
		st_json_add_text(call->doc, call->failure, "currentHash", st_str(answer->hash));
}

static int run_undo(struct st_call *call, struct stet_error *err) {
	const char *path = st_arg(call, "path") ? st_call_path(call, "path", err) : NULL;
	struct stet_answer *answer = NULL;
	if (st_arg(call, "path") && !path)
		return err->code;
	int code = stet_undo(call->session, path, &answer, err);
	if (code == STET_E_CONFLICT && answer)
		render_conflict(call, answer);
	if (code == 0) {
		st_json_add_text(call->doc, call->result, "status", ST_STR("success"));
		st_render_path(call, call->result, "path", answer->path);
		if (answer->has_hash)
			st_json_add_text(call->doc, call->result, "fileHash", st_str(answer->hash));
		else
			st_json_add_true(call->doc, call->result, "deleted");
		st_buf_addf(&call->text, "Undid the last write of %s.\n", st_quoted(answer->path));
	}
	for (size_t i = 0; answer && i < answer->notice_count; i++)
		st_call_notice(call, answer->notices[i]);
	stet_answer_free(answer);
	return code;
}

static const struct st_param params[] = {
	{.name = "path",
     .aliases = "filePath file_path",
     .description = "The file; default: the one that you wrote last."},
	ST_PARAM_SESSION,
	ST_PARAMS_END,
};

const struct st_tool st_undo = {
	.name = "undo",
	.title = "Undo a write",
	.description =
		"Restore a file to its content before the last write. Refused if it has changed since.",
	.params = params,
	.output_schema = ST_OUTPUT("\"path\":{\"type\":\"string\"},\"fileHash\":{\"type\":\"string\"},"
                               "\"deleted\":{\"type\":\"boolean\"}"),
	.hints = ST_HINT_DESTRUCTIVE,
	.group = ST_GROUP_STATE,
	.listed = ST_LISTED_CORE,
	.run = run_undo,
};
