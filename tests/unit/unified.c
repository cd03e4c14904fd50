/* Unified diffs: what git writes, what patch and git apply take, and bounded. */
#include "base/utf8.h"
#include "lib/alloc.h"
#include "lib/gen.h"
#include "lib/run.h"
#include "lib/test.h"
#include "text/lines/lines.h"
#include "text/diff/unified.h"

/* Files for one run of an oracle; starting it costs more than comparing. */
enum { BATCH = 150 };

static void check_diff(struct st_str old, struct st_str new, const char *expected) {
	st_auto(st_buf) out = ST_BUF_INIT;
	struct st_diff_opts opts = ST_DIFF_OPTS("f");
	assert_int_equal(st_diff_unified(old, new, &opts, &out, NULL, NULL), 0);
	assert_string_equal(st_buf_cstr(&out), expected);
}

static void equal_texts_give_nothing(void **state) {
	(void)state;
	check_diff(ST_STR("a\n"), ST_STR("a\n"), "");
	check_diff(ST_STR(""), ST_STR(""), "");
}

static void a_change_is_shown_with_its_context(void **state) {
	(void)state;
	check_diff(ST_STR("1\n2\n3\n4\n5\n6\n7\n8\n9\n"), ST_STR("1\n2\n3\n4\nfive\n6\n7\n8\n9\n"),
	           "--- a/f\n+++ b/f\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
}

/* Lines "1" to "count", but for one. */
static void count_lines(struct st_buf *out, int count, int other, const char *text) {
	st_buf_clear(out);
	for (int i = 1; i <= count; i++) {
		if (i == other)
			st_buf_adds(out, text);
		else
			st_buf_addf(out, "%d\n", i);
	}
}

static void a_change_of_a_large_text_is_shown_as_of_a_small_one(void **state) {
	(void)state;
	st_auto(st_buf) old = ST_BUF_INIT;
	st_auto(st_buf) new = ST_BUF_INIT;
	count_lines(&old, 10000, 0, NULL);
	count_lines(&new, 10000, 5000, "five\n");
	check_diff(
		st_buf_str(&old), st_buf_str(&new),
		"--- a/f\n+++ b/f\n@@ -4997,7 +4997,7 @@\n 4997\n 4998\n 4999\n-5000\n+five\n 5001\n "
		"5002\n 5003\n");
	count_lines(&new, 10000, 5000, "");
	check_diff(
		st_buf_str(&old), st_buf_str(&new),
		"--- a/f\n+++ b/f\n@@ -4997,7 +4997,6 @@\n 4997\n 4998\n 4999\n-5000\n 5001\n 5002\n "
		"5003\n");
}

/* Lines added to a long run of equal lines are shown at its end, however long it is. */
static void a_hunk_slides_out_of_what_was_looked_at(void **state) {
	(void)state;
	st_auto(st_buf) old = ST_BUF_INIT;
	st_auto(st_buf) new = ST_BUF_INIT;
	st_buf_adds(&old, "first\n");
	st_buf_adds(&new, "first\n");
	for (int i = 0; i < 100; i++) {
		st_buf_adds(&old, "x\n");
		st_buf_adds(&new, i == 50 ? "x\nx\n" : "x\n");
	}
	st_buf_adds(&old, "last\n");
	st_buf_adds(&new, "last\n");
	check_diff(st_buf_str(&old), st_buf_str(&new),
	           "--- a/f\n+++ b/f\n@@ -99,4 +99,5 @@\n x\n x\n x\n+x\n last\n");
	check_diff(st_buf_str(&new), st_buf_str(&old),
	           "--- a/f\n+++ b/f\n@@ -99,5 +99,4 @@\n x\n x\n x\n-x\n last\n");
}

static void an_empty_side_is_line_zero(void **state) {
	(void)state;
	check_diff(ST_STR(""), ST_STR("a\n"), "--- a/f\n+++ b/f\n@@ -0,0 +1 @@\n+a\n");
	check_diff(ST_STR("a\nb\n"), ST_STR(""), "--- a/f\n+++ b/f\n@@ -1,2 +0,0 @@\n-a\n-b\n");
}

static void a_missing_final_newline_is_said(void **state) {
	(void)state;
	check_diff(ST_STR("a\nb"), ST_STR("a\nb\n"),
	           "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n");
	check_diff(ST_STR("a\nb"), ST_STR("A\nb"),
	           "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-a\n+A\n b\n\\ No newline at end of file\n");
}

static void bytes_pass_through_unchanged(void **state) {
	(void)state;
	check_diff(ST_STR("\xEF\xBB\xBF"
	                  "a\r\n\xFF\n"),
	           ST_STR("\xEF\xBB\xBF"
	                  "a\n\xFF\n"),
	           "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-\xEF\xBB\xBF"
	           "a\r\n+\xEF\xBB\xBF"
	           "a\n \xFF\n");
}

/* Mostly a text and what some changes make of it; at times two that share but blanks and braces. */
static void generate_pair(uint64_t seed, struct st_buf *old, struct st_buf *new) {
	struct gen gen = gen_new(seed);
	struct gen_style style = {.max_lines = 1 + gen_below(&gen, 80),
	                          .words = 1 + gen_below(&gen, gen_one_in(&gen, 2) ? 6 : 200),
	                          .flags = GEN_ANY};
	struct gen_style strangers = {.max_lines = 800, .words = 10000, .common = 6};

	if (gen_one_in(&gen, 20)) {
		gen_text(&gen, &strangers, old);
		gen_text(&gen, &strangers, new);
	} else {
		gen_text(&gen, &style, old);
		gen_edit(&gen, &style, st_buf_str(old), gen_below(&gen, 10), new);
	}
}

/*
 * Write two files for each number, in old/ and new/, and append our diff of each pair
 * to one text.
 */
static void generate(const struct dir *dir, uint64_t seed, struct st_buf *diffs) {
	st_auto(st_buf) old = ST_BUF_INIT;
	st_auto(st_buf) new = ST_BUF_INIT;
	st_auto(st_buf) diff = ST_BUF_INIT;

	st_buf_clear(diffs);
	for (int i = 0; i < BATCH; i++) {
		char names[2][32];
		snprintf(names[0], sizeof names[0], "old/%03d", i);
		snprintf(names[1], sizeof names[1], "new/%03d", i);
		generate_pair(seed + (uint64_t)i, &old, &new);
		dir_write_bytes(dir, names[0], st_buf_cstr(&old), old.len);
		dir_write_bytes(dir, names[1], st_buf_cstr(&new), new.len);
		struct st_diff_opts opts = {names[0], names[1], .context = 3};
		assert_int_equal(
			st_diff_unified(st_buf_str(&old), st_buf_str(&new), &opts, &diff, NULL, NULL), 0);
		st_buf_add(diffs, st_buf_str(&diff));
	}
}

/* Drop what git says beyond a plain unified diff: its own headers, and the function names. */
static void strip_git(struct st_str text, struct st_buf *out) {
	st_auto(st_lines) lines = {0};
	assert_int_equal(st_lines_init_lf(&lines, text, NULL), 0);
	for (size_t n = 1; n <= lines.count; n++) {
		struct st_str line = st_lines_whole(&lines, n);
		if (st_str_starts(line, ST_STR("diff --git ")) || st_str_starts(line, ST_STR("index ")))
			continue;
		if (st_str_starts(line, ST_STR("@@ "))) {
			const char *end = memmem(line.ptr + 3, line.len - 3, "@@", 2);
			st_buf_add(out, st_strn(line.ptr, (size_t)(end + 2 - line.ptr)));
			st_buf_addc(out, '\n');
		} else {
			st_buf_add(out, line);
		}
	}
}

static void diffs_are_those_of_git(void **state) {
	struct dir *dir = *state;
	size_t rounds = gen_rounds(5, 500);

	for (size_t i = 0; i < rounds; i++) {
		st_auto(st_buf) ours = ST_BUF_INIT;
		st_auto(st_buf) raw = ST_BUF_INIT;
		st_auto(st_buf) gits = ST_BUF_INIT;
		generate(dir, gen_seed() + i * BATCH, &ours);
		assert_int_equal(run(dir, &raw,
		                     (const char *[]){"git", "diff", "--no-index", "--text",
		                                      "--no-indent-heuristic", "old", "new", NULL}),
		                 1);
		strip_git(st_buf_str(&raw), &gits);
		assert_string_equal(st_buf_cstr(&ours), st_buf_cstr(&gits));
	}
}

/* Whether the files in two directories hold the same. */
static void assert_same_files(const struct dir *dir, const char *one, const char *other) {
	assert_int_equal(run(dir, NULL, (const char *[]){"diff", "-r", one, other, NULL}), 0);
}

static void make_target(const struct dir *dir, const char *from) {
	assert_int_equal(run(dir, NULL, (const char *[]){"rm", "-rf", "target", NULL}), 0);
	assert_int_equal(run(dir, NULL, (const char *[]){"cp", "-r", from, "target", NULL}), 0);
}

static void patch_takes_diffs_forward_and_back(void **state) {
	struct dir *dir = *state;
	size_t rounds = gen_rounds(2, 200);

	for (size_t i = 0; i < rounds; i++) {
		st_auto(st_buf) diffs = ST_BUF_INIT;
		generate(dir, gen_seed() + i * BATCH, &diffs);
		dir_write_bytes(dir, "diff", diffs.ptr, diffs.len);
		make_target(dir, "old");
		assert_int_equal(run(dir, NULL,
		                     (const char *[]){"patch", "-s", "-p2", "-F0", "-d", "target", "-i",
		                                      "../diff", NULL}),
		                 0);
		assert_same_files(dir, "target", "new");
		assert_int_equal(run(dir, NULL,
		                     (const char *[]){"patch", "-s", "-p2", "-F0", "-R", "-d", "target",
		                                      "-i", "../diff", NULL}),
		                 0);
		assert_same_files(dir, "target", "old");
	}
}

static int git_apply(const struct dir *dir, const char *option, const char *strip) {
	return run(dir, NULL,
	           (const char *[]){"git", "apply", "--whitespace=nowarn", "--directory=target", strip,
	                            "diff", option, NULL});
}

static void git_apply_takes_diffs_forward_and_back(void **state) {
	struct dir *dir = *state;
	size_t rounds = gen_rounds(2, 200);

	for (size_t i = 0; i < rounds; i++) {
		st_auto(st_buf) diffs = ST_BUF_INIT;
		generate(dir, gen_seed() + i * BATCH, &diffs);
		dir_write_bytes(dir, "diff", diffs.ptr, diffs.len);
		make_target(dir, "old");
		assert_int_equal(git_apply(dir, NULL, "-p2"), 0);
		assert_same_files(dir, "target", "new");
		assert_int_equal(git_apply(dir, "-R", "-p2"), 0);
		assert_same_files(dir, "target", "old");
	}
}

static void check_names(const struct dir *dir, const char *old_name, const char *new_name,
                        struct st_str old, struct st_str new) {
	st_auto(st_buf) out = ST_BUF_INIT;
	struct st_diff_opts opts = {old_name, new_name, .context = 3};
	const char *name = old_name ? old_name : new_name;
	char path[300];

	assert_int_equal(st_diff_unified(old, new, &opts, &out, NULL, NULL), 0);
	dir_write_bytes(dir, "diff", out.ptr, out.len);
	snprintf(path, sizeof path, "target/%s", name);
	for (int git = 0; git < 2; git++) {
		assert_int_equal(run(dir, NULL, (const char *[]){"rm", "-rf", "target", NULL}), 0);
		mkdir(dir_at(dir, "target"), 0755);
		if (old_name)
			dir_write_bytes(dir, path, old.ptr, old.len);
		int status = git ? git_apply(dir, NULL, "-p1")
		                 : run(dir, NULL,
		                       (const char *[]){"patch", "-s", "-p1", "-d", "target", "-i",
		                                        "../diff", NULL});
		assert_int_equal(status, 0);
		assert_int_equal(dir_has(dir, path), new_name != NULL);
		if (new_name)
			assert_true(st_str_eq(st_str(dir_read(dir, path)), new));
	}
}

static void a_file_is_created_and_deleted(void **state) {
	check_names(*state, NULL, "made.txt", ST_STR(""), ST_STR("one\ntwo"));
	check_names(*state, "gone.txt", NULL, ST_STR("one\ntwo\n"), ST_STR(""));
}

static void odd_names_are_quoted_so_that_they_come_back(void **state) {
	static const char *const names[] = {
		"plain.c",           "with blank.c", "quo\"te",     "back\\slash", "tab\there",
		"\xC3\xA9t\xC3\xA9", "latin\xE9",    "bell\a\0017", "del\x7F",     "sub dir/a b\tc",
	};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		check_names(*state, names[i], names[i], ST_STR("a\n"), ST_STR("b\n"));
}

static void names_look_as_in_git(void **state) {
	(void)state;
	st_auto(st_buf) out = ST_BUF_INIT;
	struct st_diff_opts opts = {"a b\n\"\\\xE9", "\xC3\xA9 x", .context = 0};
	assert_int_equal(st_diff_unified(ST_STR("a\n"), ST_STR("b\n"), &opts, &out, NULL, NULL), 0);
	assert_string_equal(out.ptr,
	                    "--- \"a/a b\\n\\\"\\\\\\351\"\t\n+++ b/\xC3\xA9 x\t\n"
	                    "@@ -1 +1 @@\n-a\n+b\n");
}

/* How many lines a head such as "@@ -1,2 +3,4 @@" promises behind a sign. */
static size_t promised(const char *head, char sign, size_t *start) {
	char *end;
	*start = strtoul(strchr(head, sign) + 1, &end, 10);
	return *end == ',' ? strtoul(end + 1, NULL, 10) : 1;
}

/*
 * What a reader sees of the new text: line numbers under each "@@", read off
 * the diff itself. The heads must keep their promises, in a cut diff too.
 */
static void read_shown(struct st_str diff, bool *displayed) {
	st_auto(st_lines) lines = {0};
	size_t old = 0, new = 0, next = 0, start;

	assert_int_equal(st_lines_init_lf(&lines, diff, NULL), 0);
	for (size_t n = 3; n <= lines.count; n++) {
		struct st_str line = st_lines_whole(&lines, n);
		char sign = line.ptr[0];
		if (sign == '@') {
			assert_true(old == 0 && new == 0);
			old = promised(line.ptr, '-', &start);
			new = promised(line.ptr, '+', &next);
		}
		old -= sign == ' ' || sign == '-';
		new -= sign == ' ' || sign == '+';
		/* Lines that were cut are not seen. */
		if (sign == ' ' || sign == '+')
			displayed[next++] = !memmem(line.ptr, line.len, "... [line cut: ", 15);
	}
	assert_true(old == 0 && new == 0);
}

static void check_shown(struct st_str diff, const struct st_diff_report *report, size_t count) {
	bool *displayed = calloc(count + 2, sizeof *displayed);
	size_t before = 0;

	read_shown(diff, displayed);
	for (size_t i = 0; i < report->displayed_count; i++) {
		struct st_diff_range range = report->displayed[i];
		assert_true(range.first > before && range.first <= range.last && range.last <= count);
		for (size_t n = range.first; n <= range.last; n++) {
			assert_true(displayed[n]);
			displayed[n] = false;
		}
		before = range.last + 1;
	}
	for (size_t n = 0; n <= count; n++)
		assert_false(displayed[n]);
	free(displayed);
}

/* Nothing is over the bound, nothing is cut that would fit, and a cut is said. */
static void check_bound(struct st_str old, struct st_str new, struct st_str whole, size_t max) {
	st_auto(st_buf) out = ST_BUF_INIT;
	st_auto(st_diff_report) report = {0};
	struct st_diff_opts opts = ST_DIFF_OPTS("f");
	opts.max_bytes = max;

	assert_int_equal(st_diff_unified(old, new, &opts, &out, &report, NULL), 0);
	assert_true(out.len <= max);
	assert_int_equal(report.truncated, whole.len > max);
	if (!report.truncated) {
		assert_true(st_str_eq(st_buf_str(&out), whole));
	} else if (out.len) {
		assert_true(st_str_ends(st_buf_str(&out), ST_STR(" changed lines shown ...\n")));
		assert_non_null(strstr(out.ptr, "... diff cut here: "));
	}
	check_shown(st_buf_str(&out), &report, st_line_count(new));
}

static void a_bound_is_kept_and_what_was_shown_is_known(void **state) {
	(void)state;
	st_auto(st_buf) old = ST_BUF_INIT;
	st_auto(st_buf) new = ST_BUF_INIT;
	st_auto(st_buf) whole = ST_BUF_INIT;
	struct st_diff_opts opts = ST_DIFF_OPTS("f");
	size_t rounds = gen_rounds(3000, 100000);

	for (size_t i = 0; i < rounds; i++) {
		struct gen gen = gen_new(gen_seed() + i);
		struct gen_style style = {.max_lines = 100, .words = 50, .flags = GEN_ANY & ~GEN_CR};
		gen_text(&gen, &style, &old);
		gen_edit(&gen, &style, st_buf_str(&old), 1 + gen_below(&gen, 10), &new);
		assert_int_equal(
			st_diff_unified(st_buf_str(&old), st_buf_str(&new), &opts, &whole, NULL, NULL), 0);
		size_t near = whole.len + 1 + gen_below(&gen, 3);
		check_bound(st_buf_str(&old), st_buf_str(&new), st_buf_str(&whole), near - 2);
		check_bound(st_buf_str(&old), st_buf_str(&new), st_buf_str(&whole),
		            1 + gen_below(&gen, near));
	}
}

/* Of a difference that is there already, cut or not, the same is shown. */
static void check_of(struct st_str old, struct st_str new, size_t max) {
	st_auto(st_diff) diff = {0};
	st_auto(st_buf) one = ST_BUF_INIT, other = ST_BUF_INIT;
	st_auto(st_diff_report) displayed = {0}, again = {0};
	struct st_diff_opts opts = ST_DIFF_OPTS("f");
	opts.max_bytes = max;
	assert_int_equal(st_diff_init(&diff, old, new, NULL), 0);
	assert_int_equal(st_diff_unified(old, new, &opts, &one, &displayed, NULL), 0);
	assert_int_equal(st_diff_unified_of(&diff, &opts, &other, &again, NULL), 0);
	assert_true(st_str_eq(st_buf_str(&one), st_buf_str(&other)));
	assert_int_equal(displayed.truncated, again.truncated);
	assert_int_equal(displayed.added, again.added);
	assert_int_equal(displayed.removed, again.removed);
	assert_int_equal(displayed.displayed_count, again.displayed_count);
	if (displayed.displayed_count > 0)
		assert_memory_equal(displayed.displayed, again.displayed,
		                    displayed.displayed_count * sizeof *displayed.displayed);
}

static void a_difference_that_is_there_is_shown_as_one_that_is_made(void **state) {
	(void)state;
	st_auto(st_buf) old = ST_BUF_INIT;
	st_auto(st_buf) new = ST_BUF_INIT;
	size_t rounds = gen_rounds(2000, 50000);

	for (size_t i = 0; i < rounds; i++) {
		struct gen gen = gen_new(gen_seed() + i);
		generate_pair(gen_seed() + i, &old, &new);
		check_of(st_buf_str(&old), st_buf_str(&new), 0);
		check_of(st_buf_str(&old), st_buf_str(&new), 1 + gen_below(&gen, 2000));
	}
}

static void a_cut_comes_after_a_hunk_if_one_is_near(void **state) {
	(void)state;
	st_auto(st_buf) old = ST_BUF_INIT;
	st_auto(st_buf) new = ST_BUF_INIT;
	st_auto(st_buf) out = ST_BUF_INIT;
	st_auto(st_diff_report) report = {0};
	struct st_diff_opts opts = ST_DIFF_OPTS("f");

	for (size_t n = 1; n <= 400; n++) {
		st_buf_addf(&old, "line %zu\n", n);
		st_buf_addf(&new, "line %zu%s\n", n, n % 20 == 0 ? " changed" : "");
	}
	opts.max_bytes = 500;
	assert_int_equal(
		st_diff_unified(st_buf_str(&old), st_buf_str(&new), &opts, &out, &report, NULL), 0);
	assert_non_null(strstr(out.ptr, "\n line 63\n... diff cut here: 6 of 40 changed lines shown"));
	assert_true(report.truncated);
	assert_int_equal(report.added, 20);
	assert_int_equal(report.removed, 20);
	assert_int_equal(report.displayed_count, 3);
	assert_int_equal(report.displayed[2].first, 57);
	assert_int_equal(report.displayed[2].last, 63);
}

static void a_long_line_is_cut_visibly(void **state) {
	(void)state;
	st_auto(st_buf) old = ST_BUF_INIT;
	st_auto(st_buf) new = ST_BUF_INIT;
	st_auto(st_buf) out = ST_BUF_INIT;
	st_auto(st_diff_report) report = {0};
	struct st_diff_opts opts = ST_DIFF_OPTS("f.min.js");

	for (size_t i = 0; i < 1000000; i++)
		st_buf_adds(&old,
		            "\xE2\x82\xAC"
		            "ab");
	st_buf_add(&new, st_buf_str(&old));
	st_buf_adds(&new, ";\nlast\n");
	opts.max_bytes = 16 << 10;
	assert_int_equal(
		st_diff_unified(st_buf_str(&old), st_buf_str(&new), &opts, &out, &report, NULL), 0);
	assert_true(out.len <= opts.max_bytes);
	assert_non_null(strstr(out.ptr, "... [line cut: 4998"));
	assert_non_null(
		strstr(out.ptr, "\n+last\n... diff cut here: 1 of 3 changed lines shown ...\n"));
	assert_true(st_utf8_valid(st_buf_str(&out)));
	assert_true(report.truncated);
	assert_int_equal(report.displayed_count, 1);
	assert_int_equal(report.displayed[0].first, 2);
	assert_int_equal(report.displayed[0].last, 2);
}

static void shown_lines_are_counted_as_everywhere_else(void **state) {
	(void)state;
	st_auto(st_buf) out = ST_BUF_INIT;
	st_auto(st_diff_report) report = {0};
	struct st_diff_opts opts = {"f", "f", .context = 0};

	/* Two lone CRs above: line 2 for diff is line 4 for text/lines/lines.h. */
	assert_int_equal(st_diff_unified(ST_STR("1\r2\r3\n4\n5\n"), ST_STR("1\r2\r3\nx\ry\n5\n"), &opts,
	                                 &out, &report, NULL),
	                 0);
	assert_string_equal(out.ptr, "--- a/f\n+++ b/f\n@@ -2 +2 @@\n-4\n+x\ry\n");
	assert_int_equal(report.displayed_count, 1);
	assert_int_equal(report.displayed[0].first, 4);
	assert_int_equal(report.displayed[0].last, 5);
}

static void running_out_of_memory_leaves_the_output_alone(void **state) {
	(void)state;
	struct st_str old = ST_STR("a\nb\nc\nd\ne\nf\ng\nh\n"),
				  new = ST_STR("A\nb\nc\nd\ne\nf\ng\nH\n");
	static const size_t bounds[] = {0, 130};

	for (size_t i = 0; i < 2; i++) {
		bool failed = true;
		size_t n = 0;
		while (failed) {
			st_auto(st_buf) out = ST_BUF_INIT;
			st_auto(st_diff_report) report = {0};
			struct st_diff_opts opts = {"f", "f", .context = 1, .max_bytes = bounds[i]};
			st_buf_adds(&out, "kept");
			alloc_fail_at(++n);
			int code = st_diff_unified(old, new, &opts, &out, &report, NULL);
			failed = alloc_has_failed();
			assert_int_equal(code, failed ? STET_E_NOMEM : 0);
			assert_int_equal(strcmp(out.ptr, "kept") == 0, failed);
			assert_int_equal(report.added, failed ? 0 : 2);
		}
		assert_true(n > 8);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_texts_give_nothing),
		cmocka_unit_test(a_change_is_shown_with_its_context),
		cmocka_unit_test(a_change_of_a_large_text_is_shown_as_of_a_small_one),
		cmocka_unit_test(a_hunk_slides_out_of_what_was_looked_at),
		cmocka_unit_test(an_empty_side_is_line_zero),
		cmocka_unit_test(a_missing_final_newline_is_said),
		cmocka_unit_test(bytes_pass_through_unchanged),
		claim(diffs_are_those_of_git),
		claim(patch_takes_diffs_forward_and_back),
		claim(git_apply_takes_diffs_forward_and_back),
		claim(a_file_is_created_and_deleted),
		claim(odd_names_are_quoted_so_that_they_come_back),
		cmocka_unit_test(names_look_as_in_git),
		cmocka_unit_test(a_bound_is_kept_and_what_was_shown_is_known),
		cmocka_unit_test(a_difference_that_is_there_is_shown_as_one_that_is_made),
		cmocka_unit_test(a_cut_comes_after_a_hunk_if_one_is_near),
		cmocka_unit_test(a_long_line_is_cut_visibly),
		cmocka_unit_test(shown_lines_are_counted_as_everywhere_else),
		cmocka_unit_test(running_out_of_memory_leaves_the_output_alone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
