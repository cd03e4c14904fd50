/* undo: undo the last write of a file, if the file has not changed since. */
#include "base/quote.h"
#include "core/state/undo.h"
#include "tools/render.h"
#include "tools/state/run_args.h"
#include "tools/state/undo_run.h"

static void render_undone(struct st_call *call, const struct stet_answer *answer) {
	st_auto(st_buf) name = ST_BUF_INIT;
	st_call_spell(call, answer->path, &name);
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
	            st_quoted_str(st_buf_str(&name)));
	st_buf_add(&call->text, st_buf_str(&answer->diff));
}

/* An answer with the whole diff sent all that the undo brought back: a redo of it needs no preview. */
static void note_shown(struct stet_session *session, const struct stet_answer *answer) {
	size_t last = session->own_write_count - 1;
	bool is_shown = session->own_write_count > 0 && !answer->diff_truncated;
	session->shown_undo = is_shown ? session->own_writes[last % ST_OWN_WRITES] : 0;
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
	if (code == 0)
		note_shown(call->session, answer);
	for (size_t i = 0; i < answer->notice_count; i++)
		st_call_notice(call, answer->notices[i]);
	return code;
}

/* Whether the call is about more than the last write. */
static bool names_run(const struct st_call *call) {
	static const char *const names[] = {"of", "story", "since", "id", "redo", "dryRun"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (st_arg(call, names[i]))
			return true;
	}
	return false;
}

static int run_undo(struct st_call *call, struct stet_error *err) {
	if (names_run(call) || (!st_arg(call, "path") && st_undo_is_of_set(call)))
		return st_undo_run(call, err);
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
     .description = "Default: the file that you wrote last."},
	ST_PARAM_RUN_OF,
	ST_PARAM_RUN_STORY,
	ST_PARAM_RUN_SINCE,
	ST_PARAM_RUN_ID,
	{.name = "redo", .type = ST_PARAM_BOOLEAN, .description = "Bring it back."},
	{.name = "dryRun",
     .aliases = "dry_run",
     .type = ST_PARAM_BOOLEAN,
     .description = "Only show the diff."},
	ST_PARAM_SESSION,
	ST_PARAMS_END,
};

const struct st_tool st_undo = {
	.name = "undo",
	.title = "Undo writes",
	.description = "Undo the last write of a file, or all writes of a session, story or time.",
	.params = params,
	.output_schema =
		ST_OUTPUT("\"path\":{\"type\":\"string\"},\"fileHash\":{\"type\":\"string\"},"
                  "\"deleted\":{\"type\":\"boolean\"},\"dryRun\":{\"type\":\"boolean\"},"
                  "\"takenBack\":{\"type\":\"integer\"},\"left\":{\"type\":\"integer\"},"
                  "\"files\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}}"),
	.hints = ST_HINT_DESTRUCTIVE,
	.group = ST_GROUP_STATE,
	.listed = ST_LISTED_CORE,
	.run = run_undo,
};
