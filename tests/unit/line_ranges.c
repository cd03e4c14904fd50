/* Line ranges: what people write is understood, what cannot be is refused with the form. */
#include "base/buf.h"
#include "lib/test.h"
#include "text/lines/line_ranges.h"

static void check(const char *query, size_t lines, size_t count, const struct st_interval *items) {
	st_auto(st_intervals) set = {0};
	assert_int_equal(st_line_ranges_parse(st_str(query), lines, &set, NULL), 0);
	assert_int_equal(set.count, count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(set.items[i].first, items[i].first);
		assert_int_equal(set.items[i].last, items[i].last);
	}
}

static void refused(const char *query, const char *reason) {
	st_auto(st_intervals) set = {0};
	struct stet_error err = {0};
	assert_int_equal(st_line_ranges_parse(st_str(query), 100, &set, &err), STET_E_INVALID);
	assert_non_null(strstr(err.message, reason));
	assert_non_null(strstr(err.message, "\"50-60\", \"1,5-8\""));
	assert_non_null(strstr(err.message, "has 100"));
}

static void reads_the_forms_people_write(void **state) {
	(void)state;
	check("50-60", 100, 1, (const struct st_interval[]){{50, 60}});
	check("1,5-8", 100, 2, (const struct st_interval[]){{1, 1}, {5, 8}});
	check("90-", 100, 1, (const struct st_interval[]){{90, 100}});
	check("7", 100, 1, (const struct st_interval[]){{7, 7}});
	check(" 1 , 5 - 8 ,\t90 - ", 100, 3, (const struct st_interval[]){{1, 1}, {5, 8}, {90, 100}});
	check("007-08", 100, 1, (const struct st_interval[]){{7, 8}});
}

static void ranges_are_sorted_and_overlaps_merged(void **state) {
	(void)state;
	check("60-70,1-3,2-10,11,65-", 80, 2, (const struct st_interval[]){{1, 11}, {60, 80}});
}

static void ranges_are_clamped_to_the_file(void **state) {
	(void)state;
	check("5-500", 10, 1, (const struct st_interval[]){{5, 10}});
	check("5,11,500-", 10, 1, (const struct st_interval[]){{5, 5}});
	check("11-20", 10, 0, NULL);
	check("1-", 0, 0, NULL);
	check("1-99999999999999999999999999", 10, 1, (const struct st_interval[]){{1, 10}});
	check("99999999999999999999999999-", 10, 0, NULL);
}

static void refuses_what_is_no_range_and_shows_the_form(void **state) {
	(void)state;
	refused("", "lack a number");
	refused("  ", "lack a number");
	refused("1,", "lack a number");
	refused("a-b", "not a range");
	refused("5-x", "not a range");
	refused("1-5-8", "not a range");
	refused("1,,5", "not a range");
	refused("1 5", "separated by commas");
	refused("0", "line 0");
	refused("0-5", "line 0");
	refused("5-0", "line 0");
	refused("60-50", "ends before it starts");
	refused("-5", "first lines or the last");
	refused("3,-5", "first lines or the last");
	refused("\xC3\xA9", "not a range");
}

static void refuses_more_ranges_than_the_bound(void **state) {
	(void)state;
	st_auto(st_buf) query = ST_BUF_INIT;
	for (int i = 1; i <= ST_INTERVALS_MAX; i++)
		st_buf_addf(&query, "%s%d", i > 1 ? "," : "", 2 * i);
	st_auto(st_intervals) set = {0};
	assert_int_equal(st_line_ranges_parse(st_buf_str(&query), 1000, &set, NULL), 0);
	assert_int_equal(set.count, ST_INTERVALS_MAX);
	st_buf_adds(&query, ",1");
	struct stet_error err = {0};
	assert_int_equal(st_line_ranges_parse(st_buf_str(&query), 1000, &set, &err), STET_E_INVALID);
	assert_non_null(strstr(err.message, "too many"));
	assert_non_null(strstr(err.message, "...\""));
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_the_forms_people_write),
		cmocka_unit_test(ranges_are_sorted_and_overlaps_merged),
		cmocka_unit_test(ranges_are_clamped_to_the_file),
		cmocka_unit_test(refuses_what_is_no_range_and_shows_the_form),
		cmocka_unit_test(refuses_more_ranges_than_the_bound),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
