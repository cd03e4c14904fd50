/* check_conflict: check whether a file is still the version that the session has seen. */
#include "base/utf8.h"
#include "tools/render.h"

/* The most bytes of a file in an answer; read_file shows the rest. */
enum { CONTENT_MAX = 16 << 10 };

/* Add the current content to the data, and to the text if there is no diff. */
static void render_content(struct st_call *call, const struct stet_answer *answer) {
	struct st_str content = st_buf_str(&answer->content);
	if (!answer->reason || !answer->content.ptr)
		return;
	bool cut = content.len > CONTENT_MAX;
	if (cut)
		content.len = st_utf8_cut(content, CONTENT_MAX);
	st_json_add_text(call->doc, call->result, "currentContent", content);
	if (cut)
		st_json_add_true(call->doc, call->result, "currentContentTruncated");
	if (answer->diff.len == 0)
		st_buf_add(&call->text, content);
}

static void render_check(struct st_call *call, struct stet_answer *answer) {
	yyjson_mut_doc *doc = call->doc;
	st_json_add_text(doc, call->result, "status", ST_STR("success"));
	st_render_path(call, call->result, "file", answer->path);
	st_json_add_text(doc, call->result, "standing", st_str(answer->status));
	st_json_add(doc, call->result, "hasConflict", yyjson_mut_bool(doc, answer->reason != NULL));
	if (answer->has_hash)
		st_json_add_text(doc, call->result, "currentHash", st_str(answer->hash));
	if (answer->reason) {
		st_json_add_text(doc, call->result, "reason", st_str(answer->reason));
		st_json_add_text(doc, call->result, "message", st_buf_str(&answer->message));
		st_buf_addf(&call->text, "%s\n", answer->message.ptr);
	} else {
		st_buf_addf(&call->text, "No conflict: the file is %s.\n", answer->status);
	}
	if (answer->has_hash)
		st_buf_addf(&call->text, "fileHash: %s\n", answer->hash);
	render_content(call, answer);
	if (answer->diff.len > 0) {
		st_json_add(doc, call->result, "diffTruncated",
		            yyjson_mut_bool(doc, answer->diff_truncated));
		st_buf_add(&call->text, st_buf_str(&answer->diff));
	}
}

static int run_check_conflict(struct st_call *call, struct stet_error *err) {
	const char *path = st_call_path(call, "path", err);
	struct stet_answer *answer = NULL;
	if (!path)
		return err->code;
	int code = stet_session_check(call->session, path, &answer, err);
	if (code < 0)
		return code;
	render_check(call, answer);
	/* Put the notices back into the workspace's queue; the end of the call takes them from there. */
	for (size_t i = 0; i < answer->notice_count; i++)
		st_write_notice(&call->session->ws->writes, "%s", answer->notices[i]);
	stet_answer_free(answer);
	return 0;
}

static const struct st_param params[] = {
	ST_PARAM_PATH,
	ST_PARAM_SESSION,
	ST_PARAMS_END,
};

const struct st_tool st_check_conflict = {
	.name = "check_conflict",
	.title = "Check a file for changes",
	.description =
		"Check whether a file changed since you read it, and how. This does not count as reading "
		"it.",
	.params = params,
	.output_schema = ST_OUTPUT("\"file\":{\"type\":\"string\"},"
                               "\"standing\":{\"type\":\"string\"},"
                               "\"hasConflict\":{\"type\":\"boolean\"},"
                               "\"currentContent\":{\"type\":\"string\"},"
                               "\"currentContentTruncated\":{\"type\":\"boolean\"}"),
	.hints = ST_HINT_READ_ONLY | ST_HINT_IDEMPOTENT,
	.group = ST_GROUP_STATE,
	.run = run_check_conflict,
};
