/* The state of the work, and prompts made from it; JSON in and out. */
#include "call.h"

static napi_value begin_story(struct call *call) {
	return call_done(call, stet_story_begin(WORKSPACE(call), PATH(call, 1), &call->err));
}

static napi_value record(struct call *call) {
	return call_done(call, stet_record(SESSION(call), PATH(call, 1), TEXT(call, 2).ptr,
	                                   TEXT(call, 2).len, NULL, &call->err));
}

static napi_value add_task(struct call *call) {
	int64_t id = 0;
	int code = stet_task_add(WORKSPACE(call), TEXT(call, 1).ptr, TEXT(call, 1).len, NUMBER(call, 2),
	                         &id, &call->err);
	return code < 0 ? call_throw(call, code, NULL) : value_of_number(call->env, (double)id);
}

static napi_value complete_task(struct call *call) {
	return call_done(call, stet_task_complete(SESSION(call), NUMBER(call, 1), &call->err));
}

static napi_value state_json(struct call *call) {
	char *json = NULL;
	size_t len = 0;
	int code = stet_state_json(SESSION(call), &json, &len, &call->err);
	return call_string(call, code, json, len);
}

static napi_value flush_state(struct call *call) {
	return call_done(call, stet_state_flush(WORKSPACE(call), &call->err));
}

static napi_value format_snapshot(struct call *call) {
	char *text = NULL;
	size_t len = 0;
	int code = stet_snapshot_format(TEXT(call, 0).ptr, TEXT(call, 0).len, (size_t)NUMBER(call, 1),
	                                &text, &len, &call->err);
	return call_string(call, code, text, len);
}

static int set_texts(struct call *call, struct stet_context *context) {
	static const int texts[] = {STET_CONTEXT_SNAPSHOT, STET_CONTEXT_TEMPLATE,
	                            STET_CONTEXT_ADDITIONAL};
	int code = 0;
	for (size_t i = 0; i < 3 && code == 0; i++)
		code =
			stet_context_set(context, texts[i], TEXT(call, i).ptr, TEXT(call, i).len, &call->err);
	return code;
}

static napi_value build_prompt(struct call *call) {
	struct stet_context *context = stet_context_new();
	char *json = NULL;
	size_t len = 0;
	int code = set_texts(call, context);
	if (code == 0)
		code = stet_context_prompt(context, &json, &len, &call->err);
	stet_context_free(context);
	return call_string(call, code, json, len);
}

const struct function state_functions[] = {
	{"beginStory", "Ss", begin_story},
	{"record", "Sst", record},
	{"addTask", "Stn", add_task},
	{"completeTask", "Sn", complete_task},
	{"stateJson", "S", state_json},
	{"flushState", "S", flush_state},
	{"formatSnapshot", "tn", format_snapshot},
	{"buildPrompt", "ttt", build_prompt},
	{0},
};
