/* What an answer shows of a text: the lines around a change, previews, quotations. */
#include "text/hint/context.h"

#include "lib/test.h"

/* The context of a span as "1:a 2:b | 5:c". */
static const char *around(const char *text, size_t start, size_t end) {
	static char words[1024];
	struct st_span span = {start, end};
	st_auto(st_context) context = {0};
	struct st_touched touched = st_touched_of(st_str(text), span);
	assert_int_equal(st_context_of_span(&context, st_str(text), span, touched, NULL), 0);

	st_auto(st_buf) buf = ST_BUF_INIT;
	for (size_t i = 0; i < context.before_count; i++)
		st_buf_addf(&buf, "%zu:%s ", context.before[i].number,
		            st_buf_cstr(&context.before[i].text));
	st_buf_adds(&buf, "|");
	for (size_t i = 0; i < context.after_count; i++)
		st_buf_addf(&buf, " %zu:%s", context.after[i].number, st_buf_cstr(&context.after[i].text));
	snprintf(words, sizeof words, "%s", buf.ptr);
	return words;
}

static void three_lines_before_and_after(void **state) {
	(void)state;
	const char *text = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
	assert_string_equal(around(text, 8, 9), "2:2 3:3 4:4 | 6:6 7:7 8:8");
	assert_string_equal(around(text, 8, 13), "2:2 3:3 4:4 | 8:8 9:9");
	assert_string_equal(around(text, 0, 1), "| 2:2 3:3 4:4");
	assert_string_equal(around(text, 2, 3), "1:1 | 3:3 4:4 5:5");
	assert_string_equal(around(text, 16, 18), "6:6 7:7 8:8 |");
}

static void nothing_lies_between_where_whole_lines_went(void **state) {
	(void)state;
	assert_string_equal(around("1\n2\n3\n", 2, 2), "1:1 | 2:2 3:3");
	assert_string_equal(around("1\n2\n3\n", 0, 0), "| 1:1 2:2 3:3");
	assert_string_equal(around("1\n2\n3\n", 6, 6), "1:1 2:2 3:3 |");
	assert_string_equal(around("1\n22\n3\n", 3, 3), "1:1 | 3:3");
	assert_string_equal(around("", 0, 0), "|");
}

static void every_line_ending_counts_and_none_is_shown(void **state) {
	(void)state;
	assert_string_equal(around("a\r\nb\rc\nX\r\nd\re", 7, 8), "1:a 2:b 3:c | 5:d 6:e");
	assert_string_equal(around("\xEF\xBB\xBF"
	                           "a\n\nX",
	                           6, 7),
	                    "1:a 2: |");
}

static void long_lines_are_cut(void **state) {
	(void)state;
	st_auto(st_buf) text = ST_BUF_INIT;
	for (int i = 0; i < 300; i++)
		st_buf_adds(&text, "\xE2\x82\xAC");
	st_buf_adds(&text, "\nX\n\xFF\n");
	const char *words = around(text.ptr, 901, 902);
	assert_int_equal(strlen(words), 2 + 600 + 3 + 1 + 1 + 6);
	assert_non_null(strstr(words, "\xE2\x82\xAC... | 3:\xEF\xBF\xBD"));
}

static void touched_lines_are_numbered_in_the_text(void **state) {
	(void)state;
	static const struct {
		const char *text;
		struct st_span span;
		struct st_touched touched;
	} cases[] = {
		{"a\nb\nc", {2, 3}, {2, 2, 3}}, {"a\nb\nc", {0, 5}, {1, 3, 3}},
		{"a\nb\nc", {2, 4}, {2, 2, 3}}, {"a\nb\n", {4, 4}, {2, 2, 2}},
		{"a\nb\n", {2, 2}, {2, 2, 2}},  {"", {0, 0}, {1, 1, 0}},
		{"a\r\nb", {1, 2}, {1, 1, 2}},  {"a\r\nb", {0, 3}, {1, 1, 2}},
		{"a\rb\r", {2, 4}, {2, 2, 2}},  {"\n\n\n", {1, 2}, {2, 2, 3}},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct st_touched touched = st_touched_of(st_str(cases[i].text), cases[i].span);
		assert_memory_equal(&touched, &cases[i].touched, sizeof touched);
	}
}

static void context_of_lines_is_that_of_their_bytes(void **state) {
	(void)state;
	struct st_str text = ST_STR("1\n2\r\n3\r4\n5\n6");
	st_auto(st_lines) lines = {0};
	assert_int_equal(st_lines_init(&lines, text, NULL), 0);
	for (size_t first = 1; first <= lines.count; first++) {
		for (size_t last = first; last <= lines.count; last++) {
			struct st_span span = {lines.starts[first - 1], lines.starts[last]};
			st_auto(st_context) by_span = {0};
			st_auto(st_context) by_lines = {0};
			assert_int_equal(
				st_context_of_span(&by_span, text, span, st_touched_of(text, span), NULL), 0);
			assert_int_equal(st_context_of_lines(&by_lines, text, first, last, NULL), 0);
			assert_int_equal(by_span.before_count, by_lines.before_count);
			assert_int_equal(by_span.after_count, by_lines.after_count);
			for (size_t i = 0; i < by_span.after_count; i++) {
				assert_int_equal(by_span.after[i].number, by_lines.after[i].number);
				assert_string_equal(by_span.after[i].text.ptr, by_lines.after[i].text.ptr);
			}
		}
	}
	st_auto(st_context) gap = {0};
	assert_int_equal(st_context_of_lines(&gap, text, 3, 2, NULL), 0);
	assert_int_equal(gap.before[gap.before_count - 1].number, 2);
	assert_int_equal(gap.after[0].number, 3);
}

static void lines_far_down_are_found(void **state) {
	(void)state;
	static const char *const eols[] = {"\n", "\r\n", "\r"};
	st_auto(st_buf) text = ST_BUF_INIT;
	for (int i = 1; i <= 20000; i++)
		st_buf_addf(&text, "%d%s", i, eols[i * 7 % 3]);
	for (size_t first = 2; first < 20000; first += 397) {
		st_auto(st_context) context = {0};
		assert_int_equal(st_context_of_lines(&context, st_buf_str(&text), first, first, NULL), 0);
		const struct st_context_line *before = &context.before[context.before_count - 1];
		char number[32];
		snprintf(number, sizeof number, "%zu", first - 1);
		assert_int_equal(before->number, first - 1);
		assert_string_equal(before->text.ptr, number);
		snprintf(number, sizeof number, "%zu", first + 1);
		assert_string_equal(context.after[0].text.ptr, number);
	}
}

static void a_preview_has_two_hundred_characters(void **state) {
	(void)state;
	st_auto(st_buf) text = ST_BUF_INIT;
	st_auto(st_buf) shown = ST_BUF_INIT;
	for (int i = 0; i < 200; i++)
		st_buf_adds(&text, "x");
	st_preview_add(&shown, st_buf_str(&text));
	assert_string_equal(shown.ptr, text.ptr);
	st_buf_adds(&text, "\xFF");
	st_buf_clear(&shown);
	st_preview_add(&shown, st_buf_str(&text));
	assert_int_equal(shown.len, 203);
	assert_string_equal(shown.ptr + 199, "x...");
}

static const char *quoted(struct st_str text, size_t max) {
	static char words[256];
	st_auto(st_buf) buf = ST_BUF_INIT;
	st_quote_text(&buf, text, max);
	assert_true(buf.len <= max);
	snprintf(words, sizeof words, "%s", buf.ptr);
	return words;
}

static void a_quotation_shows_what_cannot_be_seen(void **state) {
	(void)state;
	assert_string_equal(quoted(ST_STR("\ta \"b\" \\ c\r\n"), 99),
	                    "\"\\ta \\\"b\\\" \\\\ c\\r\\n\"");
	assert_string_equal(quoted(ST_STR("\xC2\xA0\xE2\x80\x8B\0\x7F"), 99),
	                    "\"\\u00a0\\u200b\\u0000\\u007f\"");
	assert_string_equal(quoted(ST_STR("\xC3\xA9\xE2\x80\x99\xFF"), 99),
	                    "\"\xC3\xA9\xE2\x80\x99\xEF\xBF\xBD\"");
}

static void a_quotation_is_cut_between_characters(void **state) {
	(void)state;
	assert_string_equal(quoted(ST_STR("abcdefgh"), 10), "\"abcde\"...");
	assert_string_equal(quoted(ST_STR("abcd\n\n\n\n"), 10), "\"abcd\"...");
	assert_string_equal(quoted(ST_STR("abcd"), 10), "\"abcd\"");
	assert_string_equal(quoted(ST_STR("ab\xC2\xA0\xC2\xA0"), 12), "\"ab\"...");
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(three_lines_before_and_after),
		cmocka_unit_test(nothing_lies_between_where_whole_lines_went),
		cmocka_unit_test(every_line_ending_counts_and_none_is_shown),
		cmocka_unit_test(long_lines_are_cut),
		cmocka_unit_test(touched_lines_are_numbered_in_the_text),
		cmocka_unit_test(context_of_lines_is_that_of_their_bytes),
		cmocka_unit_test(lines_far_down_are_found),
		cmocka_unit_test(a_preview_has_two_hundred_characters),
		cmocka_unit_test(a_quotation_shows_what_cannot_be_seen),
		cmocka_unit_test(a_quotation_is_cut_between_characters),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
