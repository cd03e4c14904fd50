/* Whether a tool's write lost changes of others, by the lines of four texts. */
#include "hook/loss.h"

#include "lib/test.h"

static bool loses(const char *seen, const char *made, const char *replaced, const char *now) {
	return st_hook_loses(
		&(struct st_hook_texts){st_str(seen), st_str(made), st_str(replaced), st_str(now)});
}

static bool has_change(const char *seen, const char *made, const char *replaced) {
	return st_hook_has_change(
		&(struct st_hook_texts){st_str(seen), st_str(made), st_str(replaced), st_str("")});
}

static void a_line_of_others_that_is_gone_is_lost(void **state) {
	assert_true(loses("a\nb\n", "A\nb\n", "a\nb\nlate\n", "A\nb\n"));
	assert_true(loses("a\nb\n", "A\nb\n", "a\nb\nlate\nlate\n", "A\nb\nlate\n"));
	/* One of others equals one that the tool adds. */
	assert_true(loses("a\n", "a\nx\n", "a\nx\n", "a\nx\n"));
}

static void a_line_of_others_that_is_kept_is_not_lost(void **state) {
	assert_false(loses("a\nb\n", "A\nb\n", "a\nb\nlate\n", "A\nb\nlate\nlater\n"));
	assert_false(loses("a\nb\n", "A\nb\n", "a\nb\n", "A\nb\n"));
	assert_false(loses("a\r\nb\r\n", "A\r\nb\r\n", "a\r\nb\r\nlate\r\n", "A\nb\nlate\n"));
}

static void a_line_that_others_removed_must_not_come_back(void **state) {
	assert_true(loses("a\nb\n", "A\nb\n", "a\n", "A\nb\n"));
	assert_false(loses("a\nb\n", "A\nb\n", "a\n", "A\n"));
}

static void a_version_with_the_change_is_not_what_was_replaced(void **state) {
	assert_true(has_change("a\nb\n", "A\nb\n", "A\nb\nlate\n"));
	assert_false(has_change("a\nb\n", "A\nb\n", "a\nb\nlate\n"));
	assert_false(has_change("a\nb\n", "A\nb\n", "A\na\nb\n"));
	assert_true(has_change("a\n", "new\n", "new\n"));
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_of_others_that_is_gone_is_lost),
		cmocka_unit_test(a_line_of_others_that_is_kept_is_not_lost),
		cmocka_unit_test(a_line_that_others_removed_must_not_come_back),
		cmocka_unit_test(a_version_with_the_change_is_not_what_was_replaced),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
