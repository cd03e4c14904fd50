/* AGENTS.md, which sessions get once each. */
#include <string.h>

#include "call.h"

static napi_value if_new(struct call *call) {
	char *text = NULL;
	int code = stet_instructions_if_new(SESSION(call), PATH(call, 1), &text, &call->err);
	return call_string(call, code, text, text ? strlen(text) : 0);
}

static napi_value for_path(struct call *call) {
	struct stet_instructions *list = NULL;
	int code = stet_instructions_for_path(SESSION(call), PATH(call, 1), &list, &call->err);
	return call_instructions(call, code, list);
}

static napi_value of_root(struct call *call) {
	struct stet_instructions *list = NULL;
	int code = stet_instructions_root(SESSION(call), &list, &call->err);
	return call_instructions(call, code, list);
}

static napi_value index_all(struct call *call) {
	struct stet_instructions *list = NULL;
	int code = stet_instructions_index(WORKSPACE(call), &list, &call->err);
	stet_instructions_free(list);
	return call_done(call, code);
}

static napi_value forget_file(struct call *call) {
	stet_instructions_invalidate(WORKSPACE(call), PATH(call, 1));
	return NULL;
}

static napi_value clear(struct call *call) {
	stet_instructions_clear(SESSION(call));
	return NULL;
}

const struct function instructions_functions[] = {
	{"instructionsIfNew", "Sp", if_new},
	{"instructionsForPath", "Sp", for_path},
	{"instructionsOfRoot", "S", of_root},
	{"indexInstructions", "S", index_all},
	{"forgetInstructions", "Sp", forget_file},
	{"clearInstructions", "S", clear},
	{0},
};
