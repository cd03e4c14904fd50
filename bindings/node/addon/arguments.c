/*
 * Arguments: values of JavaScript become bytes, numbers and handles, or a TypeError says which is wrong.
 *
 * All bytes are copied: a SharedArrayBuffer could change while the library writes them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"

static const uint64_t HANDLE_MAGIC = UINT64_C(0x7374657400000001);

static bool throw_type(struct call *call, const char *sentence) {
	napi_throw_type_error(call->env, "ERR_INVALID_ARG_TYPE", sentence);
	return false;
}

static bool throw_memory(struct call *call) {
	snprintf(call->err.message, sizeof call->err.message, "Out of memory.");
	call_throw(call, STET_E_NOMEM, NULL);
	return false;
}

/* ---- texts ---- */

/*
 * V8 and JavaScriptCore write U+FFFD for half of a surrogate pair. A text seldom
 * contains a real U+FFFD, so the UTF-16 is checked only where one is found.
 */
static bool has_lone_surrogate(napi_env env, napi_value value, bool *failed) {
	size_t len = 0;
	*failed = true;
	if (napi_get_value_string_utf16(env, value, NULL, 0, &len) != napi_ok)
		return false;
	char16_t *units = malloc((len + 1) * sizeof *units);
	if (!units || napi_get_value_string_utf16(env, value, units, len + 1, &len) != napi_ok) {
		free(units);
		return false;
	}
	bool lone = false;
	for (size_t i = 0; i < len && !lone; i++) {
		bool high = units[i] >= 0xd800 && units[i] < 0xdc00;
		if (high && i + 1 < len && units[i + 1] >= 0xdc00 && units[i + 1] < 0xe000)
			i++;
		else
			lone = units[i] >= 0xd800 && units[i] < 0xe000;
	}
	free(units);
	*failed = false;
	return lone;
}

/* Into the buffer of the call, if it is free and large enough: 1 if so, 0 if not, -1 if that failed. */
static int take_short_string(struct call *call, napi_value value, struct text *text) {
	size_t len = 0;
	if (call->path_is_used)
		return 0;
	if (napi_get_value_string_utf8(call->env, value, call->path, sizeof call->path, &len) !=
	    napi_ok)
		return -1;
	/* A string that was cut ends before the last character that did not fit. */
	if (len + 4 >= sizeof call->path)
		return 0;
	call->path_is_used = true;
	*text = (struct text){call->path, len};
	return 1;
}

static bool take_long_string(struct call *call, napi_value value, struct text *text) {
	size_t len = 0;
	if (napi_get_value_string_utf8(call->env, value, NULL, 0, &len) != napi_ok)
		return false;
	text->ptr = malloc(len + 1);
	return text->ptr &&
	       napi_get_value_string_utf8(call->env, value, text->ptr, len + 1, &text->len) == napi_ok;
}

static bool take_string(struct call *call, napi_value value, struct text *text) {
	int taken = take_short_string(call, value, text);
	if (taken < 0 || (taken == 0 && !take_long_string(call, value, text)))
		return throw_memory(call);
	bool failed = false;
	if (memmem(text->ptr, text->len, "\xef\xbf\xbd", 3) &&
	    has_lone_surrogate(call->env, value, &failed))
		return throw_type(call,
		                  "The text has half of a surrogate pair, which has no bytes: pass a "
		                  "Buffer to write other bytes than UTF-8.");
	return failed ? throw_memory(call) : true;
}

static bool copy_bytes(struct call *call, const void *data, size_t len, struct text *text) {
	char *bytes = malloc(len + 1);
	if (!bytes)
		return throw_memory(call);
	if (len)
		memcpy(bytes, data, len);
	bytes[len] = '\0';
	*text = (struct text){bytes, len};
	return true;
}

/* A string, or the bytes of a Buffer or another Uint8Array. */
static bool take_text(struct call *call, napi_value value, const char *sentence,
                      struct text *text) {
	napi_valuetype type = napi_undefined;
	bool is_array = false;
	if (napi_typeof(call->env, value, &type) == napi_ok && type == napi_string)
		return take_string(call, value, text);
	napi_typedarray_type kind = napi_int8_array;
	void *data = NULL;
	size_t len = 0;
	if (napi_is_typedarray(call->env, value, &is_array) == napi_ok && is_array &&
	    napi_get_typedarray_info(call->env, value, &kind, &len, &data, NULL, NULL) == napi_ok &&
	    (kind == napi_uint8_array || kind == napi_uint8_clamped_array))
		return copy_bytes(call, data, len, text);
	return throw_type(call, sentence);
}

static bool take_path(struct call *call, napi_value value, struct text *text) {
	if (!take_text(call, value, "The path must be a string, a Buffer or a URL.", text))
		return false;
	return !memchr(text->ptr, '\0', text->len) || throw_type(call, "A path has no NUL.");
}

static bool take_name(struct call *call, napi_value value, struct text *text) {
	if (!take_text(call, value, "The name must be a string.", text))
		return false;
	return !memchr(text->ptr, '\0', text->len) || throw_type(call, "A name has no NUL.");
}

/* ---- the rest ---- */

static bool take_number(struct call *call, napi_value value, int64_t *number) {
	double given = 0;
	if (napi_get_value_double(call->env, value, &given) != napi_ok || !(given >= 0) ||
	    given > 9007199254740991.0 || given != (double)(int64_t)given)
		return throw_type(call, "The number must be a whole one, and not negative.");
	*number = (int64_t)given;
	return true;
}

static bool take_function(struct call *call, napi_value value) {
	napi_valuetype type = napi_undefined;
	return (napi_typeof(call->env, value, &type) == napi_ok && type == napi_function) ||
	       throw_type(call, "The callback must be a function.");
}

static bool is_wanted(char letter, enum handle_kind kind) {
	switch (letter) {
	case 'W':
		return kind == HANDLE_WORKSPACE;
	case 'S':
		return kind == HANDLE_SESSION || kind == HANDLE_MANAGER;
	case 'F':
		return kind == HANDLE_WATCHER;
	case 'M':
		return kind == HANDLE_MANAGER;
	case 'E':
		return kind == HANDLE_WATCHER || kind == HANDLE_MANAGER;
	default:
		return true;
	}
}

static bool take_handle(struct call *call, napi_value value, char letter, struct handle **out) {
	napi_valuetype type = napi_undefined;
	void *data = NULL;
	if (napi_typeof(call->env, value, &type) != napi_ok || type != napi_external ||
	    napi_get_value_external(call->env, value, &data) != napi_ok)
		return throw_type(call, "This is not an object of stet.");
	struct handle *handle = data;
	if (!handle || handle->magic != HANDLE_MAGIC || !is_wanted(letter, handle->kind))
		return throw_type(call, "This is another kind of object of stet.");
	*out = handle;
	return true;
}

static bool is_undefined(struct call *call, napi_value value) {
	napi_valuetype type = napi_undefined;
	return napi_typeof(call->env, value, &type) != napi_ok || type == napi_undefined ||
	       type == napi_null;
}

static bool take_argument(struct call *call, char letter, napi_value value, union argument *out) {
	switch (letter) {
	case 'p':
		return take_path(call, value, &out->text);
	case 'o':
		return is_undefined(call, value) || take_name(call, value, &out->text);
	case 's':
		return take_name(call, value, &out->text);
	case 't':
		return take_text(call, value, "The text must be a string or a Buffer.", &out->text);
	case 'n':
		return take_number(call, value, &out->number);
	case 'f':
		return take_function(call, value);
	default:
		return take_handle(call, value, letter, &out->handle);
	}
}

static void release_arguments(struct call *call) {
	for (size_t i = 0; call->signature[i]; i++)
		if (strchr("post", call->signature[i]) && call->arguments[i].text.ptr != call->path)
			free(call->arguments[i].text.ptr);
}

napi_value call_run(napi_env env, napi_callback_info info) {
	/* Most of it, the buffers of path and error, need not be cleared. */
	struct call call;
	memset(call.arguments, 0, sizeof call.arguments);
	call.env = env;
	call.path_is_used = false;
	call.err.code = 0;
	call.err.message[0] = '\0';
	size_t count = MAX_ARGUMENTS;
	void *data = NULL, *addon = NULL;
	/* Arguments that were not given are undefined. */
	if (napi_get_cb_info(env, info, &count, call.values, NULL, &data) != napi_ok ||
	    napi_get_instance_data(env, &addon) != napi_ok || !addon)
		return NULL;
	const struct function *function = data;
	call.addon = addon;
	call.signature = function->signature;
	bool taken = true;
	for (size_t i = 0; taken && function->signature[i]; i++)
		taken = take_argument(&call, function->signature[i], call.values[i], &call.arguments[i]);
	napi_value result = taken ? function->run(&call) : NULL;
	release_arguments(&call);
	return result;
}

struct stet_session *call_session(struct call *call) {
	struct handle *handle = HANDLE(call);
	return handle->kind == HANDLE_MANAGER ? stet_manager_session(handle->pointer) : handle->pointer;
}

/* ---- handles ---- */

/*
 * The weight of an open object for the garbage collector, which does not count descriptors. With it, the
 * collector runs before a program that forgets to close its objects runs out of descriptors.
 */
static const int64_t WEIGHT = 512 * 1024;

static void weigh(napi_env env, int64_t weight) {
	int64_t total;
	napi_adjust_external_memory(env, weight, &total);
}

static void link_handle(struct addon *addon, struct handle *handle) {
	handle->next = addon->handles;
	handle->link = &addon->handles;
	if (handle->next)
		handle->next->link = &handle->next;
	addon->handles = handle;
}

static void unlink_handle(struct handle *handle) {
	if (!handle->link)
		return;
	*handle->link = handle->next;
	if (handle->next)
		handle->next->link = handle->link;
	handle->next = NULL;
	handle->link = NULL;
}

void handles_close(struct addon *addon) {
	while (addon->handles)
		handle_close(NULL, addon->handles);
}

void handle_close(napi_env env, struct handle *handle) {
	void *pointer = handle->pointer;
	if (env && pointer)
		weigh(env, -WEIGHT);
	handle->pointer = NULL;
	unlink_handle(handle);
	switch (handle->kind) {
	case HANDLE_WORKSPACE:
		stet_workspace_close(pointer);
		break;
	case HANDLE_SESSION:
		stet_session_close(pointer);
		break;
	case HANDLE_WATCHER:
		stet_watcher_free(pointer);
		break;
	case HANDLE_MANAGER:
		stet_manager_free(pointer);
		break;
	}
	changes_free(handle->changes);
	handle->changes = NULL;
}

static void finalize_handle(napi_env env, void *data, void *hint) {
	(void)hint;
	struct handle *handle = data;
	handle_close(env, handle);
	handle->magic = 0;
	free(handle);
}

napi_value call_handle(struct call *call, int code, enum handle_kind kind, void *pointer) {
	if (code < 0)
		return call_throw(call, code, NULL);
	struct handle *handle = calloc(1, sizeof *handle);
	napi_value value = NULL;
	struct handle unwrapped = {.kind = kind, .pointer = pointer};
	if (handle) {
		*handle = unwrapped;
		handle->magic = HANDLE_MAGIC;
		if (napi_create_external(call->env, handle, finalize_handle, NULL, &value) == napi_ok) {
			link_handle(call->addon, handle);
			weigh(call->env, WEIGHT);
			return value;
		}
		free(handle);
	}
	handle_close(NULL, &unwrapped);
	throw_memory(call);
	return NULL;
}
