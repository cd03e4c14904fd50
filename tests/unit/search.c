/* Search: what matches, where it is reported, and that no expression can hang it. */
#include <time.h>

#include "lib/alloc.h"
#include "lib/test.h"
#include "text/find/search.h"

/* What a test searches in, and what came back. */
struct found {
	struct st_lines lines;
	struct st_arena arena;
	struct st_search_result result;
	struct stet_error err;
	int code;
};

static void found_release(struct found *found) {
	st_arena_release(&found->arena);
	st_lines_release(&found->lines);
}

static void search(struct found *found, struct st_str text, struct st_search search) {
	found_release(found);
	st_arena_init(&found->arena, 16 << 20);
	assert_int_equal(st_lines_init(&found->lines, text, NULL), 0);
	found->err = (struct stet_error){0};
	found->code = st_search_run(&search, &found->lines, &found->arena, &found->result, &found->err);
	if (found->code < 0)
		assert_int_equal(found->err.code, found->code);
	if (found->code == STET_E_INVALID || found->code == STET_E_LIMIT)
		assert_true(strlen(found->err.message) > 20);
}

static void plain(struct found *found, struct st_str text, const char *query) {
	search(found, text, (struct st_search){.query = st_str(query)});
	assert_int_equal(found->code, 0);
}

static void regex(struct found *found, struct st_str text, const char *query) {
	search(found, text, (struct st_search){.query = st_str(query), .regex = true});
	assert_int_equal(found->code, 0);
}

/* The matches as "line:column line:column ..." */
static void check(const struct found *found, const char *places) {
	st_auto(st_buf) buf = ST_BUF_INIT;
	for (size_t i = 0; i < found->result.count; i++)
		st_buf_addf(&buf, "%s%zu:%zu", i ? " " : "", found->result.matches[i].line,
		            found->result.matches[i].column);
	assert_string_equal(st_buf_cstr(&buf), places);
	assert_int_equal(found->result.total, found->result.count);
	assert_false(found->result.stopped);
}

static void check_text(struct st_str text, const char *expected) {
	assert_int_equal(text.len, strlen(expected));
	assert_memory_equal(text.ptr, expected, text.len);
}

static void plain_search_is_caseless_and_literal(void **state) {
	(void)state;
	st_auto(found) found = {0};
	plain(&found, ST_STR("alpha\nALPHA beta\nAlPhA (a.c)\n abc\n"), "alpha");
	check(&found, "1:1 2:1 3:1");
	check_text(found.result.matches[1].text, "ALPHA beta");
	plain(&found, ST_STR("abc\nx A.C\n(a+)\n"), "a.c");
	check(&found, "2:3");
	plain(&found, ST_STR("abc\nx A.C\n(a+)\n"), "(A+)");
	check(&found, "3:1");
	plain(&found, ST_STR("abc\n"), "zz");
	check(&found, "");
	plain(&found, ST_STR(""), "zz");
	check(&found, "");
}

static void case_follows_unicode(void **state) {
	(void)state;
	st_auto(found) found = {0};
	plain(&found,
	      ST_STR("\xC3\x89"
	             "COLE\nx\n\xC3\xA9"
	             "cole\n"),
	      "\xC3\xA9"
	      "Cole");
	check(&found, "1:1 3:1");
	plain(&found, ST_STR("\xCE\xA3\xCE\x91\n\xCF\x83\xCE\xB1\n\xCF\x82\xCE\xB1\n"),
	      "\xCF\x83\xCE\xB1");
	check(&found, "1:1 2:1 3:1");
	plain(&found, ST_STR("300 \xE2\x84\xAA\n"), "k");
	check(&found, "1:5");
}

static void an_expression_is_caseless_unless_it_says_otherwise(void **state) {
	(void)state;
	st_auto(found) found = {0};
	regex(&found, ST_STR("alpha\nALPHA\n"), "^al.ha$");
	check(&found, "1:1 2:1");
	regex(&found, ST_STR("alpha\nALPHA\n"), "(?-i)^al.ha$");
	check(&found, "1:1");
	regex(&found, ST_STR("\xC3\xA9t\xC3\xA9 1\n"), "^\\w+ \\d$");
	check(&found, "1:1");
}

static void a_line_is_reported_once_at_its_first_match(void **state) {
	(void)state;
	st_auto(found) found = {0};
	plain(&found, ST_STR("xx a a a\na\n\n a"), "a");
	check(&found, "1:4 2:1 4:2");
	regex(&found, ST_STR("a b c\nd"), "\\w");
	check(&found, "1:1 2:1");
}

static void every_line_ending_ends_a_line_for_anchors_and_dots(void **state) {
	(void)state;
	static const char *const texts[] = {"one\ntwo\nthree\n", "one\r\ntwo\r\nthree\r\n",
	                                    "one\rtwo\rthree\r", "one\rtwo\r\nthree",
	                                    "one\ntwo\rthree"};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		st_auto(found) found = {0};
		regex(&found, st_str(texts[i]), "^two$");
		check(&found, "2:1");
		check_text(found.result.matches[0].text, "two");
		regex(&found, st_str(texts[i]), "e$");
		check(&found, "1:3 3:5");
		regex(&found, st_str(texts[i]), "o.*");
		check(&found, "1:1 2:3");
		regex(&found, st_str(texts[i]), "one.two");
		check(&found, "");
		regex(&found, st_str(texts[i]), "one\\Rtwo\\Rthree");
		check(&found, "1:1");
		regex(&found, st_str(texts[i]), "^");
		check(&found, "1:1 2:1 3:1");
		regex(&found, st_str(texts[i]), "$");
		check(&found, "1:4 2:4 3:6");
		plain(&found, st_str(texts[i]), "one\nTWO");
		check(&found, "1:1");
		plain(&found, st_str(texts[i]), "E\r\ntwo");
		check(&found, "1:3");
	}
}

static void a_match_over_lines_is_reported_where_it_starts(void **state) {
	(void)state;
	st_auto(found) found = {0};
	regex(&found, ST_STR("x\n a begin\nb\nend begin\nend\nend\n"), "(?s)begin.*?end");
	check(&found, "2:4 4:5");
	check_text(found.result.matches[0].text, " a begin");
	regex(&found, ST_STR("a\n\nb\n"), "\\n\\n");
	check(&found, "1:2");
	regex(&found, ST_STR("a\r\nb\r\n"), "\\n");
	check(&found, "1:2 2:2");
	regex(&found, ST_STR("a\nb\n"), "\\z");
	check(&found, "2:2");
}

static void a_byte_order_mark_is_no_part_of_the_first_line(void **state) {
	(void)state;
	st_auto(found) found = {0};
	regex(&found, ST_STR("\xEF\xBB\xBF# Title\n# Two\n"), "^# ");
	check(&found, "1:1 2:1");
	check_text(found.result.matches[0].text, "# Title");
	plain(&found, ST_STR("\xEF\xBB\xBF# Title\n# Two\n"), "title");
	check(&found, "1:3");
	plain(&found, ST_STR("\xEF\xBB\xBF"), "x");
	check(&found, "");
}

static void columns_count_characters(void **state) {
	(void)state;
	st_auto(found) found = {0};
	plain(&found, ST_STR("\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80 x\nabcdefghijklmnop\xC3\xA9x"), "x");
	check(&found, "1:5 2:18");
}

static void bytes_that_are_not_utf8_match_nothing_and_are_shown_as_such(void **state) {
	(void)state;
	st_auto(found) found = {0};
	struct st_str text = ST_STR("\xFF\xFEone \xC3\n\x80two \xE2\x82 one\xC3");
	plain(&found, text, "ONE");
	check(&found, "1:3 2:9");
	assert_true(found.result.lossy);
	check_text(found.result.matches[0].text, "\xEF\xBF\xBD\xEF\xBF\xBDone \xEF\xBF\xBD");
	regex(&found, text, "two..one");
	check(&found, "");
	regex(&found, text, "^two");
	check(&found, "");
	plain(&found, ST_STR("one"), "one");
	assert_false(found.result.lossy);
}

static void long_lines_are_cut_so_that_the_match_is_seen(void **state) {
	(void)state;
	st_auto(st_buf) text = ST_BUF_INIT;
	for (int i = 0; i < 1000; i++)
		st_buf_adds(&text, i == 150 ? "needle" : i == 500 ? "hay" : i == 999 ? "end" : "\xC3\xA9");
	st_auto(found) found = {0};

	plain(&found, st_buf_str(&text), "needle");
	check(&found, "1:151");
	struct st_str shown = found.result.matches[0].text;
	assert_int_equal(shown.len, 2 * 194 + 6 + 3);
	assert_true(st_str_starts(shown, ST_STR("\xC3\xA9\xC3\xA9")));
	assert_true(st_str_ends(shown, ST_STR("\xC3\xA9...")));

	plain(&found, st_buf_str(&text), "hay");
	check(&found, "1:506");
	shown = found.result.matches[0].text;
	assert_int_equal(shown.len, 3 + 2 * 40 + 3 + 2 * 157 + 3);
	assert_memory_equal(shown.ptr, "...\xC3\xA9", 5);
	assert_memory_equal(shown.ptr + 3 + 80, "hay\xC3\xA9", 5);
	assert_true(st_str_ends(shown, ST_STR("\xC3\xA9...")));

	plain(&found, st_buf_str(&text), "end");
	assert_true(st_str_ends(found.result.matches[0].text, ST_STR("\xC3\xA9"
	                                                             "end")));
	regex(&found, st_buf_str(&text), ".+");
	assert_true(st_str_starts(found.result.matches[0].text, ST_STR("\xC3\xA9")));
}

static void context_is_given_up_to_the_edges_of_the_text(void **state) {
	(void)state;
	st_auto(found) found = {0};
	struct st_str text = ST_STR("1\r\n2\r\n3 hit\r\n4\r\n5\r\n6 hit");
	search(&found, text, (struct st_search){.query = ST_STR("hit"), .context = 2});
	check(&found, "3:3 6:3");
	const struct st_search_match *match = found.result.matches;
	assert_int_equal(match[0].before_count, 2);
	assert_int_equal(match[0].after_count, 2);
	check_text(match[0].before[0], "1");
	check_text(match[0].before[1], "2");
	check_text(match[0].after[0], "4");
	check_text(match[0].after[1], "5");
	assert_int_equal(match[1].before_count, 2);
	assert_int_equal(match[1].after_count, 0);
	check_text(match[1].before[0], "4");

	search(&found, text, (struct st_search){.query = ST_STR("hit"), .context = 21});
	assert_int_equal(found.code, STET_E_INVALID);
	assert_non_null(strstr(found.err.message, "20 or fewer"));
}

static void matches_are_capped_and_the_total_is_told(void **state) {
	(void)state;
	st_auto(st_buf) text = ST_BUF_INIT;
	for (int i = 0; i < 5000; i++)
		st_buf_addf(&text, "%d %s\n", i, i % 2 ? "odd" : "even");
	st_auto(found) found = {0};
	plain(&found, st_buf_str(&text), "odd");
	assert_int_equal(found.result.count, ST_SEARCH_MAX_MATCHES);
	assert_int_equal(found.result.total, 2500);
	search(&found, st_buf_str(&text),
	       (struct st_search){.query = ST_STR("^\\d+ even"), .regex = true, .max = 7});
	assert_int_equal(found.result.count, 7);
	assert_int_equal(found.result.total, 2500);
	assert_int_equal(found.result.matches[6].line, 13);
}

static void refuses_a_query_that_cannot_be_one(void **state) {
	(void)state;
	st_auto(found) found = {0};
	search(&found, ST_STR("x"), (struct st_search){.query = ST_STR("")});
	assert_int_equal(found.code, STET_E_INVALID);
	search(&found, ST_STR("x"), (struct st_search){.query = ST_STR("a\xFF")});
	assert_int_equal(found.code, STET_E_INVALID);
	char query[ST_PATTERN_MAX + 1];
	memset(query, 'x', sizeof query);
	search(&found, ST_STR("x"), (struct st_search){.query = {query, sizeof query}});
	assert_int_equal(found.code, STET_E_INVALID);
	assert_non_null(strstr(found.err.message, "4097 bytes, more than the limit of 4096"));
	search(&found, ST_STR("x"), (struct st_search){.query = {query, sizeof query - 1}});
	assert_int_equal(found.code, 0);
}

static void an_invalid_expression_is_shown_where_it_breaks(void **state) {
	(void)state;
	static const struct {
		const char *query, *reason, *quote;
	} cases[] = {
		{"ab(c", "missing closing parenthesis", "\"ab(c <-- HERE \""},
		{"a*b)c", "unmatched closing parenthesis", "\"a*b <-- HERE )c\""},
		{"x[z-a]", "range out of order", "\"x[z- <-- HERE a]\""},
		{"\xC3\xA9\\", "\\ at end of pattern", "\"\xC3\xA9\\ <-- HERE \""},
		{"a\\Cb", "using \\C is disabled", "\"a\\C <-- HERE b\""},
		{"(*LIMIT_FOO=1)a", "(*VERB) not recognized", "HERE"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		st_auto(found) found = {0};
		search(&found, ST_STR("x"),
		       (struct st_search){.query = st_str(cases[i].query), .regex = true});
		assert_int_equal(found.code, STET_E_INVALID);
		assert_non_null(strstr(found.err.message, cases[i].reason));
		assert_non_null(strstr(found.err.message, cases[i].quote));
		assert_non_null(strstr(found.err.message, "turn regex off"));
	}
}

static double seconds(void) {
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* A test for the sake of its end; a machine under load gets ten times the limit. */
static void answers_in_time(struct found *found, struct st_str text, struct st_str query,
                            bool interpret) {
	double start = seconds();
	alarm(30);
	search(found, text,
	       (struct st_search){
			   .query = query, .regex = true, .time_limit = 100, .interpret = interpret});
	alarm(0);
	assert_true(seconds() - start < 1.0);
}

static const char *const hard[] = {
	"(a+)+$",
	"(a|aa)+$",
	"(.*)*x",
	"(?s)(.*)*x",
	".*.*.*.*=y",
	"(?s).*.*.*.*[xy]",
	"(?s)[^x]*+[xy]",
	"(a*)*\\1b",
	"(a*)\\1\\1b",
	"(?=(a+))a*b\\1",
	"(?:(?:a?){50}){50}b",
	"(x+x+)+y|(a+a+)+y",
	"^(([a-z])+.)+[A-Z]([a-z])+$",
	"(?R)?a+b",
	"((?1)*a)b",
	"(?:a|b|ab)*?(?:a|b|ba)*c",
	"a{1,1000}a{1,1000}a{1,1000}b",
	"(*LIMIT_MATCH=4294967290)(*LIMIT_DEPTH=4294967290)(*LIMIT_HEAP=4294967290)(a+)+$",
	"(*NO_JIT)(a+)+$",
	"(*NO_AUTO_POSSESS)(*NO_START_OPT)(*UCP)(a+)+$",
};

static void a_pathological_expression_answers_in_time(void **state) {
	(void)state;
	size_t len = 1 << 20;
	st_autofree char *text = malloc(len);
	memset(text, 'a', len);
	st_auto(found) found = {0};
	for (size_t i = 0; i < 2 * sizeof hard / sizeof *hard; i++) {
		answers_in_time(&found, st_strn(text, len), st_str(hard[i / 2]), i % 2);
		memset(text, 'a', len);
		for (size_t n = 25; n < len; n += 25)
			text[n] = n % 50 ? 'b' : '\n';
		answers_in_time(&found, st_strn(text, len), st_str(hard[i / 2]), i % 2);
		memset(text, 'a', len);
	}
}

static void a_search_that_gave_up_says_so_and_where(void **state) {
	(void)state;
	st_auto(st_buf) text = ST_BUF_INIT;
	st_buf_adds(&text, "x\naab\n");
	for (int i = 0; i < 5000; i++)
		st_buf_addc(&text, 'a');
	st_buf_adds(&text, "!\nab\n");
	st_auto(found) found = {0};
	struct st_search query = {.query = ST_STR("^(a+)+b$"), .regex = true, .time_limit = 50};

	search(&found, st_buf_str(&text), query);
	assert_int_equal(found.code, 0);
	assert_true(found.result.stopped);
	assert_int_equal(found.result.total, 1);
	assert_int_equal(found.result.matches[0].line, 2);
	assert_non_null(strstr(found.result.note.ptr, "stopped at line 3 of 4"));

	/* Nothing found yet is not "no match". */
	search(&found, st_str_slice(st_buf_str(&text), 6, text.len), query);
	assert_int_equal(found.code, STET_E_LIMIT);
	assert_non_null(strstr(found.err.message, "stopped at line 1 of 2"));
	assert_non_null(strstr(found.err.message, "more specific"));
}

static void a_huge_or_deep_expression_is_answered_in_time(void **state) {
	(void)state;
	st_auto(found) found = {0};
	st_auto(st_buf) query = ST_BUF_INIT;
	for (int i = 0; i < 10000; i++)
		st_buf_addc(&query, '(');
	answers_in_time(&found, ST_STR("aaa"), st_buf_str(&query), false);
	assert_int_equal(found.code, STET_E_INVALID);
	answers_in_time(&found, ST_STR("aaa"), st_strn(query.ptr, 4000), false);
	assert_int_equal(found.code, STET_E_INVALID);
	assert_non_null(strstr(found.err.message, "too deeply"));

	st_buf_clear(&query);
	for (int i = 0; query.len < 4000; i++)
		st_buf_addf(&query, "%sa%db", i ? "|" : "", i);
	answers_in_time(&found, ST_STR("x\na17b\n"), st_buf_str(&query), false);
	check(&found, "2:1");

	answers_in_time(&found, ST_STR("aaa"), ST_STR("((((a{1,100}){1,100}){1,100}){1,100})"), false);
	assert_int_equal(found.code, STET_E_INVALID);
	assert_non_null(strstr(found.err.message, "too large"));
}

static void a_long_literal_cannot_hang_the_search_either(void **state) {
	(void)state;
	size_t len = 32 << 20;
	st_autofree char *text = malloc(len);
	memset(text, 'a', len);
	char query[ST_PATTERN_MAX];
	memset(query, 'A', sizeof query);
	query[sizeof query - 1] = 'b';
	st_auto(found) found = {0};
	answers_in_time(&found, st_strn(text, len), st_strn(query, sizeof query), false);
	assert_int_equal(found.code, STET_E_LIMIT);
	assert_non_null(strstr(found.err.message, "time was up"));
}

static void the_interpreter_finds_the_same(void **state) {
	(void)state;
	static const char *const texts[] = {
		"one\r\ntwo \xC3\xA9\nTHREE\r\rone two",
		"\xFFone\n\xC3 two\n\xFEthree\xC3\xA9\n",
		"\xEF\xBB\xBFone\n",
		"",
	};
	static const char *const queries[] = {"one",    "^.+$", "\\w+\xC3\x89", "(?s)e.+t", "o|h",
	                                      "\\bTwo", "e$"};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		for (size_t j = 0; j < 2 * sizeof queries / sizeof *queries; j++) {
			struct st_search query = {.query = st_str(queries[j / 2]), .regex = j % 2};
			st_auto(found) a = {0};
			search(&a, st_str(texts[i]), query);
			query.interpret = true;
			st_auto(found) b = {0};
			search(&b, st_str(texts[i]), query);
			assert_int_equal(a.code, b.code);
			assert_int_equal(a.result.total, b.result.total);
			for (size_t k = 0; k < a.result.count; k++) {
				assert_int_equal(a.result.matches[k].line, b.result.matches[k].line);
				assert_int_equal(a.result.matches[k].column, b.result.matches[k].column);
			}
		}
	}
}

static void a_small_arena_is_an_error_not_a_crash(void **state) {
	(void)state;
	st_auto(st_lines) lines = {0};
	struct st_search query = {.query = ST_STR("a"), .context = 3};
	assert_int_equal(st_lines_init(&lines, ST_STR("a\na\na\na\na\na\n"), NULL), 0);
	int code = STET_E_NOMEM;
	for (size_t limit = 0; code != 0; limit += 64) {
		st_auto(st_arena) arena;
		st_arena_init(&arena, limit);
		struct st_search_result result;
		code = st_search_run(&query, &lines, &arena, &result, NULL);
		assert_true(code == 0 || code == STET_E_NOMEM);
		assert_true(limit < 1 << 20);
	}
}

static void memory_may_run_out_at_any_moment(void **state) {
	(void)state;
	st_auto(st_lines) lines = {0};
	struct st_search query = {.query = ST_STR("a\nb"), .context = 3};
	assert_int_equal(st_lines_init(&lines, ST_STR("a\nb\na\nb\n"), NULL), 0);
	bool failed = true;
	for (size_t n = 1; failed; n++) {
		st_auto(st_arena) arena;
		st_arena_init(&arena, 1 << 20);
		struct st_search_result result;
		alloc_fail_at(n);
		int code = st_search_run(&query, &lines, &arena, &result, NULL);
		failed = alloc_has_failed();
		assert_true(code == 0 ? result.total == 2 : failed && code == STET_E_NOMEM);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_search_is_caseless_and_literal),
		cmocka_unit_test(case_follows_unicode),
		cmocka_unit_test(an_expression_is_caseless_unless_it_says_otherwise),
		cmocka_unit_test(a_line_is_reported_once_at_its_first_match),
		cmocka_unit_test(every_line_ending_ends_a_line_for_anchors_and_dots),
		cmocka_unit_test(a_match_over_lines_is_reported_where_it_starts),
		cmocka_unit_test(a_byte_order_mark_is_no_part_of_the_first_line),
		cmocka_unit_test(columns_count_characters),
		cmocka_unit_test(bytes_that_are_not_utf8_match_nothing_and_are_shown_as_such),
		cmocka_unit_test(long_lines_are_cut_so_that_the_match_is_seen),
		cmocka_unit_test(context_is_given_up_to_the_edges_of_the_text),
		cmocka_unit_test(matches_are_capped_and_the_total_is_told),
		cmocka_unit_test(refuses_a_query_that_cannot_be_one),
		cmocka_unit_test(an_invalid_expression_is_shown_where_it_breaks),
		cmocka_unit_test(a_pathological_expression_answers_in_time),
		cmocka_unit_test(a_search_that_gave_up_says_so_and_where),
		cmocka_unit_test(a_huge_or_deep_expression_is_answered_in_time),
		cmocka_unit_test(a_long_literal_cannot_hang_the_search_either),
		cmocka_unit_test(the_interpreter_finds_the_same),
		cmocka_unit_test(memory_may_run_out_at_any_moment),
		cmocka_unit_test(a_small_arena_is_an_error_not_a_crash),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
