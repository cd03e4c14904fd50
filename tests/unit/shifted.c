/* A text whose lines are all indented by the same amount more or less. */
#include "text/patch/shifted.h"

#include "lib/gen.h"
#include "lib/tools.h"
#include "text/patch/edits.h"
#include "text/patch/replace.h"

static struct st_edited result;

static int edit(const char *text, const char *old, const char *new, struct st_buf *out) {
	const struct st_edit edits[] = {{st_str(old), st_str(new), false}};
	return st_edits_apply(st_str(text), edits, 1, 0, &result, out, NULL, NULL);
}

static void expect(const char *text, const char *old, const char *new, const char *wanted) {
	st_auto(st_buf) out = ST_BUF_INIT;
	assert_int_equal(edit(text, old, new, &out), 0);
	assert_string_equal(out.ptr, wanted);
	struct st_replace request = {.old_text = st_str(old), .new_text = st_str(new)};
	st_auto(st_replaced) done = {0};
	assert_int_equal(st_replace_apply(st_str(text), &request, &done, NULL), 0);
	assert_string_equal(done.text.ptr, wanted);
	assert_int_equal(done.shift.count, result.shift.count);
}

static void refused(const char *text, const char *old, const char *new) {
	st_auto(st_buf) out = ST_BUF_INIT;
	assert_int_equal(edit(text, old, new, &out), STET_E_NO_MATCH);
	struct st_replace request = {.old_text = st_str(old), .new_text = st_str(new)};
	st_auto(st_replaced) done = {0};
	assert_int_equal(st_replace_apply(st_str(text), &request, &done, NULL), STET_E_NO_MATCH);
}

static void lines_that_are_deeper_in_the_file(void **state) {
	(void)state;
	expect("f {\n    if (x)\n        y();\n}\n", "if (x)\n    y();\n", "if (z)\n    y();\n\nw();\n",
	       "f {\n    if (z)\n        y();\n\n    w();\n}\n");
	assert_int_equal(result.shift.count, 4);
	assert_false(result.shift.less);
	expect("{\n\t\ta;\n\t\tb;\n}", "\ta;\n\tb;", "\tc;", "{\n\t\tc;\n}");
}

static void lines_that_are_less_deep_in_the_file(void **state) {
	(void)state;
	expect("a:\n  b\n\n  c\nd\n", "      b\n\n      c\n", "      e\n        f\n",
	       "a:\n  e\n    f\nd\n");
	assert_int_equal(result.shift.count, 4);
	assert_true(result.shift.less);
	expect("x\r\n  y\r\n", "  x\n    y\n", "  z\n", "z\r\n");
}

static void never_two_places(void **state) {
	(void)state;
	refused("  a\n  b\n-\n    a\n    b\n", "a\nb\n", "c\n");
}

static void never_unequal_shifts(void **state) {
	(void)state;
	refused("  a\n   b\n", "a\nb\n", "c\n");
	refused("    a\nb\n", "  a\n  b\n", "  c\n");
}

static void never_tabs_for_blanks(void **state) {
	(void)state;
	refused("\ta\n\tb\n", "    a\n    b\n", "    c\n");
	refused(" \ta\n \tb\n", "a\nb\n", "c\n");
	refused("\t  a\n\t  b\n", "  a\n  b\n", "  c\n");
}

static void never_a_new_text_that_cannot_be_shifted(void **state) {
	(void)state;
	refused("a\nb\n", "    a\n    b\n", "c\n");
}

/* Wrapping lines in a block shifts them: the same edit again must not wrap them twice. */
static void never_an_edit_that_was_made(void **state) {
	(void)state;
	const char *old = "    a();\n    b();\n";
	const char *new = "    if (x) {\n        a();\n        b();\n    }\n";
	expect("{\n    a();\n    b();\n}\n", old, new,
	       "{\n    if (x) {\n        a();\n        b();\n    }\n}\n");
	refused("{\n    if (x) {\n        a();\n        b();\n    }\n}\n", old, new);
}

static void the_answers_say_it(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.c", "f {\n    x;\n    y;\n}\n");
	call(host, "edit_file",
	     "{'path': 'a.c', 'edits': [{'oldText': 'x;\\ny;\\n', 'newText': 'z;\\n'}]}");
	expect_file(host, "a.c", "f {\n    z;\n}\n");
	expect_str("note",
	           "oldText matched with 4 more spaces before each line; newText was indented alike.");
	expect_text("newText was indented alike");
	dir_write(host->dir, "b.c", "x;\n y;\n");
	call(host, "text_replace",
	     "{'filePath': 'b.c', 'oldText': ' x;\\n  y;\\n', 'newText': ' z;\\n'}");
	expect_file(host, "b.c", "z;\n");
	expect_str("note",
	           "oldText matched with 1 less space before each line; newText was indented alike.");
}

/* ---- by chance, against a model that tries every line and every shift ---- */

enum { LINES_MAX = 24, DEPTH_MAX = 6 };

struct code {
	size_t count;
	size_t depth[LINES_MAX];
	/* 0 for a blank line. */
	char word[LINES_MAX];
};

static void gen_code(struct gen *gen, struct code *code, size_t most) {
	code->count = 1 + gen_below(gen, most);
	for (size_t i = 0; i < code->count; i++) {
		code->depth[i] = gen_below(gen, DEPTH_MAX);
		code->word[i] = gen_one_in(gen, 6) ? 0 : (char)('a' + gen_below(gen, 3));
	}
}

static void add_code(struct st_buf *out, const struct code *code, char blank, long shift) {
	for (size_t i = 0; i < code->count; i++) {
		for (long k = 0; code->word[i] && k < (long)code->depth[i] + shift; k++)
			st_buf_addc(out, blank);
		if (code->word[i])
			st_buf_addc(out, code->word[i]);
		st_buf_addc(out, '\n');
	}
}

/* Whether lines of a text, from one on, are all of the old ones under a shift. */
static bool fits(const struct code *text, size_t at, const struct code *old, long shift) {
	for (size_t i = 0; i < old->count; i++) {
		if (at + i >= text->count || text->word[at + i] != old->word[i])
			return false;
		if (old->word[i] && (long)text->depth[at + i] != (long)old->depth[i] + shift)
			return false;
	}
	return true;
}

static bool is_all_blank(const struct code *code) {
	for (size_t i = 0; i < code->count; i++) {
		if (code->word[i])
			return false;
	}
	return true;
}

static bool can_shift(const struct code *code, long shift) {
	for (size_t i = 0; i < code->count; i++) {
		if (code->word[i] && (long)code->depth[i] + shift < 0)
			return false;
	}
	return true;
}

static void a_model_of_lines_agrees(void **state) {
	(void)state;
	size_t accepted = 0, ambiguous = 0;
	for (uint64_t seed = 1; seed <= 40000; seed++) {
		struct gen gen = gen_new(seed);
		struct code text, old, new;
		char blank = gen_one_in(&gen, 2) ? ' ' : '\t';
		gen_code(&gen, &text, LINES_MAX - 1);
		gen_code(&gen, &new, 4);
		/* Some lines of the text, shifted. */
		size_t first = gen_below(&gen, text.count);
		old = (struct code){.count = 1 + gen_below(&gen, text.count - first)};
		if (old.count > 4)
			old.count = 4;
		long away = (long)gen_below(&gen, 7) - 3;
		for (size_t i = 0; i < old.count; i++) {
			old.word[i] = text.word[first + i];
			long depth = (long)text.depth[first + i] - away;
			old.depth[i] = depth < 0 ? 0 : (size_t)depth;
		}
		st_auto(st_buf) whole = ST_BUF_INIT, given = ST_BUF_INIT, wanted = ST_BUF_INIT;
		st_auto(st_buf) fresh = ST_BUF_INIT, out = ST_BUF_INIT;
		add_code(&whole, &text, blank, 0);
		add_code(&given, &old, blank, 0);
		add_code(&fresh, &new, blank, 0);
		/* An exact match is not shifted, and blank lines alone do not match. */
		if (is_all_blank(&old) || strstr(whole.ptr, given.ptr))
			continue;

		size_t places = 0, place = 0;
		long shift = 0;
		for (size_t at = 0; at < text.count; at++) {
			for (long by = -2 * DEPTH_MAX; by <= 2 * DEPTH_MAX; by++) {
				if (by != 0 && fits(&text, at, &old, by)) {
					places++;
					place = at;
					shift = by;
				}
			}
		}
		bool taken = places == 1 && can_shift(&new, shift) && !strstr(whole.ptr, fresh.ptr);
		int code = edit(whole.ptr, given.ptr, fresh.ptr, &out);
		if (code != (taken ? 0 : STET_E_NO_MATCH))
			print_message("# seed %llu: %zu places\n%s---\n%s---\n%s", (unsigned long long)seed,
			              places, whole.ptr, given.ptr, fresh.ptr);
		assert_int_equal(code, taken ? 0 : STET_E_NO_MATCH);
		ambiguous += places > 1;
		if (!taken)
			continue;
		accepted++;
		struct code head = text, tail = text;
		head.count = place;
		tail.count = text.count - place - old.count;
		memmove(tail.depth, text.depth + place + old.count, tail.count * sizeof *tail.depth);
		memmove(tail.word, text.word + place + old.count, tail.count);
		add_code(&wanted, &head, blank, 0);
		add_code(&wanted, &new, blank, shift);
		add_code(&wanted, &tail, blank, 0);
		assert_string_equal(out.ptr, wanted.ptr);
	}
	/* Both happened, and often. */
	assert_true(accepted > 1000);
	assert_true(ambiguous > 100);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_that_are_deeper_in_the_file),
		cmocka_unit_test(lines_that_are_less_deep_in_the_file),
		cmocka_unit_test(never_two_places),
		cmocka_unit_test(never_unequal_shifts),
		cmocka_unit_test(never_tabs_for_blanks),
		cmocka_unit_test(never_a_new_text_that_cannot_be_shifted),
		cmocka_unit_test(never_an_edit_that_was_made),
		host_claim(the_answers_say_it),
		cmocka_unit_test(a_model_of_lines_agrees),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
