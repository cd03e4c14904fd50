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

static const struct st_param *param_find(const struct st_tool *tool, struct st_str name,
                                         size_t *index) {
	for (size_t i = 0; tool->params[i].name; i++) {
		*index = i;
		if (st_str_eq(st_str(tool->params[i].name), name))
			return &tool->params[i];
	}
	for (size_t i = 0; tool->params[i].name; i++) {
		*index = i;
		if (list_has(tool->params[i].aliases, ' ', name))
			return &tool->params[i];
	}
	return NULL;
}

static void add_names(const struct st_tool *tool, struct st_buf *out) {
	for (size_t i = 0; tool->params[i].name; i++)
		st_buf_addf(out, "%s%s", i ? ", " : "", tool->params[i].name);
}

static int unknown(const struct st_tool *tool, struct st_str name, struct stet_error *err) {
	st_auto(st_buf) names = ST_BUF_INIT;
	add_names(tool, &names);
	return st_fail(err, STET_E_INVALID, "%s has no argument \"%.*s\". It takes: %s.", tool->name,
	               SHOWN(name), st_buf_cstr(&names));
}

static int wrong_type(const struct st_call *call, const struct st_param *param, yyjson_val *value,
                      struct stet_error *err) {
	static const char *const types[] = {"a string", "an integer", "true or false", "something else"};
	return st_fail(err, STET_E_INVALID, "The argument \"%s\" of %s must be %s, not %s.", param->name,
	               call->tool->name, types[param->type], yyjson_get_type_desc(value));
}

static int check_value(const struct st_call *call, const struct st_param *param, yyjson_val *value,
                       struct stet_error *err) {
	bool fits = param->type == ST_PARAM_ANY ||
	            (param->type == ST_PARAM_STRING && yyjson_is_str(value)) ||
	            (param->type == ST_PARAM_INTEGER && yyjson_is_int(value)) ||
	            (param->type == ST_PARAM_BOOLEAN && yyjson_is_bool(value));
	if (!fits)
		return wrong_type(call, param, value, err);
	if (param->choices && !list_has(param->choices, '|', st_json_str(value)))
		return st_fail(err, STET_E_INVALID, "The argument \"%s\" of %s is \"%.*s\"; it must be one of %s.",
		               param->name, call->tool->name, SHOWN(st_json_str(value)), param->choices);
	return 0;
}

static int bind_one(struct st_call *call, struct st_str name, yyjson_val *value,
                    struct stet_error *err) {
	size_t index;
	const struct st_param *param = param_find(call->tool, name, &index);
	if (!param)
		return unknown(call->tool, name, err);
	if (call->args[index])
		return st_fail(err, STET_E_INVALID, "The argument \"%s\" of %s was given twice, once as \"%.*s\".",
		               param->name, call->tool->name, SHOWN(name));
	/* null is what some clients send for what they leave out. */
	if (yyjson_is_null(value))
		return 0;
	call->args[index] = value;
	return check_value(call, param, value, err);
}

int st_args_bind(struct st_call *call, yyjson_val *args, struct stet_error *err) {
	if (args && !yyjson_is_obj(args))
		return st_fail(err, STET_E_INVALID, "The arguments of %s must be a JSON object, not %s.",
		               call->tool->name, yyjson_get_type_desc(args));
	size_t i, max;
	yyjson_val *key, *value;
	yyjson_obj_foreach(args, i, max, key, value) {
		int code = bind_one(call, st_json_str(key), value, err);
		if (code < 0)
			return code;
	}
	for (i = 0; call->tool->params[i].name; i++) {
		if (call->tool->params[i].required && !call->args[i])
			return st_fail(err, STET_E_INVALID, "%s needs the argument \"%s\": %s", call->tool->name,
			               call->tool->params[i].name, call->tool->params[i].description);
	}
	return 0;
}

int st_args_known(yyjson_val *object, const char *what, const char *names, const char *aliases,
                  struct stet_error *err) {
	size_t i, max;
	yyjson_val *key, *value;
	yyjson_obj_foreach(object, i, max, key, value) {
		struct st_str name = st_json_str(key);
		if (!list_has(names, ' ', name) && !list_has(aliases, ' ', name))
			return st_fail(err, STET_E_INVALID, "%s has no \"%.*s\". It takes: %s.", what, SHOWN(name), names);
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
		st_buf_addf(out, "%s\"%.*s\"", item == choices ? "" : ",", (int)len, item);
		item += len + (item[len] == '|');
	}
	st_buf_adds(out, "]");
}

static void add_param(struct st_buf *out, const struct st_param *param) {
	static const char *const types[] = {"string", "integer", "boolean"};
	st_buf_addf(out, "\"%s\":{", param->name);
	if (param->type == ST_PARAM_ANY)
		st_buf_adds(out, param->schema);
	else
		st_buf_addf(out, "\"type\":\"%s\"", types[param->type]);
	if (param->choices)
		add_choices(out, param->choices);
	st_buf_addf(out, ",\"description\":\"%s\"}", param->description);
}

int st_tool_schema(const struct st_tool *tool, struct st_buf *out, struct stet_error *err) {
	st_buf_adds(out, "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\","
	                 "\"type\":\"object\",\"properties\":{");
	for (size_t i = 0; tool->params[i].name; i++) {
		if (i)
			st_buf_adds(out, ",");
		add_param(out, &tool->params[i]);
	}
	st_buf_adds(out, "},\"required\":[");
	for (size_t i = 0, count = 0; tool->params[i].name; i++) {
		if (tool->params[i].required)
			st_buf_addf(out, "%s\"%s\"", count++ ? "," : "", tool->params[i].name);
	}
	st_buf_adds(out, "],\"additionalProperties\":false}");
	return out->failed ? st_fail_nomem(err) : 0;
}
