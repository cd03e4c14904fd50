/* check_conflict: whether a file is still what the session read (spec 1). */
#include "base/utf8.h"
#include "tools/render.h"

/* How much of a file an answer shows; the rest is for read_file. */
enum { CONTENT_MAX = 16 << 10 };

/* The file as it is now, up to a page: as text only where there is no diff that shows it. */
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

static void render(struct st_call *call, struct stet_answer *answer) {
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
	render_content(call, answer);
	if (answer->diff.len > 0) {
		st_json_add(doc, call->result, "diffTruncated",
		            yyjson_mut_bool(doc, answer->diff_truncated));
		st_buf_add(&call->text, st_buf_str(&answer->diff));
	}
}

static int run(struct st_call *call, struct stet_error *err) {
	const char *path = st_call_path(call, "path", err);
	struct stet_answer *answer = NULL;
	if (!path)
		return err->code;
	int code = stet_session_check(call->session, path, &answer, err);
	if (code < 0)
		return code;
	render(call, answer);
	/* Notices of the check go with the call. */
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
		"Whether a file changed since you read it, and how. It does not count as reading.",
	.params = params,
	.output_schema = ST_OUTPUT("\"file\":{\"type\":\"string\"},"
                               "\"standing\":{\"type\":\"string\"},"
                               "\"hasConflict\":{\"type\":\"boolean\"},"
                               "\"reason\":{\"type\":\"string\"},"
                               "\"message\":{\"type\":\"string\"},"
                               "\"currentHash\":{\"type\":\"string\"},"
                               "\"currentContent\":{\"type\":\"string\"},"
                               "\"currentContentTruncated\":{\"type\":\"boolean\"},"
                               "\"diffTruncated\":{\"type\":\"boolean\"}"),
	.hints = ST_HINT_READ_ONLY | ST_HINT_IDEMPOTENT,
	.group = ST_GROUP_STATE,
	.run = run,
};
