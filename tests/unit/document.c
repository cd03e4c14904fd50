/* JSON for programs that use the library: stet/json.h; and the width of text. */
#include "stet/json.h"
#include "stet/text.h"
#include "stet/workspace.h"

#include "lib/test.h"

static struct stet_json *parse(const char *text, int comments) {
	struct stet_json *json = NULL;
	struct stet_error err = {0};
	if (stet_json_parse(text, strlen(text), comments, &json, &err) < 0)
		fail_msg("%s", err.message);
	return json;
}

static void writes_what_was_set(void **state) {
	struct stet_json *json = stet_json_new();
	stet_json_set_text(json, "/a", "x\ny", 3);
	stet_json_set_int(json, "/b/c", -7);
	stet_json_set_bool(json, "/b/d", 1);
	stet_json_set_text(json, "/list/-", "z", 1);
	stet_json_set_json(json, "/list/-", "{}", 2);
	char *text = stet_json_write(json, 0, NULL);
	assert_string_equal(text, "{\"a\":\"x\\ny\",\"b\":{\"c\":-7,\"d\":true},\"list\":[\"z\",{}]}");
	stet_free(text);
	stet_json_free(json);
}

static void reads_by_pointer(void **state) {
	struct stet_json *json = parse("{\"a\":{\"b\":[1,\"two\",true,null]}}", 0);
	size_t len = 0;
	assert_int_equal(stet_json_int(json, "/a/b/0", 9), 1);
	assert_int_equal(stet_json_int(json, "/a/b/1", 9), 9);
	assert_string_equal(stet_json_text(json, "/a/b/1", &len), "two");
	assert_int_equal(len, 3);
	assert_null(stet_json_text(json, "/a/b/0", &len));
	assert_int_equal(len, 0);
	assert_true(stet_json_true(json, "/a/b/2"));
	assert_string_equal(stet_json_type(json, "/a/b/3"), "null");
	assert_null(stet_json_type(json, "/a/c"));
	assert_int_equal(stet_json_count(json, "/a/b"), 4);
	assert_string_equal(stet_json_key(json, "/a", 0), "b");
	assert_null(stet_json_key(json, "/a", 1));
	stet_json_free(json);
}

static void reads_comments_only_when_told(void **state) {
	static const char text[] = "{\n\t// why\n\t\"a\": 1,\n}\n";
	struct stet_json *json = parse(text, 1);
	struct stet_error err = {0};
	assert_int_equal(stet_json_int(json, "/a", 0), 1);
	stet_json_free(json);
	assert_int_equal(stet_json_parse(text, strlen(text), 0, &json, &err), STET_E_INVALID);
	assert_non_null(strstr(err.message, "line 2"));
	assert_null(json);
}

static void refuses_text_that_is_not_utf8(void **state) {
	struct stet_json *json = stet_json_new();
	stet_json_set_text(json, "/a", "\xff", 1);
	assert_null(stet_json_write(json, 0, NULL));
	stet_json_free(json);
}

static void measures_text_in_columns(void **state) {
	assert_int_equal(stet_text_width("abc", 3), 3);
	assert_int_equal(stet_text_width("日本", 6), 4);
	assert_int_equal(stet_text_width("e\u0301", 3), 1);
	assert_int_equal(stet_text_width("", 0), 0);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_what_was_set),
		cmocka_unit_test(reads_by_pointer),
		cmocka_unit_test(reads_comments_only_when_told),
		cmocka_unit_test(refuses_text_that_is_not_utf8),
		cmocka_unit_test(measures_text_in_columns),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
