/* Arguments: what was given against what a tool takes, and the schema that says so beforehand. */
#include <stdio.h>
#include <strings.h>

#include "base/utf8.h"
#include "tools/tool.h"

/* As much of a text as a message shows, for "%.*s". */
#define SHOWN(text) (int)st_utf8_cut(text, 100), (text).ptr

/* Whether a word is in a list whose items are parted by a character. */
static bool list_has(const char *list, char part, struct st_str word) {
	for (const char *item = list; item && *item;) {
		const char *end = strchr(item, part);
		size_t len = end ? (size_t)(end - item) : strlen(item);
		if (len == word.len && strncasecmp(item, word.ptr, len) == 0)
			return true;
		item += len + (end != NULL);
	}
	return false;
}

/* Which parameter a name is for; its own name goes before an alias of another. -1 if there is none. */
static ptrdiff_t param_find(const struct st_param *params, struct st_str name) {
	for (ptrdiff_t i = 0; params[i].name; i++) {
		if (st_str_eq(st_str(params[i].name), name))
			return i;
	}
	for (ptrdiff_t i = 0; params[i].name; i++) {
		if (list_has(params[i].aliases, ' ', name))
			return i;
	}
	return -1;
}

static int unknown(const char *what, const struct st_param *params, struct st_str name,
                   struct stet_error *err) {
	st_auto(st_buf) names = ST_BUF_INIT;
	for (size_t i = 0; params[i].name; i++)
		st_buf_addf(&names, "%s%s", i ? ", " : "", params[i].name);
	return st_fail(err, STET_E_INVALID, "%s has no argument \"%.*s\". It takes: %s.", what,
	               SHOWN(name), st_buf_cstr(&names));
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
	            (param->type == ST_PARAM_INTEGER && yyjson_is_int(value)) ||
	            (param->type == ST_PARAM_BOOLEAN && yyjson_is_bool(value));
	if (!fits)
		return st_fail(err, STET_E_INVALID, "The argument \"%s\" of %s must be %s, not %s.",
		               param->name, what, types[param->type], st_json_kind(value));
	if (param->choices && !list_has(param->choices, '|', st_json_str(value)))
		return st_fail(err, STET_E_INVALID,
		               "The argument \"%s\" of %s is \"%.*s\"; it must be one of %s.", param->name,
		               what, SHOWN(st_json_str(value)), param->choices);
	return 0;
}

static int bind_one(const char *what, const struct st_param *params, struct st_str name,
                    yyjson_val *value, yyjson_val **values, struct stet_error *err) {
	ptrdiff_t i = param_find(params, name);
	if (i < 0)
		return unknown(what, params, name, err);
	/* null is what some clients send for what they leave out. */
	if (yyjson_is_null(value))
		return 0;
	if (values[i])
		return st_fail(err, STET_E_INVALID,
		               "The argument \"%s\" of %s was given twice, once as \"%.*s\".",
		               params[i].name, what, SHOWN(name));
	values[i] = value;
	return check_value(what, &params[i], value, err);
}

int st_args_bind(const char *what, const struct st_param *params, yyjson_val *object,
                 yyjson_val **values, struct stet_error *err) {
	if (object && !yyjson_is_obj(object))
		return st_fail(err, STET_E_INVALID, "The arguments of %s must be a JSON object, not %s.",
		               what, st_json_kind(object));
	size_t i;
	yyjson_val *key, *value;
	for (i = 0; params[i].name; i++)
		values[i] = NULL;
	/* The macro must not be given NULL. */
	yyjson_obj_iter members = yyjson_obj_iter_with(object);
	while ((key = yyjson_obj_iter_next(&members))) {
		value = yyjson_obj_iter_get_val(key);
		int code = bind_one(what, params, st_json_str(key), value, values, err);
		if (code < 0)
			return code;
	}
	for (i = 0; params[i].name; i++) {
		if (params[i].required && !values[i])
			return st_fail(err, STET_E_INVALID, "%s needs the argument \"%s\": %s", what,
			               params[i].name, params[i].description);
	}
	return 0;
}

yyjson_val *st_arg(const struct st_call *call, const char *name) {
	for (size_t i = 0; call->tool->params[i].name; i++) {
		if (strcmp(call->tool->params[i].name, name) == 0)
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

/* No $schema: clients take 2020-12 if none is named. */
int st_tool_schema(const struct st_tool *tool, struct st_buf *out, struct stet_error *err) {
	st_buf_adds(out, "{\"type\":\"object\",\"properties\":{");
	for (size_t i = 0; tool->params[i].name; i++) {
		if (i)
			st_buf_adds(out, ",");
		add_param(out, &tool->params[i]);
	}
	st_buf_adds(out, "}");
	add_required(out, tool);
	st_buf_adds(out, "}");
	return out->failed ? st_fail_nomem(err) : 0;
}
