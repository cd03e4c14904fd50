/* A text that is not there: what comes nearest, and what the message says is different. */
#include "text/hint/nearest.h"

#include <ctype.h>

#include "lib/test.h"
#include "text/hint/explain.h"
#include "text/find/find.h"
#include "text/hint/similar.h"

static struct st_nearest nearest;
static struct stet_error error;

static void look(const char *text, const char *old_text, const char *new_text) {
	struct st_places places;
	assert_int_equal(st_places_find(&places, st_str(text), st_str(old_text), NULL), 0);
	assert_int_equal(places.total, 0);
	error = (struct stet_error){0};
	assert_int_equal(
		st_explain_no_match(&nearest, st_str(text), st_str(old_text), st_str(new_text), "", &error),
		STET_E_NO_MATCH);
	assert_non_null(strstr(error.message, "Nothing was changed."));
}

/* One place, what differs there, and the very text that should have been given. */
static void check(const char *text, const char *old_text, unsigned kinds, size_t line,
                  const char *there) {
	look(text, old_text, "");
	assert_int_equal(nearest.total, 1);
	assert_int_equal(nearest.list[0].kinds, kinds);
	assert_int_equal(nearest.list[0].first, line);
	struct st_span span = nearest.list[0].span;
	assert_true(st_str_eq(st_str_slice(st_str(text), span.start, span.end), st_str(there)));
}

#define assert_says(words) assert_non_null(strstr(error.message, words))

static void names_case(void **state) {
	(void)state;
	check("one\nHello World\n", "hello world", ST_FOLD_CASE, 2, "Hello World");
	assert_says(
		"Nearest: line 2, different in upper and lower case. The file has there:\n"
		"\"Hello World\"");
	check(
		"STRA\xC3\x9F"
		"E \xC3\x84\n",
		"stra\xC3\x9F"
		"e \xC3\xA4",
		ST_FOLD_CASE, 1,
		"STRA\xC3\x9F"
		"E \xC3\x84");
}

static void names_indentation_and_counts_it(void **state) {
	(void)state;
	check("a\n\tif (x)\n\t\ty();\n", "    if (x)\n        y();\n", ST_FOLD_INDENT, 2,
	      "\tif (x)\n\t\ty();\n");
	assert_says("(line 1 of it begins with 1 tab in the file and 4 spaces in oldText)");
	assert_says("\"\\tif (x)\\n\\t\\ty();\\n\"");
	check("\tif (x)\n\t\ty();\n", "if (x)\n\ty();", ST_FOLD_INDENT, 1, "if (x)\n\t\ty();");
	assert_says("(line 2 of it begins with 2 tabs in the file and 1 tab in oldText)");
}

static void names_blanks(void **state) {
	(void)state;
	check("a = 1;  \nb = 2;\n", "a = 1;\nb = 2;", ST_FOLD_TRAILING, 1, "a = 1;  \nb = 2;");
	assert_says("blanks at the end of a line");
	check("a = 1;\nb = 2;\n", "a = 1; \nb = 2;", ST_FOLD_TRAILING, 1, "a = 1;\nb = 2;");
	check("int  a;\n", "int a;", ST_FOLD_BLANKS, 1, "int  a;");
	check("x\ty\n", "x y", ST_FOLD_BLANKS, 1, "x\ty");
	check("a\n\nb\n", "a\nb", ST_FOLD_BLANK_LINES, 1, "a\n\nb");
	check("a long\nline\n", "a long line", ST_FOLD_BREAKS, 1, "a long\nline");
}

static void names_line_ends(void **state) {
	(void)state;
	check("one\rtwo\rthree\r", "two\nthree", ST_FOLD_EOLS, 2, "two\rthree");
	assert_says("the kind of line endings (a CR alone)");
	check("first\nlast", "last\n", ST_FOLD_BLANK_LINES, 2, "last");
	assert_says("oldText ends with a newline, the file has none there");
}

static void names_typographic_characters_with_their_numbers(void **state) {
	(void)state;
	check("say \xE2\x80\x9Chi\xE2\x80\x9D\n", "say \"hi\"", ST_FOLD_QUOTES, 1,
	      "say \xE2\x80\x9Chi\xE2\x80\x9D");
	assert_says("quotation marks (the file has \xE2\x80\x9C U+201C, oldText \" U+0022)");
	check("x = 'a';\n", "x = \"a\";", ST_FOLD_QUOTES, 1, "x = 'a';");
	check(
		"1\xE2\x80\x93"
		"2\n",
		"1-2", ST_FOLD_DASHES, 1,
		"1\xE2\x80\x93"
		"2");
	assert_says("dashes (the file has \xE2\x80\x93 U+2013, oldText - U+002D)");
	check("wait\xE2\x80\xA6\n", "wait...", ST_FOLD_ELLIPSES, 1, "wait\xE2\x80\xA6");
	check(
		"a\xC2\xA0"
		"b\n",
		"a b", ST_FOLD_SPACES, 1,
		"a\xC2\xA0"
		"b");
	assert_says("special spaces (the file has U+00A0, oldText U+0020)");
	assert_says("\"a\\u00a0b\"");
	check("zero\xE2\x80\x8Bwidth\n", "zerowidth", ST_FOLD_INVISIBLE, 1, "zero\xE2\x80\x8Bwidth");
	assert_says("invisible characters (the file has U+200B)");
	check("a\n",
	      "\xEF\xBB\xBF"
	      "a",
	      ST_FOLD_INVISIBLE, 1, "a");
	assert_says("(oldText has U+FEFF)");
}

static void names_accents_composed_and_decomposed(void **state) {
	(void)state;
	check("cafe\xCC\x81\n", "caf\xC3\xA9", ST_FOLD_FORMS, 1, "cafe\xCC\x81");
	check("caf\xC3\xA9\n", "cafe", ST_FOLD_FORMS, 1, "caf\xC3\xA9");
}

static void names_escapes_in_both_directions(void **state) {
	(void)state;
	check("a\n\tb \"c\"\n", "a\\n\\tb \\\"c\\\"", ST_FOLD_ESCAPES, 1, "a\n\tb \"c\"");
	assert_says(
		"backslash escapes (written out in oldText, where the file has the character itself)");
	check("s = \"x\\ny\";\n", "s = \"x\ny\";", ST_FOLD_ESCAPES, 1, "s = \"x\\ny\";");
	assert_says("written out in the file, where oldText has");
	check("s = \"\\\\d\";\n", "s = \"\\d\";", ST_FOLD_ESCAPES, 1, "s = \"\\\\d\";");
	check("if (a < b && c)\n", "if (a &lt; b &amp;&amp; c)", ST_FOLD_ENTITIES, 1,
	      "if (a < b && c)");
	check("<p>&quot;x&#39;&#x3c;</p>\n", "<p>\"x'<</p>", ST_FOLD_ENTITIES, 1,
	      "<p>&quot;x&#39;&#x3c;</p>");
}

static void names_line_numbers_of_a_listing(void **state) {
	(void)state;
	const char *text = "int a;\n\tint b;\n\nint c;\n";
	check(text, "   1: int a;\n   2: \tint b;\n", ST_NEAR_NUMBERS, 1, "int a;\n\tint b;\n");
	assert_says("It has line numbers, as in a listing, that are not in the file.");
	assert_says("lines 1 to 2, the same otherwise");
	check(text, "2| \tint b;\n3|\n4| int c;", ST_NEAR_NUMBERS, 2, "\tint b;\n\nint c;");
	check(text, "     4\tint c;", ST_NEAR_NUMBERS, 4, "int c;");
	check(text, "     4\xE2\x86\x92int c;", ST_NEAR_NUMBERS, 4, "int c;");
	check(text, "4: INT c;", ST_NEAR_NUMBERS | ST_FOLD_CASE, 4, "int c;");
}

static void names_lines_that_are_too_many(void **state) {
	(void)state;
	const char *text = "void f(void) {\n\tcall(one);\n\tcall(two);\n}\n";
	check(text, "```c\nvoid f(void) {\n\tcall(one);\n\tcall(two);\n```", ST_NEAR_EXTRA, 1,
	      "void f(void) {\n\tcall(one);\n\tcall(two);\n");
	assert_says("The first line of oldText is not there. The last line of oldText is not there.");
	check(text, "\tcall(one);\n\tcall(two);\n}\n\n#else\n", ST_NEAR_EXTRA, 2,
	      "\tcall(one);\n\tcall(two);\n}\n");
	assert_says("The last 2 lines of oldText are not there.");
}

static void names_several_differences_at_once(void **state) {
	(void)state;
	check("\tSay \xE2\x80\x98hi\xE2\x80\x99\n", "    say 'hi'",
	      ST_FOLD_CASE | ST_FOLD_INDENT | ST_FOLD_QUOTES, 1, "\tSay \xE2\x80\x98hi\xE2\x80\x99");
	st_auto(st_buf) words = ST_BUF_INIT;
	st_explain_kinds(&words, nearest.list[0].kinds);
	assert_string_equal(words.ptr, "upper and lower case, indentation and quotation marks");
	st_buf_clear(&words);
	st_explain_kinds(&words, ST_NEAR_NUMBERS | ST_FOLD_CASE);
	assert_string_equal(words.ptr, "upper and lower case and line numbers");
}

static void shows_several_places_the_nearest_first(void **state) {
	(void)state;
	look("FOO  (x)\nfoo(y)\nFoo (x)\nfoo  (x)\nFOO (X)\n", "foo (x)", "");
	assert_int_equal(nearest.total, 4);
	assert_int_equal(nearest.count, 3);
	assert_int_equal(nearest.list[0].first, 3);
	assert_int_equal(nearest.list[1].first, 4);
	assert_int_equal(nearest.list[2].first, 5);
	assert_says(
		"4 places come near; three of them:\n"
		"- line 3, different in upper and lower case: \"Foo (x)\"");
}

static void shows_the_first_line_that_differs(void **state) {
	(void)state;
	const char *text = "zero\nint sum(int a, int b) {\n\treturn a + b;\n}\nlast\n";
	look(text, "int sum(int a, int b) {\n\treturn a - c;\n}\n", "");
	assert_int_equal(nearest.count, 1);
	assert_int_equal(nearest.list[0].kinds, ST_NEAR_SIMILAR);
	assert_int_equal(nearest.list[0].first, 2);
	assert_int_equal(nearest.list[0].last, 4);
	assert_says(
		"Similar text is at lines 2 to 4. Line 3 is\n\"\\treturn a + b;\"\nwhere oldText has\n"
		"\"\\treturn a - c;\"");
}

static void shows_a_similar_part_of_a_line(void **state) {
	(void)state;
	look("nothing here\nthe quick brown fox jumps over the lazy dog\n", "quick red fox jumps", "");
	assert_int_equal(nearest.list[0].first, 2);
	assert_says("where oldText has\n\"quick red fox jumps\"");
}

static void shows_a_long_line_near_the_difference(void **state) {
	(void)state;
	st_auto(st_buf) text = ST_BUF_INIT;
	for (int i = 0; i < 2000; i++)
		st_buf_addf(&text, "word%d ", i);
	look(text.ptr, "word1500 word1501 wort1502 word1503", "");
	assert_int_equal(nearest.list[0].first, 1);
	assert_says("word1502");
	assert_true(strlen(error.message) < 1500);
}

static void a_wrong_letter_or_two_in_a_short_line_is_found(void **state) {
	(void)state;
	static const struct {
		const char *text, *old;
		size_t line;
	} cases[] = {
		{"tea\nbread\nmilk\n", "braed", 2},          {"{\n\treturn 0;\n}\n", "retrun 0;", 2},
		{"tea\nsome bread\n", "braed", 2},           {"one\ntwo three\n", "two thrre", 2},
		{"a = 1;\nwidht = 20;\n", "width = 20;", 2}, {"one\nfour\nfive\n", "fuor\nfive", 2},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		look(cases[i].text, cases[i].old, "");
		assert_int_equal(nearest.count, 1);
		assert_int_equal(nearest.list[0].first, cases[i].line);
		assert_says("Similar text is at line");
	}
	/* Three letters, or other words, are near to nothing. */
	look("tea\n", "tae", "");
	assert_int_equal(nearest.count, 0);
	look("bread\n", "water", "");
	assert_int_equal(nearest.count, 0);
}

static void says_so_if_nothing_is_similar(void **state) {
	(void)state;
	look("abc\ndef\n", "completely different", "");
	assert_int_equal(nearest.count, 0);
	assert_says("Nothing in the file is similar.");
	look("", "a", "");
	assert_says("The file is empty.");
	look("caf\xE9 au lait\n", "caf\xEF\xBF\xBD au lait", "");
	assert_says("Give only text before or after them.");
	look("a b\n", " \n ", "");
	assert_says("It has only blanks and newlines, which must match exactly.");
	assert_int_equal(nearest.count, 0);
}

static void says_where_the_new_text_already_is(void **state) {
	(void)state;
	look("a\nreturn 2;\n", "return 1;", "return 2;");
	assert_int_equal(nearest.new_line, 2);
	assert_says("newText is already there, at line 2");
	look("a\nx\n", "return 1;", "x");
	assert_int_equal(nearest.new_line, 0);
}

static void messages_are_bounded_whatever_the_texts(void **state) {
	(void)state;
	st_auto(st_buf) text = ST_BUF_INIT;
	st_auto(st_buf) old_text = ST_BUF_INIT;
	for (int i = 0; i < 3000; i++) {
		st_buf_addf(&text, "\t\xE2\x80\x9CLine\xE2\x80\x9D\xC2\xA0%d \xE2\x80\x94 x\n", i);
		st_buf_addf(&old_text, "    \"line\" %d - x\\n\n", i);
	}
	look(text.ptr, old_text.ptr, "");
	assert_true(nearest.total >= 1);
	assert_true(strlen(error.message) < 1600);
	st_buf_clear(&text);
	for (int i = 0; i < 100; i++)
		st_buf_add(
			&text,
			ST_STR("\t\xE2\x80\x9CLine\xE2\x80\x9D\xC2\xA0 \xE2\x80\x94 x x x x x x x x x x "
		           "x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x\n"));
	look(text.ptr,
	     "    \"line\"  -  x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x "
	     "x x\\n",
	     "");
	assert_int_equal(nearest.total, 100);
	assert_true(strlen(error.message) < 1800);
}

static uint32_t seed;

static uint32_t any(uint32_t below) {
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % below;
}

static void add_changed(struct st_buf *out, char c, unsigned kind) {
	if (kind == ST_FOLD_CASE && isalpha((unsigned char)c))
		st_buf_addc(out, (char)(c ^ 0x20));
	else if (kind == ST_FOLD_INDENT && c == '\t')
		st_buf_adds(out, "    ");
	else if (kind == ST_FOLD_TRAILING && c == '\n')
		st_buf_adds(out, " \n");
	else if (kind == ST_FOLD_BLANKS && c == ' ')
		st_buf_adds(out, "  ");
	else if (kind == ST_FOLD_BLANK_LINES && c == '\n')
		st_buf_adds(out, "\n\n");
	else if (kind == ST_FOLD_QUOTES && c == '"')
		st_buf_adds(out, "\xE2\x80\x9D");
	else if (kind == ST_FOLD_DASHES && c == '-')
		st_buf_adds(out, "\xE2\x80\x94");
	else if (kind == ST_FOLD_SPACES && c == ' ')
		st_buf_adds(out, "\xC2\xA0");
	else if (kind == ST_FOLD_INVISIBLE && c == '-')
		st_buf_adds(out, "-\xE2\x80\x8B");
	else if (kind == ST_FOLD_ESCAPES && c == '"')
		st_buf_adds(out, "\\\"");
	else if (kind == ST_FOLD_ENTITIES && c == '"')
		st_buf_adds(out, "&quot;");
	else
		st_buf_addc(out, c);
}

/* Change lines of a text in one way: the place is found, and only that difference is named. */
static void finds_what_was_changed_and_where(void **state) {
	(void)state;
	static const unsigned kinds[] = {
		ST_FOLD_CASE,        ST_FOLD_INDENT,  ST_FOLD_TRAILING, ST_FOLD_BLANKS,
		ST_FOLD_BLANK_LINES, ST_FOLD_QUOTES,  ST_FOLD_DASHES,   ST_FOLD_SPACES,
		ST_FOLD_INVISIBLE,   ST_FOLD_ESCAPES, ST_FOLD_ENTITIES,
	};
	st_auto(st_buf) text = ST_BUF_INIT;
	for (int i = 0; i < 3000; i++)
		st_buf_addf(&text, "\tput \"%d\" - in %d;%s", i, i * 7, i % 3 ? "\n" : "\r\n");
	st_auto(st_lines) lines = {0};
	assert_int_equal(st_lines_init(&lines, st_buf_str(&text), NULL), 0);

	seed = 5;
	for (int round = 0; round < 300; round++) {
		size_t first = 1 + any(2990), count = 2 + any(5);
		unsigned kind = kinds[any(sizeof kinds / sizeof *kinds)];
		struct st_str there = st_lines_range(&lines, first, first + count - 1);
		st_auto(st_buf) old_text = ST_BUF_INIT;
		for (size_t i = 0; i < there.len; i++) {
			if (there.ptr[i] != '\r')
				add_changed(&old_text, there.ptr[i], kind);
		}
		look(text.ptr, old_text.ptr, "");
		assert_int_equal(nearest.total, 1);
		assert_int_equal(nearest.list[0].kinds, kind);
		assert_int_equal(nearest.list[0].first, first);
		assert_int_equal(nearest.list[0].last, first + count - 1);
	}
}

/* Places in the folded text lead back to where they came from. */
static void folded_bytes_know_their_source(void **state) {
	(void)state;
	static const char *const parts[] = {
		"a",   "B",    " ",        "\n",           "\t",           "\r\n",
		"\\n", "&lt;", "\xC3\x89", "\xE2\x80\x8B", "\xE2\x80\xA6", "\xFF",
		"'"};
	seed = 9;
	for (int round = 0; round < 300; round++) {
		st_auto(st_buf) text = ST_BUF_INIT;
		for (uint32_t i = 0; i < 3000; i++)
			st_buf_adds(&text, parts[any(sizeof parts / sizeof *parts)]);
		st_auto(st_fold) fold = {0};
		assert_int_equal(st_fold_init(&fold, st_buf_str(&text), ST_FOLD_ALL, NULL), 0);
		size_t at = any((uint32_t)fold.out.len);
		if (fold.out.ptr[at] == ' ')
			continue;
		struct st_span span = st_fold_source(&fold, at);
		st_auto(st_fold) again = {0};
		struct st_str rest = st_str_slice(st_buf_str(&text), span.start, text.len);
		assert_int_equal(st_fold_init(&again, rest, ST_FOLD_ALL, NULL), 0);
		size_t from = fold.out.len - again.out.len;
		assert_true(from <= at && at - from < 3);
		assert_string_equal(again.out.ptr, fold.out.ptr + from);
	}
}

static void similarity_is_one_pass(void **state) {
	(void)state;
	struct st_similar similar;
	assert_int_equal(
		st_similar_find(&similar, ST_STR("xxxxabcdefghyyyy"), ST_STR("abcdefgh"), NULL), 0);
	assert_int_equal(similar.span.start, 4);
	assert_int_equal(similar.span.end, 12);
	assert_int_equal(similar.percent, 100);
	assert_int_equal(st_similar_find(&similar, ST_STR("abc"), ST_STR("abcdefgh"), NULL), 0);
	assert_int_equal(similar.percent, 0);
	assert_int_equal(st_similar_find(&similar, ST_STR("abcdef"), ST_STR("abcdefgh"), NULL), 0);
	assert_int_equal(similar.span.start, 0);
	assert_int_equal(similar.percent, 60);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_case),
		cmocka_unit_test(names_indentation_and_counts_it),
		cmocka_unit_test(names_blanks),
		cmocka_unit_test(names_line_ends),
		cmocka_unit_test(names_typographic_characters_with_their_numbers),
		cmocka_unit_test(names_accents_composed_and_decomposed),
		cmocka_unit_test(names_escapes_in_both_directions),
		cmocka_unit_test(names_line_numbers_of_a_listing),
		cmocka_unit_test(names_lines_that_are_too_many),
		cmocka_unit_test(names_several_differences_at_once),
		cmocka_unit_test(shows_several_places_the_nearest_first),
		cmocka_unit_test(shows_the_first_line_that_differs),
		cmocka_unit_test(shows_a_similar_part_of_a_line),
		cmocka_unit_test(shows_a_long_line_near_the_difference),
		cmocka_unit_test(a_wrong_letter_or_two_in_a_short_line_is_found),
		cmocka_unit_test(says_so_if_nothing_is_similar),
		cmocka_unit_test(says_where_the_new_text_already_is),
		cmocka_unit_test(messages_are_bounded_whatever_the_texts),
		cmocka_unit_test(finds_what_was_changed_and_where),
		cmocka_unit_test(folded_bytes_know_their_source),
		cmocka_unit_test(similarity_is_one_pass),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
