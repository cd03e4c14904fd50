/* Edit lists: in order, all or nothing, never by guess. */
#include "text/patch/edits.h"

#include "lib/test.h"

static struct st_edits_failure failure;
static struct stet_error error;
static struct st_edited results[8];

#define COUNT(array) (sizeof(array) / sizeof *(array))

static int apply(const char *text, const struct st_edit *edits, size_t count, struct st_buf *out) {
	memset(results, 0x5A, sizeof results);
	error = (struct stet_error){0};
	return st_edits_apply(st_str(text), edits, count, 0, results, out, &failure, &error);
}

static void edits_are_applied_in_order_each_to_the_result_before(void **state) {
	(void)state;
	st_auto(st_buf) out = ST_BUF_INIT;
	const struct st_edit edits[] = {
		{ST_STR("one"), ST_STR("two"), false},
		{ST_STR("two two"), ST_STR("three"), false},
		{ST_STR("e"), ST_STR("$&"), true},
	};
	assert_int_equal(apply("one two\n", edits, COUNT(edits), &out), 0);
	assert_string_equal(out.ptr, "thr$&$&\n");
	assert_int_equal(results[0].replaced, 1);
	assert_int_equal(results[2].replaced, 2);
}

static void all_or_nothing(void **state) {
	(void)state;
	st_auto(st_buf) out = ST_BUF_INIT;
	const struct st_edit edits[] = {
		{ST_STR("a"), ST_STR("b"), false},
		{ST_STR("Nowhere"), ST_STR("x"), false},
		{ST_STR("c"), ST_STR("d"), false},
	};
	st_buf_adds(&out, "kept");
	assert_int_equal(apply("a c nowhere\n", edits, COUNT(edits), &out), STET_E_NO_MATCH);
	assert_string_equal(out.ptr, "kept");
	assert_int_equal(results[0].replaced, (size_t)0x5A5A5A5A5A5A5A5A);
	assert_int_equal(failure.edit, 2);
	assert_int_equal(failure.nearest.list[0].kinds, ST_FOLD_CASE);
	assert_non_null(strstr(error.message, "Edit 2 of 3: oldText not found in the file."));
	assert_non_null(strstr(error.message, "upper and lower case"));
}

static void an_old_text_that_an_earlier_edit_changed_is_called_that(void **state) {
	(void)state;
	st_auto(st_buf) out = ST_BUF_INIT;
	const struct st_edit edits[] = {
		{ST_STR("one"), ST_STR("two"), false},
		{ST_STR("one line"), ST_STR("x"), false},
	};
	assert_int_equal(apply("one line\n", edits, COUNT(edits), &out), STET_E_NO_MATCH);
	assert_non_null(strstr(error.message,
	                       "Edit 2 of 2: oldText was in the file, but an earlier edit changed it"));
}

static void several_matches_are_refused_with_their_lines(void **state) {
	(void)state;
	st_auto(st_buf) out = ST_BUF_INIT;
	const struct st_edit edit = {ST_STR("x"), ST_STR("y"), false};
	assert_int_equal(apply("x\n\nx\nx\n", &edit, 1, &out), STET_E_AMBIGUOUS);
	assert_string_equal(
		error.message,
		"oldText occurs 3 times, at lines 1, 3 and 4. Nothing was changed. Add lines "
		"around it to oldText until it is the only one, or set replaceAll to change "
		"them all.");
	assert_int_equal(failure.places.total, 3);
	assert_int_equal(failure.places.lines[2], 4);
	assert_null(out.ptr);
}

static void no_more_than_twenty_lines_are_named(void **state) {
	(void)state;
	st_auto(st_buf) text = ST_BUF_INIT;
	st_auto(st_buf) out = ST_BUF_INIT;
	const struct st_edit edit = {ST_STR("x"), ST_STR("y"), false};
	for (int i = 0; i < 100; i++)
		st_buf_adds(&text, "x\n");
	assert_int_equal(apply(text.ptr, &edit, 1, &out), STET_E_AMBIGUOUS);
	assert_non_null(strstr(error.message, "19, 20 and 80 more places"));
}

static void replace_all_replaces_them_all(void **state) {
	(void)state;
	st_auto(st_buf) out = ST_BUF_INIT;
	const struct st_edit edit = {ST_STR("x"), ST_STR("y\ny"), true};
	assert_int_equal(apply("x\n\nx\nx\n", &edit, 1, &out), 0);
	assert_string_equal(out.ptr, "y\ny\n\ny\ny\ny\ny\n");
	assert_int_equal(results[0].replaced, 3);
	assert_int_equal(results[0].first, 1);
	assert_int_equal(results[0].last, 7);
}

static void lines_are_numbered_as_after_all_edits(void **state) {
	(void)state;
	st_auto(st_buf) out = ST_BUF_INIT;
	const struct st_edit edits[] = {
		{ST_STR("late"), ST_STR("LATE\nLATE"), false},
		{ST_STR("early\n"), ST_STR("1\n2\n3\n"), false},
		{ST_STR("middle\n"), ST_STR(""), false},
		{ST_STR("end"), ST_STR("END"), false},
	};
	assert_int_equal(apply("early\nmiddle\nlate\nend\n", edits, COUNT(edits), &out), 0);
	assert_string_equal(out.ptr, "1\n2\n3\nLATE\nLATE\nEND\n");
	static const size_t lines[][2] = {{4, 5}, {1, 3}, {4, 4}, {6, 6}};
	for (size_t i = 0; i < COUNT(edits); i++) {
		assert_int_equal(results[i].first, lines[i][0]);
		assert_int_equal(results[i].last, lines[i][1]);
	}
}

static void an_edit_inside_an_earlier_one_moves_with_it(void **state) {
	(void)state;
	st_auto(st_buf) out = ST_BUF_INIT;
	const struct st_edit edits[] = {
		{ST_STR("b"), ST_STR("b1\nb2\nb3"), false},
		{ST_STR("b2\n"), ST_STR("x\ny\nz\n"), false},
		{ST_STR("z\nb3\nc"), ST_STR("z\n"), false},
	};
	assert_int_equal(apply("a\nb\nc\n", edits, COUNT(edits), &out), 0);
	assert_string_equal(out.ptr, "a\nb1\nx\ny\nz\n\n");
	assert_int_equal(results[0].first, 2);
	assert_int_equal(results[0].last, 5);
	assert_int_equal(results[1].first, 3);
	assert_int_equal(results[1].last, 5);
	assert_int_equal(results[2].first, 5);
	assert_int_equal(results[2].last, 5);
}

static void an_edit_that_changes_nothing_is_said_to(void **state) {
	(void)state;
	st_auto(st_buf) out = ST_BUF_INIT;
	const struct st_edit edits[] = {
		{ST_STR("a\nb"), ST_STR("a\nb"), false},
		{ST_STR("c"), ST_STR("d"), false},
	};
	assert_int_equal(apply("a\r\nb a\r\nb c\n", edits, COUNT(edits), &out), 0);
	assert_string_equal(out.ptr, "a\r\nb a\r\nb d\n");
	assert_true(results[0].noop);
	assert_int_equal(results[0].replaced, 0);
	assert_false(results[1].noop);
}

static void an_empty_old_text_is_refused_by_number(void **state) {
	(void)state;
	st_auto(st_buf) out = ST_BUF_INIT;
	const struct st_edit edits[] = {
		{ST_STR("a"), ST_STR("b"), false},
		{ST_STR(""), ST_STR("x"), true},
	};
	assert_int_equal(apply("a", edits, COUNT(edits), &out), STET_E_INVALID);
	assert_non_null(strstr(error.message, "Edit 2 of 2: oldText is empty."));
}

static void line_ends_follow_the_file(void **state) {
	(void)state;
	st_auto(st_buf) out = ST_BUF_INIT;
	const struct st_edit edits[] = {
		{ST_STR("one\ntwo"), ST_STR("1\n2\n3"), false},
		{ST_STR("2\n3\n"), ST_STR("2\n2.5\n3\n"), false},
	};
	assert_int_equal(apply("zero\r\none\r\ntwo\r\n", edits, COUNT(edits), &out), 0);
	assert_string_equal(out.ptr, "zero\r\n1\r\n2\r\n2.5\r\n3\r\n");
}

static void no_edits_leave_the_text_alone(void **state) {
	(void)state;
	st_auto(st_buf) out = ST_BUF_INIT;
	assert_int_equal(apply("a\n", NULL, 0, &out), 0);
	assert_string_equal(out.ptr, "a\n");
}

static void a_growing_text_meets_its_limit(void **state) {
	(void)state;
	st_auto(st_buf) out = ST_BUF_INIT;
	struct st_edit edits[8];
	for (size_t i = 0; i < COUNT(edits); i++)
		edits[i] = (struct st_edit){ST_STR("a"), ST_STR("aaaaaaaaaa"), true};
	assert_int_equal(
		st_edits_apply(ST_STR("a"), edits, COUNT(edits), 5000, results, &out, NULL, &error),
		STET_E_TOO_BIG);
	assert_int_equal(st_edits_apply(ST_STR("a"), edits, 3, 5000, results, &out, NULL, &error), 0);
	assert_int_equal(out.len, 1000);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(edits_are_applied_in_order_each_to_the_result_before),
		cmocka_unit_test(all_or_nothing),
		cmocka_unit_test(an_old_text_that_an_earlier_edit_changed_is_called_that),
		cmocka_unit_test(several_matches_are_refused_with_their_lines),
		cmocka_unit_test(no_more_than_twenty_lines_are_named),
		cmocka_unit_test(replace_all_replaces_them_all),
		cmocka_unit_test(lines_are_numbered_as_after_all_edits),
		cmocka_unit_test(an_edit_inside_an_earlier_one_moves_with_it),
		cmocka_unit_test(an_edit_that_changes_nothing_is_said_to),
		cmocka_unit_test(an_empty_old_text_is_refused_by_number),
		cmocka_unit_test(line_ends_follow_the_file),
		cmocka_unit_test(no_edits_leave_the_text_alone),
		cmocka_unit_test(a_growing_text_meets_its_limit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
