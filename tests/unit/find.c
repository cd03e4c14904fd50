/* Finding text with line ends of any kind, compared with a slow search that is plainly right. */
#include "lib/test.h"
#include "text/find/find.h"

/* The sanitizers look at all of the text in every call of memmem(): many matches take them hours. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MANY 20000
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define MANY 20000
#endif
#endif
#ifndef MANY
#define MANY 1000000
#endif

/* A search that follows the words of text/find/find.h one by one. */
struct slow {
	struct st_str text;
	struct st_str pattern;
	bool exact;
};

static bool is_crlf(struct st_str s, size_t at) {
	return at + 1 < s.len && s.ptr[at] == '\r' && s.ptr[at + 1] == '\n';
}

static bool inside_crlf(struct st_str s, size_t at) {
	return at > 0 && is_crlf(s, at - 1);
}

/* Where a match that starts at `at` ends; 0 if there is none. */
static size_t slow_match(const struct slow *slow, size_t at) {
	struct st_str text = slow->text, pattern = slow->pattern;
	if (slow->exact) {
		bool same = st_str_starts(st_str_slice(text, at, text.len), pattern);
		return same ? at + pattern.len : 0;
	}
	for (size_t i = 0; i < pattern.len; i++) {
		bool crlf = is_crlf(pattern, i);
		if (crlf || pattern.ptr[i] == '\n') {
			if (is_crlf(text, at))
				at += 2;
			else if (at < text.len && text.ptr[at] == '\n' && !inside_crlf(text, at))
				at += 1;
			else
				return 0;
			i += crlf;
		} else if (at < text.len && text.ptr[at] == pattern.ptr[i]) {
			at++;
		} else {
			return 0;
		}
	}
	bool plain = !memchr(pattern.ptr, '\n', pattern.len);
	return inside_crlf(text, at) && !plain ? 0 : at;
}

static size_t slow_find(const struct slow *slow, struct st_span *spans, size_t max) {
	size_t bom = st_bom_len(slow->text), count = 0;
	for (size_t at = st_bom_len(slow->pattern) ? 0 : bom; at < slow->text.len && count < max;) {
		size_t end = slow_match(slow, at);
		if (!end) {
			at++;
			continue;
		}
		spans[count++] = (struct st_span){at == 0 && end > bom ? bom : at, end};
		at = end;
	}
	return count;
}

static size_t slow_spans(struct st_str text, struct st_str pattern, struct st_span *spans,
                         size_t max) {
	struct slow slow = {text, pattern, true};
	bool has_cr = memchr(pattern.ptr, '\r', pattern.len) != NULL;
	if (pattern.ptr[0] != '\n' && has_cr) {
		size_t count = slow_find(&slow, spans, max);
		if (count)
			return count;
	}
	slow.exact = false;
	return slow_find(&slow, spans, max);
}

static size_t fast_spans(struct st_str text, struct st_str pattern, struct st_span *spans,
                         size_t max) {
	st_auto(st_find) find = {0};
	size_t count = 0;
	assert_int_equal(st_find_init(&find, text, pattern, NULL), 0);
	while (count < max && st_find_next(&find, &spans[count]))
		count++;
	return count;
}

/* The matches as "start-end" words. */
static const char *found(struct st_str text, struct st_str pattern) {
	static char words[256];
	struct st_span spans[16];
	size_t count = fast_spans(text, pattern, spans, 16);
	words[0] = '\0';
	for (size_t i = 0; i < count; i++) {
		size_t len = strlen(words);
		snprintf(words + len, sizeof words - len, "%s%zu-%zu", i ? " " : "", spans[i].start,
		         spans[i].end);
	}
	return words;
}

#define assert_found(text, pattern, expected) \
	assert_string_equal(found(ST_STR(text), ST_STR(pattern)), expected)

static void finds_every_occurrence_from_left_to_right(void **state) {
	(void)state;
	assert_found("abcabcab", "abc", "0-3 3-6");
	assert_found("aaaaa", "aa", "0-2 2-4");
	assert_found("abc", "abcd", "");
	assert_found("", "a", "");
	assert_found("abc", "abc", "0-3");
}

static void an_empty_pattern_is_nowhere(void **state) {
	(void)state;
	assert_found("abc", "", "");
	assert_found("", "", "");
}

static void lf_matches_every_line_end(void **state) {
	(void)state;
	assert_found("a\nb", "a\nb", "0-3");
	assert_found("a\r\nb", "a\nb", "0-4");
	assert_found("a\r\nb a\nb", "a\nb", "0-4 5-8");
	assert_found("a\n\r\n\nb", "a\n\n\nb", "0-6");
	assert_found("a\rb", "a\nb", "");
}

static void crlf_is_exact_where_it_occurs_and_a_line_end_elsewhere(void **state) {
	(void)state;
	assert_found("a\nb a\r\nb", "a\r\nb", "4-8");
	assert_found("a\nb", "a\r\nb", "0-3");
	assert_found("a\nb\r\nc", "a\r\nb\nc", "0-6");
}

static void a_crlf_is_matched_whole(void **state) {
	(void)state;
	assert_found("a\r\nb", "\nb", "1-4");
	assert_found("a\r\nb", "a\n", "0-3");
	assert_found("a\r\n\r\nb", "\n", "1-3 3-5");
	assert_found("a\nb\r\n", "\n", "1-2 3-5");
	assert_found("\r\n\r\n", "\n\n", "0-4");
	assert_found("a\r\r\n", "\n", "2-4");
	assert_found("x\r\na\r\n", "x\na\r", "");
	assert_found("x\r\na\ry\n", "x\na\r", "0-5");
}

static void a_lone_cr_is_a_byte(void **state) {
	(void)state;
	assert_found("a\rb", "a\rb", "0-3");
	assert_found("a\r\nb\r\n", "\r", "1-2 4-5");
	assert_found("a\r\n", "a\r", "0-2");
	assert_found("a\r\r\nb", "a\r\nb", "");
	assert_found("a\r\nb", "a\r\r\nb", "");
}

static void a_byte_order_mark_is_not_part_of_the_first_line(void **state) {
	(void)state;
	assert_found(
		"\xEF\xBB\xBF"
		"a\nb",
		"a", "3-4");
	assert_found(
		"\xEF\xBB\xBF"
		"a\nb",
		"\xEF\xBB\xBF"
		"a",
		"3-4");
	assert_found(
		"\xEF\xBB\xBF"
		"a\r\nb\nc",
		"\xEF\xBB\xBF"
		"a\nb",
		"3-7");
	assert_found(
		"\xEF\xBB\xBF"
		"a",
		"\xBF", "");
	assert_found(
		"\xEF\xBB\xBF"
		"a\xEF\xBB\xBF",
		"\xEF\xBB\xBF", "0-3 4-7");
	assert_found("a\n",
	             "\xEF\xBB\xBF"
	             "a",
	             "");
}

static void bytes_that_are_not_utf8_are_bytes(void **state) {
	(void)state;
	assert_found("a\xFF\x80z\xFF", "\xFF", "1-2 4-5");
	assert_found("caf\xE9 \xE9", "\xE9 ", "3-5");
}

static uint32_t next_random(uint32_t *seed) {
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

static struct st_str random_text(uint32_t *seed, char *buf, size_t max) {
	static const char *const parts[] = {"a",        "b",    "\n",  "\r\n", "\r",
	                                    "\xC3\xA9", "\xFF", "a\n", "b\r\n"};
	size_t len = 0, want = next_random(seed) % max;
	if (next_random(seed) % 8 == 0)
		len = (size_t)snprintf(buf, max, "\xEF\xBB\xBF");
	while (len < want) {
		const char *part = parts[next_random(seed) % (sizeof parts / sizeof *parts)];
		memcpy(buf + len, part, strlen(part));
		len += strlen(part);
	}
	return st_strn(buf, len);
}

static void equals_a_slow_search_on_random_texts(void **state) {
	(void)state;
	uint32_t seed = 3;
	size_t matches = 0;
	for (int round = 0; round < 200000; round++) {
		char text_buf[80], pattern_buf[16];
		struct st_str text = random_text(&seed, text_buf, 64);
		struct st_str pattern = random_text(&seed, pattern_buf, 8);
		if (pattern.len == 0)
			continue;
		struct st_span fast[80], slow[80];
		size_t count = slow_spans(text, pattern, slow, 80);
		assert_int_equal(fast_spans(text, pattern, fast, 80), count);
		assert_memory_equal(fast, slow, count * sizeof *fast);
		matches += count;
	}
	assert_true(matches > 50000);
}

static void line_ends_cost_no_more_than_a_pass(void **state) {
	(void)state;
	/* Patterns that would make a search which starts anew at every line run for hours. */
	st_auto(st_buf) text = ST_BUF_INIT;
	st_auto(st_buf) pattern = ST_BUF_INIT;
	for (int i = 0; i < 500000; i++) {
		st_buf_adds(&text, i % 1000 ? "\r\n" : "\n");
		if (i % 4 == 0)
			st_buf_adds(&pattern, "\n");
	}
	st_buf_adds(&pattern, "\r");
	struct st_span span;
	assert_int_equal(fast_spans(st_buf_str(&text), st_buf_str(&pattern), &span, 1), 0);
}

static void places_are_the_lines_of_all_matches(void **state) {
	(void)state;
	struct st_places places;
	st_auto(st_buf) words = ST_BUF_INIT;
	assert_int_equal(st_places_find(&places, ST_STR("x\nx x\r\n\rx\n"), ST_STR("x"), NULL), 0);
	assert_int_equal(places.total, 4);
	assert_int_equal(places.lines[3], 4);
	st_places_add(&words, &places, 20);
	assert_string_equal(words.ptr, "lines 1, 2 (2 times) and 4");
	st_buf_clear(&words);
	st_places_add(&words, &places, 2);
	assert_string_equal(words.ptr, "lines 1, 2 (2 times) and 1 more place");

	st_buf_clear(&words);
	assert_int_equal(st_places_find(&places, ST_STR("\nx x\n"), ST_STR("x"), NULL), 0);
	st_places_add(&words, &places, 20);
	assert_string_equal(words.ptr, "line 2 (2 times)");
	assert_int_equal(st_places_find(&places, ST_STR("abc"), ST_STR("x"), NULL), 0);
	assert_int_equal(places.total, 0);
}

static void many_matches_are_counted_and_a_thousand_kept(void **state) {
	(void)state;
	st_auto(st_buf) text = ST_BUF_INIT;
	struct st_places places;
	for (int i = 0; i < MANY; i++)
		st_buf_adds(&text, "x\n");
	assert_int_equal(st_places_find(&places, st_buf_str(&text), ST_STR("x"), NULL), 0);
	assert_int_equal(places.total, MANY);
	assert_int_equal(places.count, ST_PLACES_MAX);
	assert_int_equal(places.lines[999], 1000);
	st_auto(st_buf) words = ST_BUF_INIT;
	st_places_add(&words, &places, 3);
	char expected[64];
	snprintf(expected, sizeof expected, "lines 1, 2, 3 and %d more places", MANY - 3);
	assert_string_equal(words.ptr, expected);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_every_occurrence_from_left_to_right),
		cmocka_unit_test(an_empty_pattern_is_nowhere),
		cmocka_unit_test(lf_matches_every_line_end),
		cmocka_unit_test(crlf_is_exact_where_it_occurs_and_a_line_end_elsewhere),
		cmocka_unit_test(a_crlf_is_matched_whole),
		cmocka_unit_test(a_lone_cr_is_a_byte),
		cmocka_unit_test(a_byte_order_mark_is_not_part_of_the_first_line),
		cmocka_unit_test(bytes_that_are_not_utf8_are_bytes),
		cmocka_unit_test(equals_a_slow_search_on_random_texts),
		cmocka_unit_test(line_ends_cost_no_more_than_a_pass),
		cmocka_unit_test(places_are_the_lines_of_all_matches),
		cmocka_unit_test(many_matches_are_counted_and_a_thousand_kept),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
