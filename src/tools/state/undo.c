/* undo: undo the last write of a file, if the file has not changed since. */
#include "base/quote.h"
#include "core/state/undo.h"
#include "tools/render.h"

static void render_undone(struct st_call *call, const struct stet_answer *answer) {
	st_json_add_text(call->doc, call->result, "status", ST_STR("success"));
	st_render_path(call, call->result, "path", answer->path);
	if (answer->has_hash)
		st_json_add_text(call->doc, call->result, "fileHash", st_str(answer->hash));
	else
		st_json_add_true(call->doc, call->result, "deleted");
	st_buf_addf(&call->text,
	            answer->has_hash
	                ? "Undid the last write of %s.\n"
	                : "Undid the last write of %s, which had created it: it is gone.\n",
	            st_quoted(answer->path));
	st_buf_add(&call->text, st_buf_str(&answer->diff));
}

/* The answer shows every diff that counts as seen, also that of a refusal. */
static int undo_and_render(struct st_call *call, const char *path, struct stet_answer *answer,
                           struct stet_error *err) {
	const struct st_undo_how how = {.hash_proves = call->session->ws->hash_proves};
	int code = st_undo_write(call->session, path, &how, answer, err);
	if (code == STET_E_CONFLICT)
		st_render_refusal(call, (struct st_str){0}, answer);
	else if (code == 0)
		render_undone(call, answer);
	for (size_t i = 0; i < answer->notice_count; i++)
		st_call_notice(call, answer->notices[i]);
	return code;
}

static int run_undo(struct st_call *call, struct stet_error *err) {
	const char *path = st_arg(call, "path") ? st_call_path(call, "path", err) : NULL;
	if (st_arg(call, "path") && !path)
		return err->code;
	struct stet_answer *answer = st_answer_new("success");
	if (!answer)
		return st_fail_nomem(err);
	int code = undo_and_render(call, path, answer, err);
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
