/* Lines: every kind of ending, and the text comes back from its lines. */
#include "lib/test.h"
#include "text/lines/lines.h"

static void check_lines(struct st_str text, size_t count, const char *const *bodies) {
	st_auto(st_lines) lines = {0};
	assert_int_equal(st_lines_init(&lines, text, NULL), 0);
	assert_int_equal(lines.count, count);
	assert_int_equal(st_line_count(text), count);
	st_auto(st_buf) joined = ST_BUF_INIT;
	for (size_t n = 1; n <= count; n++) {
		assert_true(st_str_eq(st_lines_body(&lines, n), st_str(bodies[n - 1])));
		st_buf_add(&joined, st_lines_whole(&lines, n));
	}
	assert_true(st_str_eq(st_buf_str(&joined), text));
}

static void an_empty_text_has_no_lines(void **state) {
	(void)state;
	check_lines(ST_STR(""), 0, NULL);
}

static void every_ending_ends_a_line(void **state) {
	(void)state;
	check_lines(ST_STR("a\nb\r\nc\rd"), 4, (const char *[]){"a", "b", "c", "d"});
	check_lines(ST_STR("a\r\n\r\nb\r\n"), 3, (const char *[]){"a", "", "b"});
	check_lines(ST_STR("\r\r\n\n\r"), 4, (const char *[]){"", "", "", ""});
	check_lines(ST_STR("\n"), 1, (const char *[]){""});
	check_lines(ST_STR("no newline"), 1, (const char *[]){"no newline"});
}

static void an_offset_is_found_in_its_line(void **state) {
	(void)state;
	struct st_str text = ST_STR("ab\r\ncd\re\n\nf");
	st_auto(st_lines) lines = {0};
	assert_int_equal(st_lines_init(&lines, text, NULL), 0);
	static const size_t expected[] = {1, 1, 1, 1, 2, 2, 2, 3, 3, 4, 5};
	for (size_t i = 0; i < text.len; i++) {
		assert_int_equal(st_lines_number(&lines, i), expected[i]);
		assert_int_equal(st_line_ends(text, i) + 1, expected[i]);
	}
	assert_int_equal(st_lines_number(&lines, text.len), 5);
}

static void inserted_lines_take_the_ending_of_most(void **state) {
	(void)state;
	assert_int_equal(st_eol_of_text(ST_STR("")), ST_EOL_LF);
	assert_int_equal(st_eol_of_text(ST_STR("a\r\nb\r\nc\n")), ST_EOL_CRLF);
	assert_int_equal(st_eol_of_text(ST_STR("a\r\nb\n")), ST_EOL_LF);
	assert_int_equal(st_eol_of_text(ST_STR("a\rb\r")), ST_EOL_CR);
}

/* Every length and offset around the sixteen bytes that are counted at once, and a count beyond 255. */
static void counting_at_once_equals_counting_one_by_one(void **state) {
	(void)state;
	static const char bytes[] = "a\nb\n\r\r\n\nb\r\n";
	char text[9000];
	uint32_t seed = 1;
	for (size_t len = 0; len < sizeof text; len += len < 70 ? 1 : 1787) {
		/* Every other text has no CR. */
		size_t kinds = len % 2 ? 4 : sizeof bytes - 1;
		for (size_t i = 0; i < len; i++) {
			seed = seed * 1664525u + 1013904223u;
			text[i] = bytes[(seed >> 16) % kinds];
		}
		struct st_eols expected = {0};
		size_t ends = 0;
		for (size_t i = 0; i <= len; i++) {
			assert_int_equal(st_line_ends(st_strn(text, len), i), ends);
			assert_true(st_line_offset(st_strn(text, len), ends + 1) <= i);
			if (i == len)
				break;
			bool crlf = text[i] == '\r' && i + 1 < len && text[i + 1] == '\n';
			bool end = text[i] == '\n' || (text[i] == '\r' && !crlf);
			ends += end;
			if (end)
				assert_int_equal(st_line_offset(st_strn(text, len), ends + 1), i + 1);
			expected.crlf += crlf;
			expected.cr += text[i] == '\r' && !crlf;
			expected.lf += text[i] == '\n' && !(i > 0 && text[i - 1] == '\r');
		}
		assert_int_equal(st_line_offset(st_strn(text, len), ends + 2), len);
		struct st_eols eols = st_eols_count(st_strn(text, len));
		assert_memory_equal(&eols, &expected, sizeof eols);
	}
}

static void a_line_is_found_around_each_offset(void **state) {
	(void)state;
	struct st_str text = ST_STR("ab\r\ncd\re\n\n\r\r\nf");
	st_auto(st_lines) lines = {0};
	assert_int_equal(st_lines_init(&lines, text, NULL), 0);
	for (size_t i = 0; i < text.len; i++) {
		size_t n = st_lines_number(&lines, i);
		assert_int_equal(st_line_start(text, i), lines.starts[n - 1]);
		assert_int_equal(st_line_end(text, i), lines.starts[n]);
	}
	assert_int_equal(st_line_start(ST_STR("a\n"), 2), 2);
	assert_int_equal(st_line_end(ST_STR("a\n"), 2), 2);
}

static void line_ends_are_converted_but_not_a_lone_cr(void **state) {
	(void)state;
	st_auto(st_buf) buf = ST_BUF_INIT;
	st_eol_convert(&buf, ST_STR("a\nb\r\nc\rd\r\r\n"), ST_EOL_CRLF);
	assert_string_equal(buf.ptr, "a\r\nb\r\nc\rd\r\r\n");
	st_buf_clear(&buf);
	st_eol_convert(&buf, ST_STR("\r\n\nx"), ST_EOL_LF);
	assert_string_equal(buf.ptr, "\n\nx");
}

static void a_byte_order_mark_is_seen(void **state) {
	(void)state;
	assert_int_equal(st_bom_len(ST_STR("\xEF\xBB\xBF# x")), 3);
	assert_int_equal(st_bom_len(ST_STR("\xEF\xBB")), 0);
}

static void millions_of_lone_crs_are_indexed_in_linear_time(void **state) {
	(void)state;
	size_t len = 4 << 20;
	st_autofree char *text = malloc(len);
	memset(text, '\r', len);
	st_auto(st_lines) lines = {0};
	alarm(20);
	assert_int_equal(st_lines_init(&lines, st_strn(text, len), NULL), 0);
	alarm(0);
	assert_int_equal(lines.count, len);
}

static void lone_crs_are_taken_one_by_one_in_linear_time(void **state) {
	(void)state;
	size_t len = 4 << 20, at = 0, count = 0;
	st_autofree char *text = malloc(len);
	memset(text, '\r', len);
	alarm(20);
	for (; at < len; count++)
		at = st_line_end(st_strn(text, len), at);
	assert_int_equal(count, len);
	for (; at > 0; count--)
		at = st_line_start(st_strn(text, len), at - 1);
	assert_int_equal(count, 0);
	alarm(0);
}

static void a_long_line_is_found_whole(void **state) {
	(void)state;
	char text[5000];
	for (size_t end = 1; end < sizeof text; end += 97) {
		memset(text, 'x', sizeof text);
		text[end] = '\n';
		text[end - 1] = '\r';
		assert_int_equal(st_line_end(st_strn(text, sizeof text), 0), end + 1);
		assert_int_equal(st_line_start(st_strn(text, sizeof text), sizeof text), end + 1);
		assert_int_equal(st_line_start(st_strn(text, sizeof text), end), 0);
	}
}

/* An index reuses the lines that its text shares with another, at the start or at the end. */
static void an_index_can_be_made_from_a_similar_one(void **state) {
	(void)state;
	static const struct {
		const char *known, *text;
		size_t head, tail;
	} cases[] = {
		{"a\nb\nc\n", "a\nx\ny\nc\n", 1, 1},
		{"a\nb\nc\n", "a\nc\n", 1, 1},
		{"a\nb", "a\nb\nc", 1, 0},
		{"a\nb\rc\n", "x\r\na\nb\rc\n", 0, 2},
		{"a\nb", "long\nb", 0, 1},
		{"", "a\n\nb", 0, 0},
		{"a\nb\n", "", 0, 0},
		{"a\nb\n", "a\nb\n", 2, 0},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		st_auto(st_lines) known = {0};
		st_auto(st_lines) lines = {0};
		st_auto(st_lines) full = {0};
		struct st_str text = st_str(cases[i].text);
		assert_int_equal(st_lines_init_lf(&known, st_str(cases[i].known), NULL), 0);
		assert_int_equal(st_lines_init_lf(&full, text, NULL), 0);
		assert_int_equal(
			st_lines_init_near(&lines, text, &known, cases[i].head, cases[i].tail, NULL), 0);
		assert_int_equal(lines.count, full.count);
		assert_memory_equal(lines.starts, full.starts, (full.count + 1) * sizeof *full.starts);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_text_has_no_lines),
		cmocka_unit_test(every_ending_ends_a_line),
		cmocka_unit_test(an_offset_is_found_in_its_line),
		cmocka_unit_test(inserted_lines_take_the_ending_of_most),
		cmocka_unit_test(counting_at_once_equals_counting_one_by_one),
		cmocka_unit_test(a_line_is_found_around_each_offset),
		cmocka_unit_test(line_ends_are_converted_but_not_a_lone_cr),
		cmocka_unit_test(a_byte_order_mark_is_seen),
		cmocka_unit_test(millions_of_lone_crs_are_indexed_in_linear_time),
		cmocka_unit_test(lone_crs_are_taken_one_by_one_in_linear_time),
		cmocka_unit_test(a_long_line_is_found_whole),
		cmocka_unit_test(an_index_can_be_made_from_a_similar_one),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
