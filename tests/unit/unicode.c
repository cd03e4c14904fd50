/* Folding and width, as utf8proc has them, and of bytes that are not UTF-8. */
#include "base/unicode.h"
#include "lib/test.h"

static void check_equal(const char *a, const char *b, bool equal) {
	st_auto(st_buf) x = ST_BUF_INIT, y = ST_BUF_INIT;
	st_unicode_fold(&x, st_str(a));
	st_unicode_fold(&y, st_str(b));
	assert_int_equal(st_str_eq(st_buf_str(&x), st_buf_str(&y)), equal);
}

static void folding_makes_case_and_composition_alike(void **state) {
	(void)state;
	check_equal("Setup", "SETUP", true);
	check_equal(
		"Stra\xC3\x9F"
		"e",
		"STRASSE", true);
	check_equal("\xCE\xA3\xCE\xAF\xCF\x83\xCF\x85\xCF\x86\xCE\xBF\xCF\x82",
	            "\xCF\x83\xCE\x8A\xCE\xA3\xCE\xA5\xCE\xA6\xCE\x9F\xCE\xA3", true);
	check_equal("caf\xC3\xA9", "CAFE\xCC\x81", true);
	check_equal("cafe", "caf\xC3\xA9", false);
	check_equal("a", "b", false);
}

static void bytes_that_are_not_utf8_stand_for_themselves(void **state) {
	(void)state;
	st_auto(st_buf) out = ST_BUF_INIT;
	st_unicode_fold(&out, ST_STR("A\xFF\xC3Z\xED\xA0\x80"));
	assert_string_equal(out.ptr, "a\xFF\xC3z\xED\xA0\x80");
	check_equal("\xFF", "\xEF\xBF\xBD", false);
}

static void width_is_that_of_a_terminal(void **state) {
	(void)state;
	assert_int_equal(st_unicode_width(ST_STR("")), 0);
	assert_int_equal(st_unicode_width(ST_STR("abc")), 3);
	assert_int_equal(st_unicode_width(ST_STR("cafe\xCC\x81")), 4);
	assert_int_equal(st_unicode_width(ST_STR("\xE6\xBC\xA2\xE5\xAD\x97")), 4);
	assert_int_equal(st_unicode_width(ST_STR("a\xFFz")), 3);
	assert_int_equal(st_unicode_width(ST_STR("a\tb\n")), 2);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(folding_makes_case_and_composition_alike),
		cmocka_unit_test(bytes_that_are_not_utf8_stand_for_themselves),
		cmocka_unit_test(width_is_that_of_a_terminal),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
