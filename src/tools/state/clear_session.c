/* clear_session: deliver instructions again, after the model's context was emptied. */
#include "tools/render.h"

static int run_clear_session(struct st_call *call, struct stet_error *err) {
	(void)err;
	for (size_t i = 0; i < call->session_count; i++) {
		stet_instructions_clear(call->sessions[i]);
		call->sessions[i]->greeted = call->sessions[i]->instructed;
	}
	st_json_add_text(call->doc, call->result, "status", ST_STR("success"));
	st_buf_adds(
		&call->text,
		"Instructions (AGENTS.md) will come again. What you have read of files stays known.");
	return 0;
}

static const struct st_param params[] = {
	ST_PARAM_SESSION,
	ST_PARAMS_END,
};

const struct st_tool st_clear_session = {
	.name = "clear_session",
	.title = "Get instructions again",
	.description =
		"Call this after your context was emptied or compacted: instructions (AGENTS.md) come "
		"again with the next answers.",
	.params = params,
	.output_schema = ST_OUTPUT(""),
	.hints = ST_HINT_IDEMPOTENT | ST_HINT_INSTRUCTS,
	.group = ST_GROUP_STATE,
	.run = run_clear_session,
};
