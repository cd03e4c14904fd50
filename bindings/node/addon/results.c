/*
 * Results: the answers of the library, as values of JavaScript.
 *
 * A value that cannot be made (memory, a string longer than the engine's limit) leaves an exception
 * pending or is NULL; NULL is never passed on.
 */
#include <string.h>

#include "call.h"

/* ---- values ---- */

napi_value value_of_bool(napi_env env, bool truth) {
	napi_value value = NULL;
	return napi_get_boolean(env, truth, &value) == napi_ok ? value : NULL;
}

napi_value value_of_null(napi_env env) {
	napi_value value = NULL;
	return napi_get_null(env, &value) == napi_ok ? value : NULL;
}

napi_value value_of_number(napi_env env, double number) {
	napi_value value = NULL;
	return napi_create_double(env, number, &value) == napi_ok ? value : NULL;
}

napi_value value_of_text(napi_env env, const char *text, size_t len) {
	napi_value value = NULL;
	return text && napi_create_string_utf8(env, text, len, &value) == napi_ok ? value : NULL;
}

napi_value value_of_string(napi_env env, const char *string) {
	return string ? value_of_text(env, string, strlen(string)) : NULL;
}

napi_value value_of_bytes(napi_env env, const char *bytes, size_t len) {
	napi_value value = NULL;
	void *copy = NULL;
	return bytes && napi_create_buffer_copy(env, len, bytes, &copy, &value) == napi_ok ? value
	                                                                                   : NULL;
}

void value_set(napi_env env, napi_value object, const char *name, napi_value value) {
	if (object && value)
		napi_set_named_property(env, object, name, value);
}

static napi_value new_object(napi_env env) {
	napi_value object = NULL;
	return napi_create_object(env, &object) == napi_ok ? object : NULL;
}

static napi_value new_array(napi_env env) {
	napi_value array = NULL;
	return napi_create_array(env, &array) == napi_ok ? array : NULL;
}

/* How many bytes the sequence has that begins here; 0 if it is not UTF-8. */
static size_t sequence_len(const unsigned char *at, size_t left) {
	size_t len = *at < 0x80   ? 1
	             : *at < 0xc2 ? 0
	             : *at < 0xe0 ? 2
	             : *at < 0xf0 ? 3
	             : *at < 0xf5 ? 4
	                          : 0;
	if (len > left)
		return 0;
	for (size_t i = 1; i < len; i++)
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	bool overlong = (*at == 0xe0 && at[1] < 0xa0) || (*at == 0xf0 && at[1] < 0x90);
	bool outside = (*at == 0xed && at[1] > 0x9f) || (*at == 0xf4 && at[1] > 0x8f);
	return overlong || outside ? 0 : len;
}

bool is_utf8(const char *bytes, size_t len) {
	size_t step = 1;
	for (size_t i = 0; i < len && step; i += step)
		step = sequence_len((const unsigned char *)bytes + i, len - i);
	return step > 0;
}

/* ---- errors ---- */

napi_value call_throw(struct call *call, int code, napi_value answer) {
	napi_env env = call->env;
	napi_value make = NULL, error = NULL, global = NULL;
	napi_value arguments[] = {
		value_of_string(env, stet_error_name(code)),
		value_of_string(env, call->err.message),
		answer ? answer : value_of_null(env),
	};
	if (napi_get_reference_value(env, call->addon->make_error, &make) == napi_ok && make &&
	    napi_get_global(env, &global) == napi_ok && arguments[0] && arguments[1] &&
	    napi_call_function(env, global, make, 3, arguments, &error) == napi_ok)
		napi_throw(env, error);
	return NULL;
}

napi_value call_done(struct call *call, int code) {
	return code < 0 ? call_throw(call, code, NULL) : NULL;
}

/* ---- answers ---- */

/* A path that is not UTF-8 has its bytes beside it. */
static void set_path(napi_env env, napi_value object, const char *path) {
	value_set(env, object, "path", value_of_string(env, path));
	if (path && !is_utf8(path, strlen(path)))
		value_set(env, object, "pathBytes", value_of_bytes(env, path, strlen(path)));
}

static void set_numbers(napi_env env, napi_value object, const struct stet_answer *answer) {
	value_set(env, object, "noop", value_of_bool(env, stet_answer_noop(answer)));
	value_set(env, object, "created", value_of_bool(env, stet_answer_created(answer)));
	value_set(env, object, "merged", value_of_bool(env, stet_answer_merged(answer)));
	value_set(env, object, "firstLine",
	          value_of_number(env, (double)stet_answer_first_line(answer)));
	value_set(env, object, "lastLine", value_of_number(env, (double)stet_answer_last_line(answer)));
	value_set(env, object, "totalLines",
	          value_of_number(env, (double)stet_answer_total_lines(answer)));
}

static void set_notices(napi_env env, napi_value object, const struct stet_answer *answer) {
	napi_value notices = new_array(env);
	const char *notice;
	for (uint32_t i = 0; notices && (notice = stet_answer_notice(answer, i)); i++)
		napi_set_element(env, notices, i, value_of_string(env, notice));
	value_set(env, object, "notices", notices);
}

static napi_value answer_object(napi_env env, const struct stet_answer *answer) {
	napi_value object = new_object(env);
	size_t content_len = 0, diff_len = 0;
	const char *content = stet_answer_content(answer, &content_len);
	const char *diff = stet_answer_diff(answer, &diff_len);
	value_set(env, object, "status", value_of_string(env, stet_answer_status(answer)));
	set_path(env, object, stet_answer_path(answer));
	value_set(env, object, "hasConflict", value_of_bool(env, stet_answer_has_conflict(answer)));
	value_set(env, object, "reason", value_of_string(env, stet_answer_reason(answer)));
	value_set(env, object, "message", value_of_string(env, stet_answer_message(answer)));
	value_set(env, object, "hash", value_of_string(env, stet_answer_hash(answer)));
	value_set(env, object, "content", value_of_bytes(env, content, content_len));
	value_set(env, object, "diff", value_of_text(env, diff, diff_len));
	value_set(env, object, "commit", value_of_string(env, stet_answer_commit(answer)));
	set_numbers(env, object, answer);
	set_notices(env, object, answer);
	return object;
}

napi_value call_answer(struct call *call, int code, struct stet_answer *answer) {
	napi_value object = answer ? answer_object(call->env, answer) : NULL;
	stet_answer_free(answer);
	return code < 0 ? call_throw(call, code, object) : object;
}

napi_value call_conflict(struct call *call, int code, struct stet_answer *answer) {
	if (code < 0) {
		stet_answer_free(answer);
		return call_throw(call, code, NULL);
	}
	napi_env env = call->env;
	napi_value object = new_object(env);
	bool conflict = stet_answer_has_conflict(answer);
	value_set(env, object, "hasConflict", value_of_bool(env, conflict));
	if (conflict) {
		size_t len = 0;
		const char *content = stet_answer_content(answer, &len);
		value_set(env, object, "reason", value_of_string(env, stet_answer_reason(answer)));
		value_set(env, object, "message", value_of_string(env, stet_answer_message(answer)));
		value_set(env, object, "currentContent", value_of_text(env, content, len));
	}
	stet_answer_free(answer);
	return object;
}

napi_value call_string(struct call *call, int code, char *text, size_t len) {
	napi_value value = NULL;
	if (code < 0)
		call_throw(call, code, NULL);
	else
		value = text ? value_of_text(call->env, text, len) : value_of_null(call->env);
	if (code >= 0 && !value)
		napi_throw_range_error(call->env, NULL, "The text is longer than a string may be here.");
	stet_free(text);
	return value;
}

napi_value call_instructions(struct call *call, int code, struct stet_instructions *list) {
	napi_env env = call->env;
	napi_value array = code < 0 ? call_throw(call, code, NULL) : new_array(env);
	uint32_t found = 0;
	for (size_t i = 0; array && i < stet_instructions_count(list); i++) {
		size_t len = 0;
		const char *content = stet_instructions_content(list, i, &len);
		napi_value one = content ? new_object(env) : NULL;
		if (!one)
			continue;
		value_set(env, one, "path", value_of_string(env, stet_instructions_path(list, i)));
		value_set(env, one, "content", value_of_text(env, content, len));
		napi_set_element(env, array, found++, one);
	}
	stet_instructions_free(list);
	return array;
}
