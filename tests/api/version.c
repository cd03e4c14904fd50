/* The public headers compile as plain C11, and the shared library answers. */
#include <stet/stet.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void a_stranger_can_ask_for_the_version(void **state) {
	(void)state;
	assert_true(strchr(stet_version(), '.') != NULL);
}

static void a_stranger_can_keep_an_error(void **state) {
	(void)state;
	struct stet_error *err = stet_error_new();
	assert_non_null(err);
	assert_int_equal(stet_error_code(err), 0);
	assert_string_equal(stet_error_message(err), "");
	stet_error_free(err);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stranger_can_ask_for_the_version),
		cmocka_unit_test(a_stranger_can_keep_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
