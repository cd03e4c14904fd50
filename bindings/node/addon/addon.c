/*
 * The addon: a table of functions for index.js, over Node-API alone, so that one file serves every
 * version of Node and Bun.
 *
 * It has no state of its own but what belongs to an instance (struct addon): each worker loads another.
 */
#include <stdlib.h>

#include "call.h"

static bool add_functions(napi_env env, napi_value exports, const struct function *function) {
	for (; function->name; function++) {
		napi_property_descriptor property = {
			.utf8name = function->name,
			.method = call_run,
			.attributes = napi_enumerable,
			.data = (void *)(uintptr_t)function,
		};
		if (napi_define_properties(env, exports, 1, &property) != napi_ok)
			return false;
	}
	return true;
}

/* index.js hands over the functions that the addon calls: to make an error, and for readable descriptors. */
static napi_value set_callbacks(struct call *call) {
	struct addon *addon = call->addon;
	if (!addon->make_error)
		napi_create_reference(call->env, call->values[0], 1, &addon->make_error);
	if (!addon->on_readable)
		napi_create_reference(call->env, call->values[1], 1, &addon->on_readable);
	return NULL;
}

static const struct function own_functions[] = {
	{"setCallbacks", "ff", set_callbacks},
	{0},
};

static void free_addon(napi_env env, void *data, void *hint) {
	(void)env;
	(void)hint;
	free(data);
}

static void end_addon(void *data) {
	handles_close(data);
}

NAPI_MODULE_INIT() {
	static const struct function *const tables[] = {
		own_functions, session_functions, instructions_functions, event_functions, state_functions,
	};
	struct addon *addon = calloc(1, sizeof *addon);
	if (!addon || napi_set_instance_data(env, addon, free_addon, NULL) != napi_ok) {
		free(addon);
		return NULL;
	}
	if (napi_add_env_cleanup_hook(env, end_addon, addon) != napi_ok)
		return NULL;
	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
		if (!add_functions(env, exports, tables[i]))
			return NULL;
	return exports;
}
