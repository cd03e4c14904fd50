/* The tools as they are listed to a client, and the guide that goes with them. */
#include <ctype.h>

#include "base/utf8.h"
#include "lib/schema.h"
#include "lib/tools.h"
#include "text/tokens/tokens.h"
#include "tools/tool.h"

static yyjson_doc *listed(size_t tool) {
	char *json = stet_tool_json(tool);
	assert_non_null(json);
	yyjson_read_err err;
	yyjson_doc *doc = yyjson_read_opts(json, strlen(json), 0, NULL, &err);
	if (!doc)
		fail_msg("%s at byte %zu of %s", err.msg, err.pos, json);
	stet_free(json);
	return doc;
}

static yyjson_val *member(yyjson_doc *doc, const char *name) {
	yyjson_val *value = yyjson_obj_get(yyjson_doc_get_root(doc), name);
	if (!value)
		fail_msg("there is no %s", name);
	return value;
}

static void every_tool_has_a_name_that_clients_take(void **state) {
	(void)state;
	for (size_t i = 0; i < stet_tool_count(); i++) {
		yyjson_doc *doc = listed(i);
		const char *name = yyjson_get_str(member(doc, "name"));
		size_t len = strlen(name);
		assert_true(len >= 1 && len <= 64);
		for (size_t k = 0; k < len; k++)
			assert_true(isalnum((unsigned char)name[k]) || name[k] == '_' || name[k] == '-');
		assert_string_equal(name, stet_tool_name(i));
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(name, stet_tool_name(k));
		yyjson_doc_free(doc);
	}
	assert_true(stet_tool_count() >= 6);
	assert_null(stet_tool_name(stet_tool_count()));
	assert_null(stet_tool_title(SIZE_MAX));
	assert_null(stet_tool_description(SIZE_MAX));
	assert_null(stet_tool_json(stet_tool_count()));
}

static void every_tool_has_title_description_and_annotations(void **state) {
	(void)state;
	static const char *const hints[] = {"readOnlyHint", "destructiveHint", "idempotentHint"};
	for (size_t i = 0; i < stet_tool_count(); i++) {
		yyjson_doc *doc = listed(i);
		assert_string_equal(yyjson_get_str(member(doc, "title")), stet_tool_title(i));
		assert_string_equal(yyjson_get_str(member(doc, "description")), stet_tool_description(i));
		assert_true(strlen(stet_tool_title(i)) > 5 && strlen(stet_tool_description(i)) > 50);
		bool reads = yyjson_get_bool(yyjson_obj_get(member(doc, "annotations"), "readOnlyHint"));
		for (size_t k = 0; k < sizeof hints / sizeof *hints; k++)
			assert_true(yyjson_is_bool(yyjson_obj_get(member(doc, "annotations"), hints[k])) ||
			            (reads && k > 0));
		bool destroys =
			yyjson_get_bool(yyjson_obj_get(member(doc, "annotations"), "destructiveHint"));
		assert_false(reads && destroys);
		yyjson_doc_free(doc);
	}
}

static void check_known(yyjson_val *schema) {
	st_auto(st_buf) why = ST_BUF_INIT;
	if (!schema_is_known(schema, &why))
		fail_msg("%s", why.ptr);
	assert_string_equal(yyjson_get_str(yyjson_obj_get(schema, "type")), "object");
}

/* Each required property is listed, and each listed property has a type. */
static void check_input(yyjson_val *schema) {
	yyjson_val *properties = yyjson_obj_get(schema, "properties"), *key, *value;
	size_t i, max;
	yyjson_arr_foreach(yyjson_obj_get(schema, "required"), i, max, key)
		assert_non_null(yyjson_obj_get(properties, yyjson_get_str(key)));
	yyjson_obj_foreach(properties, i, max, key, value) {
		assert_true(yyjson_get_len(yyjson_obj_get(value, "description")) > 10);
		assert_true(yyjson_obj_get(value, "type") || yyjson_obj_get(value, "enum"));
	}
}

static void every_tool_has_schemas_of_words_that_are_known(void **state) {
	(void)state;
	for (size_t i = 0; i < stet_tool_count(); i++) {
		yyjson_doc *doc = listed(i);
		check_known(member(doc, "inputSchema"));
		check_input(member(doc, "inputSchema"));
		check_known(member(doc, "outputSchema"));
		yyjson_val *properties = yyjson_obj_get(member(doc, "outputSchema"), "properties");
		assert_non_null(
			yyjson_obj_get(properties, st_tools[i]->listed_schema ? "content" : "status"));
		yyjson_doc_free(doc);
	}
}

/* The answers of all tests are checked so; here that the check itself can fail. */
static void the_check_of_answers_finds_what_is_wrong(void **state) {
	(void)state;
	static const char schema[] =
		"{\"type\":\"object\",\"properties\":{\"a\":{\"type\":[\"string\",\"integer\"]},"
		"\"b\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"c\":{\"enum\":["
		"\"x\",1]}}}}},"
		"\"required\":[\"a\"]}";
	static const struct {
		const char *json;
		bool right;
	} values[] = {
		{"{\"a\":1}", true},
		{"{\"a\":\"x\",\"b\":[]}", true},
		{"{\"a\":\"x\",\"b\":[{\"c\":\"x\"},{\"c\":1},{}]}", true},
		{"{}", false},
		{"[]", false},
		{"{\"a\":1.5}", false},
		{"{\"a\":null}", false},
		{"{\"a\":1,\"d\":1}", false},
		{"{\"a\":1,\"b\":{}}", false},
		{"{\"a\":1,\"b\":[1]}", false},
		{"{\"a\":1,\"b\":[{\"c\":\"y\"}]}", false},
		{"{\"a\":1,\"b\":[{\"d\":\"x\"}]}", false},
	};
	yyjson_doc *rule = yyjson_read(schema, strlen(schema), 0);
	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		st_auto(st_buf) why = ST_BUF_INIT;
		yyjson_doc *doc = yyjson_read(values[i].json, strlen(values[i].json), 0);
		bool right = schema_accepts(yyjson_doc_get_root(rule), yyjson_doc_get_root(doc), &why);
		assert_int_equal(right, values[i].right);
		assert_int_equal(right, why.len == 0);
		yyjson_doc_free(doc);
	}
	yyjson_doc_free(rule);
}

static void texts_of_a_tool_may_hold_any_character(void **state) {
	(void)state;
	static const char odd[] = "\"quoted\" \\ back\nline\ttab \x01 \xC3\xA9";
	const struct st_param params[] = {
		{.name = "one", .description = odd, .choices = "a|\"b\"", .required = true},
		{.name = NULL},
	};
	const struct st_tool tool = {.name = "odd", .params = params};
	st_auto(st_buf) json = ST_BUF_INIT;
	assert_int_equal(st_tool_schema(&tool, &json, NULL), 0);
	yyjson_doc *doc = yyjson_read(json.ptr, json.len, 0);
	assert_non_null(doc);
	yyjson_val *one = yyjson_obj_get(member(doc, "properties"), "one");
	assert_string_equal(yyjson_get_str(yyjson_obj_get(one, "description")), odd);
	assert_string_equal(yyjson_get_str(yyjson_arr_get(yyjson_obj_get(one, "enum"), 1)), "\"b\"");
	yyjson_doc_free(doc);
}

/* By an estimate that is above the count for JSON; tests/tools/tool_list.sh counts. */
static void the_whole_list_is_small(void **state) {
	(void)state;
	size_t total = 0;
	for (size_t i = 0; i < stet_tool_count(); i++) {
		char *json = stet_tool_json(i);
		total += st_tokens(st_str(json));
		stet_free(json);
	}
	assert_true(total < 8000);
}

static void the_editing_guide_is_short_and_names_every_text_tool(void **state) {
	(void)state;
	const char *guide = stet_editing_guide();
	/* Claude Code hands on the first 2 KB of it. */
	assert_true(strlen(guide) < 2000);
	/* The first sentence says why to use these tools, in under 60 words. */
	size_t words_first = 1;
	for (const char *c = guide; *c && *c != '\n'; c++)
		words_first += *c == ' ';
	assert_true(words_first < 60);
	assert_non_null(strstr(guide, "instead of your built-in ones"));
	assert_true(st_utf8_valid(st_str(guide)));
	for (size_t i = 0; i < stet_tool_count(); i++) {
		if (strncmp(stet_tool_name(i), "text_", 5) == 0)
			assert_non_null(strstr(guide, stet_tool_name(i)));
	}
	static const char *const words[] = {
		"edit_file", "write_file", "appendToSection", "beforeHeading", "heading",
		"codeBlock", "lines",      "last resort",     "expectedHash",  "fileHash",
		"modified",  "onStale",    "occurrence"};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		assert_non_null(strstr(guide, words[i]));
	static const char *const gone[] = {"afterHeading", "replaceLines", "pattern"};
	for (size_t i = 0; i < sizeof gone / sizeof *gone; i++)
		assert_null(strstr(guide, gone[i]));
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_tool_has_a_name_that_clients_take),
		cmocka_unit_test(every_tool_has_title_description_and_annotations),
		cmocka_unit_test(every_tool_has_schemas_of_words_that_are_known),
		cmocka_unit_test(the_check_of_answers_finds_what_is_wrong),
		cmocka_unit_test(texts_of_a_tool_may_hold_any_character),
		cmocka_unit_test(the_whole_list_is_small),
		cmocka_unit_test(the_editing_guide_is_short_and_names_every_text_tool),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
