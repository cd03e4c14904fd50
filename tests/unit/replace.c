/* Replacing: only what was asked changes, and the answer tells the truth about it. */
#include "text/patch/replace.h"

#include "lib/test.h"

/* The sanitizers look at all of the text in every call of memmem(): many matches take them hours. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MANY 20000
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define MANY 20000
#endif
#endif
#ifndef MANY
#define MANY 10000000
#endif

#define BOM "\xEF\xBB\xBF"

/* One replacement, its result and its error, released with the next one. */
static struct st_replaced done;
static struct stet_error error;

static int apply(struct st_str text, struct st_str old_text, struct st_str new_text,
                 const char *occurrence) {
	struct st_replace request = {.old_text = old_text, .new_text = new_text};
	st_replaced_release(&done);
	memset(&done, 0, sizeof done);
	memset(&error, 0, sizeof error);
	assert_int_equal(st_occurrence_parse(&request.occurrence, st_str(occurrence), NULL), 0);
	return st_replace_apply(text, &request, &done, &error);
}

static int forget(void **state) {
	(void)state;
	st_replaced_release(&done);
	return 0;
}

static void check_replaced(struct st_str text, struct st_str old_text, struct st_str new_text,
                           const char *occurrence, struct st_str expected) {
	assert_int_equal(apply(text, old_text, new_text, occurrence), 0);
	assert_true(st_str_eq(st_buf_str(&done.text), expected));
}

static void check_refused(struct st_str text, struct st_str old_text, const char *occurrence,
                          int code) {
	assert_int_equal(apply(text, old_text, ST_STR("x"), occurrence), code);
	assert_int_equal(error.code, code);
	assert_null(done.text.ptr);
}

/* For literals, which may hold NULs. */
#define assert_replaced(from, before, after, which, to) \
	check_replaced(ST_STR(from), ST_STR(before), ST_STR(after), which, ST_STR(to))
#define assert_refused(from, before, which, result) \
	check_refused(ST_STR(from), ST_STR(before), which, result)
#define assert_says(words) assert_non_null(strstr(error.message, words))

static void replaces_the_only_occurrence(void **state) {
	(void)state;
	assert_replaced("one two three\n", "two", "2", "first", "one 2 three\n");
	assert_int_equal(done.found.total, 1);
	assert_int_equal(done.replaced, 1);
	assert_int_equal(done.others.total, 0);
	assert_false(done.noop);
}

static void replaces_the_first_the_last_the_nth_or_all(void **state) {
	(void)state;
	assert_replaced("a b a b a\n", "a", "x", "first", "x b a b a\n");
	assert_replaced("a b a b a\n", "a", "x", "LAST", "a b a b x\n");
	assert_replaced("a b a b a\n", "a", "x", "2", "a b x b a\n");
	assert_replaced("a b a b a\n", "a", "x", "All", "x b x b x\n");
	assert_int_equal(done.replaced, 3);
	assert_replaced("aaaa", "aa", "a", "all", "aa");
}

static void replaces_across_lines(void **state) {
	(void)state;
	assert_replaced("one\ntwo\nthree\nfour\n", "two\nthree", "2\n2.5\n3", "first",
	                "one\n2\n2.5\n3\nfour\n");
	assert_int_equal(done.touched.first, 2);
	assert_int_equal(done.touched.last, 4);
	assert_int_equal(done.touched.total, 5);
}

static void nothing_in_the_texts_is_special(void **state) {
	(void)state;
	assert_replaced("cost: $1 \\1 &", "$1 \\1 &", "$& $$ $0 \\0 %s", "first",
	                "cost: $& $$ $0 \\0 %s");
	assert_replaced("a.c abc", "a.c", ".*", "all", ".* abc");
	assert_replaced("a\0b\0", "\0b", "\0\0", "first", "a\0\0\0");
}

static void the_text_may_become_empty_or_come_from_one_place(void **state) {
	(void)state;
	assert_replaced("abc", "abc", "", "first", "");
	assert_int_equal(done.touched.first, 1);
	assert_int_equal(done.touched.last, 1);
	assert_int_equal(done.touched.total, 0);
	assert_replaced("abc", "a", "a", "first", "abc");
}

/* Fault 6 of the predecessor: unknown words meant "first". */
static void an_occurrence_is_first_last_all_or_a_number(void **state) {
	(void)state;
	static const char *const bad[] = {"0",      "-1", "abc", "",    "00", "1.5", " 1",
	                                  "first ", "1x", "+1",  "any", "al", "\n",  "\xFF"};
	struct st_occurrence occurrence = {ST_ALL, 7};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct stet_error err = {0};
		assert_int_equal(st_occurrence_parse(&occurrence, st_str(bad[i]), &err), STET_E_INVALID);
		assert_non_null(strstr(err.message, "\"first\", \"last\", \"all\", or a number"));
		assert_int_equal(occurrence.which, ST_ALL);
	}
	assert_int_equal(st_occurrence_parse(&occurrence, ST_STR("fIrSt"), NULL), 0);
	assert_int_equal(occurrence.which, ST_FIRST);
	assert_int_equal(st_occurrence_parse(&occurrence, ST_STR("012"), NULL), 0);
	assert_int_equal(occurrence.which, ST_NTH);
	assert_int_equal(occurrence.number, 12);
}

static void an_occurrence_beyond_the_last_is_refused_with_the_lines(void **state) {
	(void)state;
	assert_refused("a\n\na a\n", "a", "4", STET_E_INVALID);
	assert_says(
		"\"occurrence\" 4 is out of range: oldText occurs 3 times, at lines 1 and 3 (2 times)");
	assert_says("a number from 1 to 3");
	assert_int_equal(done.found.total, 3);
	assert_refused("a\n", "a", "99999999999999999999999999", STET_E_INVALID);
	assert_says("occurs 1 time, at line 1.");
}

/* Fault 14 of the predecessor: an endless loop. Complaint 18: matching the empty string. */
static void empty_old_text_is_refused(void **state) {
	(void)state;
	assert_refused("abc\n", "", "all", STET_E_INVALID);
	assert_says("oldText is empty");
	assert_refused("", "", "first", STET_E_INVALID);
}

/* As a tool does that starts over because somebody else changed the file. */
static void a_released_result_starts_from_nothing(void **state) {
	(void)state;
	struct st_replaced result = {0};
	struct st_replace request = {.old_text = ST_STR("x"), .new_text = ST_STR("y")};
	for (int i = 0; i < 2; i++) {
		assert_int_equal(st_replace_apply(ST_STR("x x\n"), &request, &result, NULL), 0);
		assert_string_equal(result.text.ptr, "y x\n");
		assert_int_equal(result.found.total, 2);
		assert_int_equal(result.others.total, 1);
		st_replaced_release(&result);
	}
}

static void equal_texts_are_a_noop_if_they_are_there(void **state) {
	(void)state;
	assert_replaced("a b a\n", "a", "a", "all", "a b a\n");
	assert_true(done.noop);
	assert_int_equal(done.replaced, 0);
	assert_int_equal(done.found.total, 2);
	assert_replaced("a\r\nb\r\n", "a\nb", "a\nb", "first", "a\r\nb\r\n");
	assert_true(done.noop);
	assert_refused("a b\n", "c", "first", STET_E_NO_MATCH);
}

/* Complaint 13: whole files or single lines flipped to LF. */
static void inserted_lines_take_the_ending_of_their_place(void **state) {
	(void)state;
	assert_replaced("a\r\nb\r\nc\r\n", "a\nb", "1\n2\n3", "first", "1\r\n2\r\n3\r\nc\r\n");
	assert_replaced("a\r\nb\r\nc\r\n", "b", "1\n2", "first", "a\r\n1\r\n2\r\nc\r\n");
	assert_replaced("a\nb\n", "b", "1\r\n2", "first", "a\n1\n2\n");
	assert_replaced("a\rb\rc", "b", "1\n2", "first", "a\r1\r2\rc");
	/* Mixed: the place decides, then the majority. */
	assert_replaced("a\r\nb\r\nc\nd\n", "c\nd", "1\n2\n3", "first", "a\r\nb\r\n1\n2\n3\n");
	assert_replaced("a\r\nb\r\nc\nd\r\n", "d", "1\n2", "first", "a\r\nb\r\nc\n1\r\n2\r\n");
	assert_replaced("a\r\nb\nc\r\n", "a\nb\nc", "1\n2\n3", "first", "1\r\n2\r\n3\r\n");
	assert_replaced("a\r\nb a\nb\n", "a\nb", "1\n2", "all", "1\r\n2 1\n2\n");
}

static void line_ends_are_converted_if_that_is_all_that_differs(void **state) {
	(void)state;
	assert_replaced("a\r\nb\r\n", "\r\n", "\n", "all", "a\nb\n");
	assert_replaced("a\nb\r\n", "\n", "\r\n", "all", "a\r\nb\r\n");
	assert_int_equal(done.replaced, 2);
	assert_replaced("a\r\nb\r\n", "a\r\nb", "a\nb", "first", "a\nb\r\n");
	assert_replaced("a\r\nb\r\n", "\r", "", "all", "a\nb\n");
	assert_replaced("a\rb\r", "\r", "\n", "all", "a\nb\n");
	assert_replaced("a\nb\n", "a\r\nb", "a\nb", "first", "a\nb\n");
	assert_true(done.noop);
}

static void a_text_without_line_ends_takes_new_ones_as_they_are(void **state) {
	(void)state;
	assert_replaced("abc", "b", "\r\n", "first", "a\r\nc");
	assert_replaced("abc", "b", "\n", "first", "a\nc");
}

static void no_carriage_return_is_left_behind(void **state) {
	(void)state;
	assert_replaced("a\r\nb\r\n", "\nb", "", "first", "a\r\n");
	assert_replaced("a\r\nb\r\n", "\nb", "\nc", "first", "a\r\nc\r\n");
	assert_replaced("a\r\n\r\nb\r\n", "\n\n", "\n", "first", "a\r\nb\r\n");
	/* A CR that the caller names itself is another matter. */
	assert_replaced("foo\r\nbar\r\n", "foo\r", "fuu\r", "first", "fuu\r\nbar\r\n");
}

static void a_byte_order_mark_stays_and_is_never_doubled(void **state) {
	(void)state;
	assert_replaced(BOM "a\nb\n", "a", "x", "first", BOM "x\nb\n");
	assert_replaced(BOM "a\nb\n", BOM "a", "x", "first", BOM "x\nb\n");
	assert_replaced(BOM "a\nb\n", "a", BOM "x", "first", BOM "x\nb\n");
	assert_replaced(BOM "a\nb\n", BOM "a", BOM "x", "first", BOM "x\nb\n");
	assert_replaced(BOM "a\nb\n", "a\nb\n", "", "first", BOM);
	assert_replaced(BOM "a\n", BOM, "", "first", "a\n");
	assert_replaced("a\n", "a", BOM "x", "first", BOM "x\n");
	assert_int_equal(done.touched.first, 1);
}

/* Complaint 14: an edit in ASCII turned every other byte into U+FFFD. */
static void bytes_that_are_not_utf8_survive(void **state) {
	(void)state;
	assert_replaced("caf\xE9 one \xFF\x80\n", "one", "two", "first", "caf\xE9 two \xFF\x80\n");
	assert_replaced("caf\xE9 one\n", "caf\xE9", "tea", "first", "tea one\n");
	assert_string_equal(done.before.ptr, "caf\xEF\xBF\xBD");
}

/* Complaint 16: tabs and spaces look alike. Nothing matches by luck, and the error says why. */
static void tabs_do_not_match_spaces_and_the_error_says_so(void **state) {
	(void)state;
	assert_refused("if (x) {\n\treturn;\n}\n", "    return;", "first", STET_E_NO_MATCH);
	assert_says(
		"line 2, different in indentation (line 1 of it begins with 1 tab in the file and 4 "
		"spaces in oldText)");
	assert_says("\"\\treturn;\"");
	assert_int_equal(done.nearest.count, 1);
	assert_int_equal(done.nearest.list[0].first, 2);
	assert_int_equal(done.nearest.list[0].kinds, ST_FOLD_INDENT);
}

/* Complaint 17: curly quotes cannot be matched, cannot be changed, or are introduced silently. */
static void quotes_are_bytes_and_the_error_names_them(void **state) {
	(void)state;
	assert_refused("it\xE2\x80\x99s\n", "it's", "first", STET_E_NO_MATCH);
	assert_says("quotation marks (the file has \xE2\x80\x99 U+2019, oldText ' U+0027)");
	assert_replaced("it\xE2\x80\x99s 'x'\n", "\xE2\x80\x99", "'", "all", "it's 'x'\n");
	assert_replaced("it's\n", "'", "\xE2\x80\x99", "all", "it\xE2\x80\x99s\n");
	assert_replaced("it's \"so\"\n", "so", "'so'", "all", "it's \"'so'\"\n");
}

/* Complaint 18: lenient matching that rewrites tabs, strips the new text, corrupts the file. */
static void the_new_text_goes_in_as_it_is(void **state) {
	(void)state;
	assert_replaced("\tx = 1;\n\ty = 2;\n", "x = 1;", "  x\t=  3;  \n\n", "first",
	                "\t  x\t=  3;  \n\n\n\ty = 2;\n");
	assert_refused("a\tb\n", " ", "first", STET_E_NO_MATCH);
	assert_says("only blanks and newlines");
	assert_replaced("a  b\n", "  ", " ", "first", "a b\n");
}

/* Fault 7 of the predecessor: affected lines counted in the old text, and only for the first place. */
static void affected_lines_are_those_of_the_new_text(void **state) {
	(void)state;
	assert_replaced("a\nX\nb\nX\nc\n", "X", "1\n2\n3", "all", "a\n1\n2\n3\nb\n1\n2\n3\nc\n");
	assert_int_equal(done.touched.first, 2);
	assert_int_equal(done.touched.last, 8);
	assert_int_equal(done.touched.total, 9);
	assert_replaced("a\nb\nc\nX\n", "a\nb\nc\n", "", "first", "X\n");
	assert_int_equal(done.touched.first, 1);
	assert_int_equal(done.touched.last, 1);
	assert_replaced("a\nb\n", "b\n", "", "first", "a\n");
	assert_int_equal(done.touched.first, 1);
	assert_replaced("a\nb\n", "b\n", "b\nc\n", "first", "a\nb\nc\n");
	assert_int_equal(done.touched.first, 2);
	assert_int_equal(done.touched.last, 3);
	/* Taking X away joins CR and LF. */
	assert_replaced("a\rX\nb\n", "X", "", "first", "a\r\nb\n");
	assert_int_equal(done.touched.first, 1);
	assert_int_equal(done.touched.total, 2);
}

static void other_occurrences_are_listed_as_they_are_numbered_now(void **state) {
	(void)state;
	assert_replaced("x\nx\nx x\nx\n", "x", "1\n2", "2", "x\n1\n2\nx x\nx\n");
	assert_int_equal(done.others.total, 4);
	static const size_t lines[] = {1, 4, 4, 5};
	assert_memory_equal(done.others.lines, lines, sizeof lines);
	assert_replaced("x\n\nx\n\nx\n", "x\n\n", "y", "first", "yx\n\nx\n");
	assert_int_equal(done.others.total, 1);
	assert_int_equal(done.others.lines[0], 1);
	assert_replaced("x x\n", "x", "y", "all", "y y\n");
	assert_int_equal(done.others.total, 0);
}

static void the_preview_is_cut_between_characters(void **state) {
	(void)state;
	st_auto(st_buf) text = ST_BUF_INIT;
	for (int i = 0; i < 201; i++)
		st_buf_adds(&text, "\xC3\xA9");
	assert_int_equal(apply(st_buf_str(&text), st_buf_str(&text), ST_STR("e"), "first"), 0);
	assert_int_equal(done.before.len, 403);
	assert_string_equal(done.before.ptr + 398, "\xC3\xA9...");
	assert_string_equal(done.after.ptr, "e");
}

static void context_is_three_lines_on_either_side(void **state) {
	(void)state;
	assert_replaced("1\n2\n3\n4\nX\n6\n7\n8\n9\n", "X", "a\nb", "first",
	                "1\n2\n3\n4\na\nb\n6\n7\n8\n9\n");
	assert_int_equal(done.context.before_count, 3);
	assert_int_equal(done.context.before[0].number, 2);
	assert_string_equal(done.context.before[2].text.ptr, "4");
	assert_int_equal(done.context.after_count, 3);
	assert_int_equal(done.context.after[0].number, 7);
	assert_string_equal(done.context.after[0].text.ptr, "6");
	assert_string_equal(done.context.after[2].text.ptr, "8");
}

static void a_result_beyond_the_limit_is_refused(void **state) {
	(void)state;
	struct st_replace request = {.old_text = ST_STR("a"),
	                             .new_text = ST_STR("bbbbbbbbbb"),
	                             .occurrence = {.which = ST_ALL},
	                             .max_size = 35};
	st_replaced_release(&done);
	memset(&done, 0, sizeof done);
	assert_int_equal(st_replace_apply(ST_STR("a.a.a."), &request, &done, NULL), 0);
	st_replaced_release(&done);
	memset(&done, 0, sizeof done);
	assert_int_equal(st_replace_apply(ST_STR("a.a.a.a."), &request, &done, &error), STET_E_TOO_BIG);
	assert_says("the limit of 35 bytes");
	assert_null(done.text.ptr);
}

static void ten_million_occurrences_fit(void **state) {
	(void)state;
	st_auto(st_buf) text = ST_BUF_INIT;
	for (int i = 0; i < MANY; i++)
		st_buf_adds(&text, "x\n");
	assert_int_equal(apply(st_buf_str(&text), ST_STR("x"), ST_STR("y"), "all"), 0);
	assert_int_equal(done.replaced, MANY);
	assert_int_equal(done.touched.last, MANY);
	assert_int_equal(apply(st_buf_str(&text), ST_STR("x"), ST_STR("y"), "last"), 0);
	assert_int_equal(done.touched.first, MANY);
	assert_int_equal(done.others.total, MANY - 1);
	assert_int_equal(done.others.count, ST_PLACES_MAX);
}

/* A seeded stream of numbers and texts made of awkward parts. */
static uint32_t seed;

static uint32_t any(uint32_t below) {
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % below;
}

static void any_text(struct st_buf *buf, size_t parts, bool with_mark) {
	static const char *const part[] = {"a",  "b",        "\n",           "\r\n", "\r",
	                                   "\t", "\xC3\xA9", "\xE2\x80\x9C", "\xFF", "ab\n"};
	if (with_mark && any(8) == 0)
		st_buf_adds(buf, BOM);
	for (size_t count = any((uint32_t)parts); count > 0; count--)
		st_buf_adds(buf, part[any(sizeof part / sizeof *part)]);
}

/* A pattern that is likely to be there: a piece of the text. */
static void any_piece(struct st_buf *buf, struct st_str text) {
	if (text.len == 0 || any(4) == 0) {
		any_text(buf, 4, false);
		return;
	}
	size_t start = any((uint32_t)text.len);
	size_t len = 1 + any(4);
	st_buf_add(buf, st_str_slice(text, start, start + len < text.len ? start + len : text.len));
}

static const char *const occurrences[] = {"first", "last", "all", "1", "2", "3"};

/* Bytes outside the spans, put together by hand from what st_find_next() says. */
static void bytes_outside_the_span_stay_as_they_are(void **state) {
	(void)state;
	seed = 1;
	int applied = 0;
	for (int round = 0; round < 50000; round++) {
		st_auto(st_buf) text = ST_BUF_INIT;
		st_auto(st_buf) old_text = ST_BUF_INIT;
		st_auto(st_buf) expected = ST_BUF_INIT;
		any_text(&text, 24, true);
		any_piece(&old_text, st_buf_str(&text));
		const char *occurrence = occurrences[any(6)];
		if (apply(st_buf_str(&text), st_buf_str(&old_text), ST_STR("<new>"), occurrence) < 0) {
			assert_true(error.code == STET_E_NO_MATCH || error.code == STET_E_INVALID);
			continue;
		}
		if (done.shift.count > 0)
			continue;
		st_auto(st_find) find = {0};
		struct st_span span;
		size_t copied = 0, n = 0;
		assert_int_equal(st_find_init(&find, st_buf_str(&text), st_buf_str(&old_text), NULL), 0);
		while (st_find_next(&find, &span)) {
			n++;
			bool taken = strcmp(occurrence, "all") == 0 ||
			             n == (occurrence[0] == 'f'   ? 1
			                   : occurrence[0] == 'l' ? done.found.total
			                                          : (size_t)(occurrence[0] - '0'));
			if (taken) {
				st_buf_add(&expected, st_str_slice(st_buf_str(&text), copied, span.start));
				st_buf_adds(&expected, "<new>");
				copied = span.end;
			}
		}
		st_buf_add(&expected, st_str_slice(st_buf_str(&text), copied, text.len));
		assert_int_equal(n, done.found.total);
		assert_true(st_str_eq(st_buf_str(&done.text), st_buf_str(&expected)));
		applied++;
	}
	assert_true(applied > 20000);
}

/* A text whose lines all end alike. */
static void any_uniform_text(struct st_buf *buf, enum st_eol eol) {
	st_auto(st_buf) mixed = ST_BUF_INIT;
	any_text(&mixed, 24, true);
	for (size_t i = 0; i < mixed.len; i++) {
		if (mixed.ptr[i] == '\n')
			st_buf_add(buf, st_eol_bytes(eol));
		else if (mixed.ptr[i] != '\r')
			st_buf_addc(buf, mixed.ptr[i]);
	}
}

static void replacing_back_gives_the_same_bytes(void **state) {
	(void)state;
	seed = 2;
	int went_back = 0;
	for (int round = 0; round < 50000; round++) {
		st_auto(st_buf) text = ST_BUF_INIT;
		st_auto(st_buf) old_text = ST_BUF_INIT;
		any_uniform_text(&text, any(2) ? ST_EOL_CRLF : ST_EOL_LF);
		any_piece(&old_text, st_buf_str(&text));
		/* Half a CRLF would make a text with two kinds of line ends. */
		if (st_str_ends(st_buf_str(&old_text), ST_STR("\r")))
			continue;
		if (apply(st_buf_str(&text), st_buf_str(&old_text), ST_STR("<once>"), occurrences[any(2)]) <
		    0)
			continue;
		/* Shifted, the new text has blanks of its own (tests/unit/shifted.c). */
		if (done.shift.count > 0)
			continue;

		st_auto(st_buf) changed = ST_BUF_INIT;
		st_buf_move(&changed, &done.text);
		size_t start = (size_t)(strstr(changed.ptr, "<once>") - changed.ptr);
		size_t len = text.len - (changed.len - strlen("<once>"));
		struct st_str bytes = st_str_slice(st_buf_str(&text), start, start + len);
		assert_int_equal(apply(st_buf_str(&changed), ST_STR("<once>"), bytes, "first"), 0);
		assert_true(st_str_eq(st_buf_str(&done.text), st_buf_str(&text)));
		went_back++;
	}
	assert_true(went_back > 10000);
}

/* What sed prints for a range of lines; LF files only, since sed knows no other. */
static void sed_lines(const char *path, size_t first, size_t last, struct st_buf *out) {
	char command[512];
	snprintf(command, sizeof command, "sed -n '%zu,%zup' '%s'", first, last, path);
	FILE *pipe = popen(command, "r");
	assert_non_null(pipe);
	char chunk[4096];
	for (size_t len; (len = fread(chunk, 1, sizeof chunk, pipe)) > 0;)
		st_buf_add(out, st_strn(chunk, len));
	assert_int_equal(pclose(pipe), 0);
}

static void line_numbers_are_those_of_sed(void **state) {
	struct dir *dir = *state;
	seed = 3;
	for (int round = 0; round < 60; round++) {
		st_auto(st_buf) text = ST_BUF_INIT;
		for (int i = (int)any(40); i >= 0; i--)
			st_buf_addf(&text, "line %u%s\n", (unsigned)any(9), any(5) ? "" : " X");
		st_buf_adds(&text, "X at the end\n");
		assert_int_equal(
			apply(st_buf_str(&text), ST_STR("X"), ST_STR("<1>\n<2>\n<3>"), occurrences[any(3)]), 0);
		dir_write_bytes(dir, "new", done.text.ptr, done.text.len);

		/* The touched lines begin with the first new text and end with the last. */
		st_auto(st_buf) touched = ST_BUF_INIT;
		sed_lines(dir_at(dir, "new"), done.touched.first, done.touched.last, &touched);
		const char *first = strstr(touched.ptr, "<1>");
		assert_non_null(first);
		assert_null(memchr(touched.ptr, '\n', (size_t)(first - touched.ptr)));
		const char *last = memrchr(touched.ptr, '<', touched.len);
		assert_true(strncmp(last, "<3>", 3) == 0);
		assert_ptr_equal(strchr(last, '\n'), touched.ptr + touched.len - 1);

		for (size_t i = 0; i < done.context.before_count; i++) {
			st_auto(st_buf) line = ST_BUF_INIT;
			sed_lines(dir_at(dir, "new"), done.context.before[i].number,
			          done.context.before[i].number, &line);
			st_buf_truncate(&line, line.len - 1);
			assert_string_equal(line.ptr, done.context.before[i].text.ptr);
		}
		for (size_t i = 0; i < done.others.count; i++) {
			st_auto(st_buf) line = ST_BUF_INIT;
			sed_lines(dir_at(dir, "new"), done.others.lines[i], done.others.lines[i], &line);
			assert_non_null(strchr(line.ptr, 'X'));
		}
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(replaces_the_only_occurrence),
		cmocka_unit_test(replaces_the_first_the_last_the_nth_or_all),
		cmocka_unit_test(replaces_across_lines),
		cmocka_unit_test(nothing_in_the_texts_is_special),
		cmocka_unit_test(the_text_may_become_empty_or_come_from_one_place),
		cmocka_unit_test(an_occurrence_is_first_last_all_or_a_number),
		cmocka_unit_test(an_occurrence_beyond_the_last_is_refused_with_the_lines),
		cmocka_unit_test(empty_old_text_is_refused),
		cmocka_unit_test(a_released_result_starts_from_nothing),
		cmocka_unit_test(equal_texts_are_a_noop_if_they_are_there),
		cmocka_unit_test(inserted_lines_take_the_ending_of_their_place),
		cmocka_unit_test(line_ends_are_converted_if_that_is_all_that_differs),
		cmocka_unit_test(a_text_without_line_ends_takes_new_ones_as_they_are),
		cmocka_unit_test(no_carriage_return_is_left_behind),
		cmocka_unit_test(a_byte_order_mark_stays_and_is_never_doubled),
		cmocka_unit_test(bytes_that_are_not_utf8_survive),
		cmocka_unit_test(tabs_do_not_match_spaces_and_the_error_says_so),
		cmocka_unit_test(quotes_are_bytes_and_the_error_names_them),
		cmocka_unit_test(the_new_text_goes_in_as_it_is),
		cmocka_unit_test(affected_lines_are_those_of_the_new_text),
		cmocka_unit_test(other_occurrences_are_listed_as_they_are_numbered_now),
		cmocka_unit_test(the_preview_is_cut_between_characters),
		cmocka_unit_test(context_is_three_lines_on_either_side),
		cmocka_unit_test(a_result_beyond_the_limit_is_refused),
		cmocka_unit_test(ten_million_occurrences_fit),
		cmocka_unit_test(bytes_outside_the_span_stay_as_they_are),
		cmocka_unit_test(replacing_back_gives_the_same_bytes),
		claim(line_numbers_are_those_of_sed),
	};
	return cmocka_run_group_tests(tests, NULL, forget);
}
