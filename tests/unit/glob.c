/* Globs, by examples and against minimatch. */
#include "text/find/glob.h"

#include "base/clock.h"
#include "base/json.h"
#include "lib/gen.h"
#include "lib/npm.h"
#include "lib/run.h"
#include "lib/test.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

static bool matches(struct st_str pattern, struct st_str path, bool is_dir) {
	struct st_glob *glob = NULL;
	struct stet_error err = {0};
	int code = st_glob_new(pattern, &glob, &err);
	if (code < 0)
		fail_msg("%.*s: %s", (int)pattern.len, pattern.ptr, err.message);
	bool match = st_glob_match(glob, path, is_dir);
	st_glob_free(glob);
	return match;
}

struct example {
	const char *pattern;
	/* Separated by blanks; those behind "|" do not match. A slash at the end is a directory. */
	const char *paths;
};

static void check_example(const struct example *example) {
	bool expected = true;
	for (const char *at = example->paths; *at;) {
		size_t len = strcspn(at, " ");
		struct st_str path = st_strn(at, len);
		bool is_dir = st_str_ends(path, ST_STR("/"));
		path.len -= is_dir;
		if (len == 1 && *at == '|')
			expected = false;
		else if (matches(st_str(example->pattern), path, is_dir) != expected)
			fail_msg("\"%s\" %s %.*s", example->pattern, expected ? "misses" : "matches", (int)len,
			         at);
		at += len + (at[len] == ' ');
	}
}

static void patterns_match_what_they_say(void **state) {
	(void)state;
	static const struct example examples[] = {
		{"a.c", "a.c d/a.c | a.cc A.c b"},
		{"*.c", "a.c .c d/a.c | a.h a.c.h"},
		{"?", "a é d/x | ab"},
		{"a?c", "abc aéc | ac abbc"},
		{"*", "a .a d/a d/"},
		{"d/*", "d/a | a d d/e/a"},
		{"d/**", "d/a d/e/a | d a"},
		{"**/a", "a d/a d/e/a | b"},
		{"d/**/a", "d/a d/e/a d/e/f/a | a e/a"},
		{"**/d/*.c", "d/a.c e/d/a.c | d/e/a.c"},
		{"a**c", "ac abc | a/c"},
		{"/a", "a | d/a"},
		{"./a", "a d/a"},
		{"d/../a", "a d/a"},
		{"a//b", "a/b"},
		{"src/", "src/ d/src/ | src"},
		{"[ab]c", "ac bc | cc abc"},
		{"[!ab]c", "cc éc | ac"},
		{"[^ab]c", "cc | bc"},
		{"[]a]", "] a"},
		{"[a-c-]", "b - | d"},
		{"[\\]]", "] | a"},
		{"[c-a]", "| a b c"},
		{"[a", "[a | a"},
		{"[[:digit:]][[:alpha:]]", "1a 2é | a1 1-"},
		{"[[:upper:][:space:]]x", "Äx | äx"},
		{"[[:print:]]", "a é"},
		{"\\*", "* | a"},
		{"a\\", "a\\"},
		{"{a,b}.c", "a.c b.c | c.c"},
		{"{a,d/e}.c", "a.c x/a.c d/e.c | x/d/e.c"},
		{"v{1..3}", "v1 v3 | v4 v0"},
		{"{01..10}", "01 09 10 | 1 9"},
		{"{a..e..2}", "a c e | b d"},
		{"{3..1}", "1 2 3"},
		{"${a,b}", "${a,b} | $a"},
		{"@(a|b).c", "a.c b.c | .c ab.c"},
		{"?(a|b).c", "a.c b.c .c | ab.c"},
		{"*(a|b).c", "a.c .c abba.c | c.c"},
		{"+(a|b).c", "a.c abba.c | .c c.c"},
		{"!(a|b).c", "c.c ab.c .c | a.c b.c c.h"},
		{"!(*.test).c", "main.c | main.test.c main.h"},
		{"src/!(a)", "src/b src/aa | src/a a"},
		{"**/!(*.c|*.h)", "a.md d/a.md | a.c d/a.h"},
		{"!(a)*", "b ba | a ab"},
		{"!()", "a ab"},
		{"!(!(a))", "a | b"},
		{"a!(b)c", "ac axc abbc | abc"},
		{"+(a|+(b|c)d)", "a bd abcda | b"},
		{"*(a|b", "*(a|b xx(a|b | ab"},
		{"@(a)b)", "ab) | ab"},
		{"a(b)", "a(b) | ab"},
		{"!a", "b ab d/b | a d/a"},
		{"!!a", "a | b"},
		{"!*.c", "a.h | a.c d/a.c"},
		{"#a", "#a | a"},
		{"\\!a", "!a | b"},
	};
	for (size_t i = 0; i < COUNT(examples); i++)
		check_example(&examples[i]);
}

static void a_name_is_a_pattern_if_it_means_more_than_itself(void **state) {
	(void)state;
	static const char *const names[] = {"a", "a.c", "a(b)", "a!", "a+b", "my file", "!"};
	static const char *const patterns[] = {"*",   "a?",   "[a]",   "{a", "a/b",
	                                       "a\\", "@(a)", "x!(a)", "!a"};
	for (size_t i = 0; i < COUNT(names); i++)
		assert_false(st_glob_is_pattern(st_str(names[i])));
	for (size_t i = 0; i < COUNT(patterns); i++)
		assert_true(st_glob_is_pattern(st_str(patterns[i])));
}

static void check_refused(const char *pattern, const char *why) {
	struct st_glob *glob = NULL;
	struct stet_error err = {0};
	assert_int_equal(st_glob_new(st_str(pattern), &glob, &err), STET_E_INVALID);
	assert_non_null(strstr(err.message, why));
	assert_null(glob);
}

static void what_would_take_too_long_is_refused(void **state) {
	(void)state;
	st_auto(st_buf) text = ST_BUF_INIT;
	for (int i = 0; i < 5000; i++)
		st_buf_adds(&text, "a");
	check_refused(st_buf_cstr(&text), "up to 4096 bytes");
	check_refused("@(@(@(@(@(a)))))", "too deeply");
	check_refused("{1..5000}", "more than 1000 alternatives");
	check_refused("{0..9}{0..9}{0..9}{0..9}", "more than 1000 alternatives");
	st_buf_clear(&text);
	for (int i = 0; i < 17; i++)
		st_buf_adds(&text, "!(a)");
	check_refused(st_buf_cstr(&text), "too many \"!(...)\"");
}

/* Names that such patterns are slow with elsewhere, each as long as one can be. */
static void no_pattern_is_slow(void **state) {
	(void)state;
	static const char *const patterns[] = {
		"*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b",
		"+(a|aa|aaa)b",
		"+(+(+(+(a))))b",
		"*(a*(a*(a*(a))))b",
		"*(*a|*(a|*a)*a)b",
		"!(a)!(a)!(a)!(a)!(a)!(a)!(a)!(a)!(a)!(a)!(a)!(a)!(a)!(a)!(a)!(a)b",
		"!(*(a)!(*(a)!(*(a))))b",
		"+(!(a)a|!(aa)a|!(aaa)a)b",
		"?(a)?(a)?(a)?(a)?(a)?(a)?(a)?(a)?(a)?(a)?(a)?(a)?(a)?(a)?(a)?(a)b",
	};
	char name[255];
	memset(name, 'a', sizeof name);
	int64_t start = st_now_ms();
	for (size_t i = 0; i < COUNT(patterns); i++) {
		assert_false(matches(st_str(patterns[i]), st_strn(name, 254), false) &&
		             strchr(patterns[i], '!') == NULL);
		name[254] = 'b';
		matches(st_str(patterns[i]), st_strn(name, 255), false);
	}
	assert_true(st_now_ms() - start < 2000);
}

/* ---- against minimatch ---- */

enum { NAMES = 24 };

static const char *pick(struct gen *gen, const char *const *list, size_t count) {
	return list[gen_below(gen, count)];
}

#define PICK(gen, list) pick(gen, list, COUNT(list))

static void add_sequence(struct gen *gen, size_t most, size_t depth, struct st_buf *out);

static void add_choice(struct gen *gen, size_t depth, struct st_buf *out) {
	st_buf_addc(out, "?*+@!"[gen_below(gen, 5)]);
	for (size_t n = 1 + gen_below(gen, 3), i = 0; i < n; i++) {
		st_buf_addc(out, i ? '|' : '(');
		add_sequence(gen, 2, depth + 1, out);
	}
	st_buf_addc(out, ')');
}

static void add_atom(struct gen *gen, size_t depth, struct st_buf *out) {
	static const char *const plain[] = {"a", "b", "c", "ab", ".", "1", "\xc3\xa9", "-", "a"};
	static const char *const magic[] = {
		"*",  "?",    "[ab]", "[!a]",   "[a-c]", "\\*", "[.1]", "[[:alpha:]]", "[![:digit:]]",
		"**", "[a-]", "[]b]", "[b-a1]", "(",     "\\a"};
	static const char *const braces[] = {"{a,b}", "{a,}", "{1..3}", "{a,b{c,1}}", "{a..c}", "{a}"};
	size_t kind = gen_below(gen, 10);
	if (kind < 4)
		st_buf_adds(out, PICK(gen, plain));
	else if (kind < 7)
		st_buf_adds(out, PICK(gen, magic));
	else if (kind < 9 && depth < 3)
		add_choice(gen, depth, out);
	else
		st_buf_adds(out, depth == 0 ? PICK(gen, braces) : "b");
}

static void add_sequence(struct gen *gen, size_t most, size_t depth, struct st_buf *out) {
	for (size_t n = 1 + gen_below(gen, most); n > 0; n--)
		add_atom(gen, depth, out);
}

/* Mostly of sense; at times any characters that mean something. */
static void make_pattern(struct gen *gen, struct st_buf *out) {
	st_buf_clear(out);
	if (gen_one_in(gen, 12))
		st_buf_addc(out, '!');
	if (gen_one_in(gen, 5)) {
		for (size_t n = 1 + gen_below(gen, 9); n > 0; n--)
			st_buf_addc(out, "!?*+@()[]|^-.abab"[gen_below(gen, 17)]);
		return;
	}
	for (size_t n = 1 + gen_below(gen, 6) / 3, i = 0; i < n; i++) {
		st_buf_adds(out, i ? "/" : "");
		if (n > 1 && gen_one_in(gen, 4))
			st_buf_adds(out, "**");
		else
			add_sequence(gen, 4, 0, out);
	}
}

static void make_name(struct gen *gen, struct st_buf *out) {
	static const char *const letters[] = {"a", "b", "a",        "b",  "c",
	                                      "1", "-", "\xc3\xa9", "ab", ".a"};
	st_buf_clear(out);
	for (size_t n = 1 + gen_below(gen, 5) / 3, i = 0; i < n; i++) {
		st_buf_adds(out, i ? "/" : "");
		for (size_t k = 1 + gen_below(gen, 4); k > 0; k--)
			st_buf_adds(out, PICK(gen, letters));
	}
}

/* The patterns and names, with the answers of this library. */
static void add_question(struct gen *gen, struct st_buf *questions, struct st_buf *answers) {
	st_auto(st_buf) pattern = ST_BUF_INIT, name = ST_BUF_INIT;
	make_pattern(gen, &pattern);
	st_buf_addc(questions, '[');
	st_json_quote(questions, st_buf_str(&pattern));
	for (size_t i = 0; i < NAMES; i++) {
		make_name(gen, &name);
		st_buf_addc(questions, ',');
		st_json_quote(questions, st_buf_str(&name));
		bool match = matches(st_buf_str(&pattern), st_buf_str(&name), false);
		st_buf_addc(answers, match ? '1' : '0');
	}
	st_buf_adds(questions, "]\n");
	st_buf_addc(answers, '\n');
}

static struct st_str take_line(struct st_str *text) {
	const char *end = memchr(text->ptr, '\n', text->len);
	assert_non_null(end);
	struct st_str line = st_str_slice(*text, 0, (size_t)(end - text->ptr));
	*text = st_str_slice(*text, line.len + 1, text->len);
	return line;
}

static void patterns_match_as_in_minimatch(void **state) {
	const struct dir *dir = *state;
	st_auto(st_buf) questions = ST_BUF_INIT, answers = ST_BUF_INIT, theirs = ST_BUF_INIT;
	char node[600];
	size_t rounds = gen_rounds(5000, 200000), skipped = 0, matched = 0;
	snprintf(node, sizeof node, "%s/node", npm_or_skip(dir));
	for (size_t i = 0; i < rounds; i++) {
		struct gen gen = gen_new(gen_seed() + i);
		add_question(&gen, &questions, &answers);
	}
	dir_write_bytes(dir, "questions", questions.ptr, questions.len);
	const char *const argv[] = {node, STET_SOURCE_ROOT "/tests/npm/match.mjs", "questions", NULL};
	assert_int_equal(run(dir, &theirs, argv), 0);
	struct st_str asked = st_buf_str(&questions), ours = st_buf_str(&answers),
				  told = st_buf_str(&theirs);
	for (size_t i = 0; i < rounds; i++) {
		struct st_str question = take_line(&asked), own = take_line(&ours),
					  their = take_line(&told);
		skipped += st_str_eq(their, ST_STR("-"));
		for (size_t k = 0; k < own.len; k++)
			matched += own.ptr[k] == '1';
		if (!st_str_eq(their, ST_STR("-")) && !st_str_eq(own, their))
			fail_msg("%.*s\nours:   %.*s\ntheirs: %.*s", (int)question.len, question.ptr,
			         (int)own.len, own.ptr, (int)their.len, their.ptr);
	}
	print_message(
		"# %zu patterns, %d names each: %zu matches; %zu patterns with a known fault of "
		"minimatch left out\n",
		rounds, NAMES, matched, skipped);
	assert_true(skipped < rounds / 4 && matched > rounds);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(patterns_match_what_they_say),
		cmocka_unit_test(a_name_is_a_pattern_if_it_means_more_than_itself),
		cmocka_unit_test(what_would_take_too_long_is_refused),
		cmocka_unit_test(no_pattern_is_slow),
		claim(patterns_match_as_in_minimatch),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
