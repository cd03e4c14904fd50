/* Check a call's arguments against a tool's parameters, and write the parameters as JSON Schema. */
#include <assert.h>
#include <stdio.h>
#include <strings.h>

#include "base/utf8.h"
#include "tools/tool.h"

/* The arguments of "%.*s" that quote a text of the caller, cut to 100 bytes. */
#define EXCERPT(text) (int)st_utf8_cut(text, 100), (text).ptr

/* Whether a word is in a list of words, in any case. */
static bool list_has(const char *list, char separator, struct st_str word) {
	for (const char *item = list; item && *item;) {
		const char *end = strchr(item, separator);
		size_t len = end ? (size_t)(end - item) : strlen(item);
		if (len == word.len && strncasecmp(item, word.ptr, len) == 0)
			return true;
		item += len + (end != NULL);
	}
	return false;
}

/* Take the next character off a name, in lower case, skipping "_" and "-"; '\0' at the end. */
static char next_letter(struct st_str *name) {
	while (name->len > 0 && (*name->ptr == '_' || *name->ptr == '-'))
		*name = st_str_slice(*name, 1, name->len);
	if (name->len == 0)
		return '\0';
	char letter = *name->ptr;
	*name = st_str_slice(*name, 1, name->len);
	return letter >= 'A' && letter <= 'Z' ? (char)(letter - 'A' + 'a') : letter;
}

/* lineNumbers, line_numbers and LINE-NUMBERS are the same name. */
static bool is_same_name(struct st_str one, struct st_str two) {
	char a, b;
	do {
		a = next_letter(&one);
		b = next_letter(&two);
	} while (a && a == b);
	return a == b;
}

/* The index of the parameter with this name or alias, names first; -1 if there is none. */
static ptrdiff_t param_find(const struct st_param *params, struct st_str name) {
	for (ptrdiff_t i = 0; params[i].name; i++) {
		if (is_same_name(st_str(params[i].name), name))
			return i;
	}
	for (ptrdiff_t i = 0; params[i].name; i++) {
		if (list_has(params[i].aliases, ' ', name))
			return i;
	}
	return -1;
}

static int fail_unknown(const char *what, const struct st_param *params, struct st_str name,
                        struct stet_error *err) {
	st_auto(st_buf) names = ST_BUF_INIT;
	for (size_t i = 0; params[i].name; i++)
		st_buf_addf(&names, "%s%s", i ? ", " : "", params[i].name);
	return st_fail(err, STET_E_INVALID, "%s has no argument \"%.*s\". It takes: %s.", what,
	               EXCERPT(name), st_buf_cstr(&names));
}

/* ---- unknown arguments ---- */

/* Whether two names differ by one letter: a wrong, missing or added one, or two swapped neighbours. */
static bool is_one_slip_apart(struct st_str one, struct st_str two) {
	size_t start = 0, end_one = one.len, end_two = two.len;
	while (start < end_one && start < end_two && one.ptr[start] == two.ptr[start])
		start++;
	while (end_one > start && end_two > start && one.ptr[end_one - 1] == two.ptr[end_two - 1]) {
		end_one--;
		end_two--;
	}
	size_t left = end_one - start, right = end_two - start;
	bool swapped = left == 2 && right == 2 && one.ptr[start] == two.ptr[start + 1] &&
	               one.ptr[start + 1] == two.ptr[start];
	return swapped || (left <= 1 && right <= 1);
}

static bool is_misspelt(const struct st_param *params, struct st_str name) {
	for (size_t i = 0; params[i].name; i++) {
		if (name.len > 2 && is_one_slip_apart(st_str(params[i].name), name))
			return true;
	}
	return false;
}

/* Whether an argument cannot change what the call does: a model's comment on it, or the encoding UTF-8. */
static bool is_comment(struct st_str name, yyjson_val *value) {
	static const char names[] = "description explanation reason reasoning comment title thought";
	struct st_str text = st_json_str(value);
	if (list_has("encoding charset", ' ', name))
		return list_has("utf8 utf-8", ' ', text);
	return list_has(names, ' ', name) && yyjson_is_str(value);
}

/*
 * Tools that read may ignore unknown arguments, as they do no harm. Tools that
 * write may not: the model that sends "append" or "dryRun" relies on it.
 */
static bool may_be_ignored(const struct st_tool *tool, struct st_str name, yyjson_val *value) {
	if (is_comment(name, value))
		return true;
	return tool->hints & ST_HINT_READ_ONLY && !is_misspelt(tool->params, name);
}

static bool is_strings(yyjson_val *value) {
	yyjson_arr_iter items = yyjson_arr_iter_with(value);
	bool all = yyjson_is_arr(value);
	for (yyjson_val *item; all && (item = yyjson_arr_iter_next(&items));)
		all = yyjson_is_str(item);
	return all;
}

static int check_value(const char *what, const struct st_param *param, yyjson_val *value,
                       struct stet_error *err) {
	static const char *const types[] = {"a string", "an integer", "true or false",
	                                    "a list of strings", "something else"};
	bool fits = param->type == ST_PARAM_ANY ||
	            (param->type == ST_PARAM_STRINGS && is_strings(value)) ||
	            (param->type == ST_PARAM_STRING && yyjson_is_str(value)) ||
	            (param->type == ST_PARAM_INTEGER && st_json_is_int(value)) ||
	            (param->type == ST_PARAM_BOOLEAN && yyjson_is_bool(value));
	if (!fits && yyjson_is_arr(value))
		return st_fail(err, STET_E_INVALID, "The argument \"%s\" of %s must be %s%s.", param->name,
		               what, types[param->type],
		               param->type == ST_PARAM_STRINGS ? " alone" : ", not an array");
	if (!fits)
		return st_fail(err, STET_E_INVALID, "The argument \"%s\" of %s must be %s, not %s.",
		               param->name, what, types[param->type], st_json_kind(value));
	if (param->choices && !list_has(param->choices, '|', st_json_str(value)))
		return st_fail(err, STET_E_INVALID,
		               "The argument \"%s\" of %s is \"%.*s\"; it must be one of %s.", param->name,
		               what, EXCERPT(st_json_str(value)), param->choices);
	return 0;
}

static int bind_one(const char *what, const struct st_param *params, struct st_str name,
                    yyjson_val *value, yyjson_val **values, struct stet_error *err) {
	ptrdiff_t i = param_find(params, name);
	/* Some clients send null for arguments that they leave out. */
	if (yyjson_is_null(value))
		return 0;
	if (i < 0)
		return fail_unknown(what, params, name, err);
	if (values[i])
		return st_fail(err, STET_E_INVALID,
		               "The argument \"%s\" of %s was given twice, once as \"%.*s\".",
		               params[i].name, what, EXCERPT(name));
	values[i] = value;
	return check_value(what, &params[i], value, err);
}

/* Some models fill every optional number with 0 and every optional string with "". */
static bool counts_as_omitted(const struct st_param *param, yyjson_val *value) {
	if (param->required || param->blank || param->type == ST_PARAM_BOOLEAN)
		return false;
	return (yyjson_is_str(value) && yyjson_get_len(value) == 0) ||
	       (st_json_is_int(value) && st_json_int(value) == 0);
}

static int check_required(const char *what, const struct st_param *params, yyjson_val **values,
                          struct stet_error *err) {
	for (size_t i = 0; params[i].name; i++) {
		if (params[i].required && !values[i])
			return st_fail(err, STET_E_INVALID, "%s needs the argument \"%s\": %s", what,
			               params[i].name, params[i].description);
	}
	return 0;
}

/* Bind each member of an object. `call` is set for the arguments of a tool, NULL for a nested object. */
static int bind_all(struct st_call *call, const char *what, const struct st_param *params,
                    yyjson_val *object, yyjson_val **values, struct stet_error *err) {
	if (object && !yyjson_is_obj(object))
		return st_fail(err, STET_E_INVALID, "The arguments of %s must be a JSON object, not %s.",
		               what, st_json_kind(object));
	for (size_t i = 0; params[i].name; i++) {
		assert(i < ST_PARAMS_MAX);
		values[i] = NULL;
	}
	yyjson_val *key;
	int code = 0;
	/* Not yyjson_obj_foreach(), which does not allow NULL. */
	yyjson_obj_iter members = yyjson_obj_iter_with(object);
	while (code == 0 && (key = yyjson_obj_iter_next(&members))) {
		struct st_str name = st_json_str(key);
		yyjson_val *value = yyjson_obj_iter_get_val(key);
		ptrdiff_t known = call ? param_find(params, name) : 0;
		if (known < 0 && !yyjson_is_null(value) && may_be_ignored(call->tool, name, value))
			st_buf_addf(&call->remark, "[%s has no argument \"%.*s\"; it was ignored.]\n", what,
			            EXCERPT(name));
		else if (!call || known < 0 || !counts_as_omitted(&params[known], value))
			code = bind_one(what, params, name, value, values, err);
	}
	return code < 0 ? code : check_required(what, params, values, err);
}

int st_args_bind(const char *what, const struct st_param *params, yyjson_val *object,
                 yyjson_val **values, struct stet_error *err) {
	return bind_all(NULL, what, params, object, values, err);
}

int st_call_bind(struct st_call *call, yyjson_val *args, struct stet_error *err) {
	return bind_all(call, call->tool->name, call->tool->params, args, call->args, err);
}

yyjson_val *st_arg(const struct st_call *call, const char *name) {
	for (size_t i = 0; call->tool->params[i].name; i++) {
		const char *param = call->tool->params[i].name;
		/* A call asks for a dozen names, most of which differ in their first letter. */
		if (*param == *name && strcmp(param, name) == 0)
			return call->args[i];
	}
	return NULL;
}

struct st_str st_arg_str(const struct st_call *call, const char *name) {
	return st_json_str(st_arg(call, name));
}

int64_t st_arg_int(const struct st_call *call, const char *name, int64_t missing) {
	yyjson_val *value = st_arg(call, name);
	return value ? st_json_int(value) : missing;
}

bool st_arg_flag(const struct st_call *call, const char *name, bool missing) {
	yyjson_val *value = st_arg(call, name);
	return value ? yyjson_get_bool(value) : missing;
}

/* ---- the schema ---- */

static void add_choices(struct st_buf *out, const char *choices) {
	st_buf_adds(out, ",\"enum\":[");
	for (const char *item = choices; *item;) {
		size_t len = strcspn(item, "|");
		if (item != choices)
			st_buf_addc(out, ',');
		st_json_quote(out, st_strn(item, len));
		item += len + (item[len] == '|');
	}
	st_buf_adds(out, "]");
}

static void add_param(struct st_buf *out, const struct st_param *param) {
	static const char *const types[] = {"string", "integer", "boolean"};
	st_json_quote(out, st_str(param->name));
	st_buf_adds(out, ":{");
	if (param->type == ST_PARAM_ANY)
		st_buf_adds(out, param->schema);
	else if (param->type == ST_PARAM_STRINGS)
		st_buf_adds(out, "\"type\":\"array\",\"items\":{\"type\":\"string\"}");
	else
		st_buf_addf(out, "\"type\":\"%s\"", types[param->type]);
	if (param->choices)
		add_choices(out, param->choices);
	st_buf_adds(out, ",\"description\":");
	st_json_quote(out, st_str(param->description));
	st_buf_adds(out, "}");
}

static void add_required(struct st_buf *out, const struct st_tool *tool) {
	size_t count = 0;
	for (size_t i = 0; tool->params[i].name; i++) {
		if (!tool->params[i].required)
			continue;
		st_buf_adds(out, count++ ? "," : ",\"required\":[");
		st_json_quote(out, st_str(tool->params[i].name));
	}
	if (count > 0)
		st_buf_adds(out, "]");
}

/* Without "$schema": clients then assume version 2020-12. */
int st_tool_schema(const struct st_tool *tool, struct st_buf *out, struct stet_error *err) {
	st_buf_adds(out, "{\"type\":\"object\",\"properties\":{");
	const char *comma = "";
	for (size_t i = 0; tool->params[i].name; i++) {
		if (tool->params[i].unlisted)
			continue;
		st_buf_adds(out, comma);
		add_param(out, &tool->params[i]);
		comma = ",";
	}
	st_buf_adds(out, "}");
	add_required(out, tool);
	/* Tools that read ignore unknown arguments, with a remark. */
	if (!(tool->hints & ST_HINT_READ_ONLY))
		st_buf_adds(out, ",\"additionalProperties\":false");
	st_buf_adds(out, "}");
	return out->failed ? st_fail_nomem(err) : 0;
}
