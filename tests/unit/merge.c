/* Three-way merges: the outcome of git merge-file, and nobody's change is lost. */
#include "lib/alloc.h"
#include "lib/gen.h"
#include "lib/run.h"
#include "lib/test.h"
#include "text/diff/merge.h"

enum { BASE, AGENT, DISK };

static int merge(const struct st_buf texts[3], struct st_buf *out, struct st_merge_result *result) {
	return st_merge(st_buf_str(&texts[BASE]), st_buf_str(&texts[AGENT]), st_buf_str(&texts[DISK]),
	                out, result, NULL);
}

static void release_all(struct st_buf texts[3]) {
	for (int i = 0; i < 3; i++)
		st_buf_release(&texts[i]);
}

static void generate(uint64_t seed, size_t max_lines, struct st_buf texts[3]) {
	struct gen gen = gen_new(seed);
	struct gen_style style = {.max_lines = 1 + gen_below(&gen, max_lines),
	                          .words = 1 + gen_below(&gen, gen_one_in(&gen, 2) ? 6 : 300),
	                          .flags = GEN_ANY};
	gen_text(&gen, &style, &texts[BASE]);
	for (int i = AGENT; i <= DISK; i++)
		gen_edit(&gen, &style, st_buf_str(&texts[BASE]), 1 + gen_below(&gen, 4 + max_lines / 200),
		         &texts[i]);
}

_Noreturn static void give_counterexample(uint64_t seed, struct st_buf texts[3],
                                          bool (*fails)(const struct st_buf *, void *), void *arg) {
	gen_shrink(texts, 3, fails, arg);
	gen_show("base", st_buf_str(&texts[BASE]));
	gen_show("agent", st_buf_str(&texts[AGENT]));
	gen_show("disk", st_buf_str(&texts[DISK]));
	fail_msg("seed %zu", (size_t)seed);
	abort();
}

/* How stet and git judge the same three texts. */
enum verdict { BOTH_MERGE, BOTH_REFUSE, STRICTER_THAN_GIT, WRONG, VERDICTS };

static enum verdict judge(const struct dir *dir, const struct st_buf texts[3]) {
	static const char *const names[] = {"base", "agent", "disk"};
	st_auto(st_buf) ours = ST_BUF_INIT;
	st_auto(st_buf) gits = ST_BUF_INIT;
	st_auto(st_merge_result) result = {0};

	for (int i = 0; i < 3; i++)
		dir_write_bytes(dir, names[i], st_buf_cstr(&texts[i]), texts[i].len);
	int status =
		run(dir, &gits,
	        (const char *[]){"git", "merge-file", "-p", "-q", "agent", "base", "disk", NULL});
	/* The number of conflicts, or 255 for an error. */
	assert_true(status < 128);
	int code = merge(texts, &ours, &result);
	if (code == STET_E_CONFLICT)
		return status ? BOTH_REFUSE : STRICTER_THAN_GIT;
	bool same = code == 0 && status == 0 && st_str_eq(st_buf_str(&ours), st_buf_str(&gits));
	return same ? BOTH_MERGE : WRONG;
}

static bool differs_from_git(const struct st_buf *texts, void *dir) {
	return judge(dir, texts) >= STRICTER_THAN_GIT;
}

static void check_against_git(struct dir *dir, size_t max_lines, size_t rounds) {
	size_t counts[VERDICTS] = {0};
	struct st_buf texts[3] = {0};

	for (size_t i = 0; i < rounds; i++) {
		generate(gen_seed() + i, max_lines, texts);
		enum verdict verdict = judge(dir, texts);
		counts[verdict]++;
		if (verdict == WRONG)
			give_counterexample(gen_seed() + i, texts, differs_from_git, dir);
	}
	print_message("# %zu merged, %zu refused, %zu refused that git merges\n", counts[BOTH_MERGE],
	              counts[BOTH_REFUSE], counts[STRICTER_THAN_GIT]);
	assert_true(counts[BOTH_MERGE] > rounds / 10);
	assert_true(counts[BOTH_REFUSE] > rounds / 10);
	assert_true(counts[STRICTER_THAN_GIT] <= rounds / 1000);
	release_all(texts);
}

static void small_texts_merge_as_with_git(void **state) {
	check_against_git(*state, 60, gen_rounds(1000, 50000));
}

static void large_texts_merge_as_with_git(void **state) {
	check_against_git(*state, 3000, gen_rounds(100, 2000));
}

/* Take the foreign hunks out of a merged text again. */
static void undo(const struct st_merge_result *result, struct st_str merged, struct st_str agent,
                 struct st_buf *out) {
	st_auto(st_lines) from = {0};
	st_auto(st_lines) to = {0};
	size_t done = 0;

	assert_int_equal(st_lines_init_lf(&from, merged, NULL), 0);
	assert_int_equal(st_lines_init_lf(&to, agent, NULL), 0);
	for (size_t i = 0; i < result->foreign_count; i++) {
		const struct st_hunk *hunk = &result->foreign[i];
		st_buf_add(out, st_lines_range(&from, done + 1, hunk->new_start));
		st_buf_add(out,
		           st_lines_range(&to, hunk->old_start + 1, hunk->old_start + hunk->old_count));
		done = hunk->new_start + hunk->new_count;
	}
	st_buf_add(out, st_lines_range(&from, done + 1, from.count));
}

/*
 * Whoever is called the agent, the merged text is the same, and without the
 * other's hunks it is that side's own text: so all of both is in it.
 */
static bool loses_something(const struct st_buf *texts, void *merges) {
	st_auto(st_buf) merged = ST_BUF_INIT;
	st_auto(st_buf) swapped = ST_BUF_INIT;
	st_auto(st_buf) agent = ST_BUF_INIT;
	st_auto(st_buf) disk = ST_BUF_INIT;
	st_auto(st_merge_result) result = {0};
	st_auto(st_merge_result) other = {0};
	struct st_buf mirrored[3] = {texts[BASE], texts[DISK], texts[AGENT]};

	int code = merge(texts, &merged, &result);
	if (merge(mirrored, &swapped, &other) != code)
		return true;
	if (code == STET_E_CONFLICT)
		return merged.len || result.foreign_count || !result.overlap_count;
	undo(&result, st_buf_str(&merged), st_buf_str(&texts[AGENT]), &agent);
	undo(&other, st_buf_str(&merged), st_buf_str(&texts[DISK]), &disk);
	++*(size_t *)merges;
	return code != 0 || result.overlap_count ||
	       !st_str_eq(st_buf_str(&merged), st_buf_str(&swapped)) ||
	       !st_str_eq(st_buf_str(&agent), st_buf_str(&texts[AGENT])) ||
	       !st_str_eq(st_buf_str(&disk), st_buf_str(&texts[DISK]));
}

static void a_merged_text_holds_the_changes_of_both(void **state) {
	(void)state;
	struct st_buf texts[3] = {0};
	size_t merges = 0, rounds = gen_rounds(10000, 500000);

	for (size_t i = 0; i < rounds; i++) {
		generate(gen_seed() + i, 60, texts);
		if (loses_something(texts, &merges))
			give_counterexample(gen_seed() + i, texts, loses_something, &merges);
	}
	assert_true(merges > rounds / 10);
	release_all(texts);
}

static void check_merge(struct st_str base, struct st_str agent, struct st_str disk,
                        const char *expected) {
	st_auto(st_buf) out = ST_BUF_INIT;
	st_auto(st_merge_result) result = {0};
	assert_int_equal(st_merge(base, agent, disk, &out, &result, NULL), 0);
	assert_string_equal(st_buf_cstr(&out), expected);
}

static void check_conflict(struct st_str base, struct st_str agent, struct st_str disk,
                           struct st_merge_overlap overlap) {
	st_auto(st_buf) out = ST_BUF_INIT;
	st_auto(st_merge_result) result = {0};
	st_buf_adds(&out, "kept");
	assert_int_equal(st_merge(base, agent, disk, &out, &result, NULL), STET_E_CONFLICT);
	assert_string_equal(out.ptr, "kept");
	assert_int_equal(result.foreign_count, 0);
	assert_int_equal(result.overlap_count, 1);
	assert_memory_equal(&result.overlaps[0], &overlap, sizeof overlap);
}

static void changes_with_a_line_between_them_merge(void **state) {
	(void)state;
	check_merge(ST_STR("a\nb\nc\n"), ST_STR("A\nb\nc\n"), ST_STR("a\nb\nC\n"), "A\nb\nC\n");
	check_merge(ST_STR("a\nb\nc\n"), ST_STR("b\nc\n"), ST_STR("a\nb\nc\nd\n"), "b\nc\nd\n");
}

static void changes_that_touch_do_not(void **state) {
	(void)state;
	check_conflict(ST_STR("a\nb\nc\n"), ST_STR("A\nb\nc\n"), ST_STR("a\nB\nc\n"),
	               (struct st_merge_overlap){{0, 2}, {0, 2}, {0, 2}});
	check_conflict(ST_STR("a\nb\n"), ST_STR("a\nx\nb\n"), ST_STR("a\ny\nz\nb\n"),
	               (struct st_merge_overlap){{1, 0}, {1, 1}, {1, 2}});
}

static void a_change_to_what_was_removed_is_a_conflict(void **state) {
	(void)state;
	check_conflict(ST_STR("a\nb\nc\n"), ST_STR("a\nB\nc\n"), ST_STR("a\nc\n"),
	               (struct st_merge_overlap){{1, 1}, {1, 1}, {1, 0}});
}

static void the_same_change_on_both_sides_is_made_once(void **state) {
	(void)state;
	check_merge(ST_STR("a\nb\nc\n"), ST_STR("a\nX\nc\n"), ST_STR("a\nX\nc\n"), "a\nX\nc\n");
	check_merge(ST_STR("a\nb\nc\nd\n"), ST_STR("a\nX\nc\nD\n"), ST_STR("a\nX\nc\nd\n"),
	            "a\nX\nc\nD\n");
}

static void one_side_that_changed_nothing_leaves_the_other(void **state) {
	(void)state;
	check_merge(ST_STR("a\n"), ST_STR("a\n"), ST_STR("b"), "b");
	check_merge(ST_STR("a\n"), ST_STR("b"), ST_STR("a\n"), "b");
	check_merge(ST_STR(""), ST_STR(""), ST_STR(""), "");
}

static void a_final_newline_is_merged_like_any_other_change(void **state) {
	(void)state;
	check_merge(ST_STR("a\nb\nc\n"), ST_STR("A\nb\nc\n"), ST_STR("a\nb\nc"), "A\nb\nc");
	check_merge(ST_STR("a\nb\nc"), ST_STR("A\nb\nc"), ST_STR("a\nb\nc\n"), "A\nb\nc\n");
	check_conflict(ST_STR("a\nb"), ST_STR("a\nb\nc"), ST_STR("a\nb\n"),
	               (struct st_merge_overlap){{1, 1}, {1, 2}, {1, 1}});
}

static void each_line_keeps_its_own_ending(void **state) {
	(void)state;
	check_merge(ST_STR("a\r\nb\nc\r\n"), ST_STR("a\r\nb\nC\r\n"), ST_STR("\xFF\r\nb\nc\r\n"),
	            "\xFF\r\nb\nC\r\n");
}

static void foreign_hunks_say_where_they_are_in_the_merged_text(void **state) {
	(void)state;
	st_auto(st_buf) out = ST_BUF_INIT;
	st_auto(st_merge_result) result = {0};
	struct st_str base = ST_STR("1\n2\n3\n4\n5\n6\n7\n"),
				  agent = ST_STR("0\n1\n2\n3\n4\n5\n6\n7\n"),
				  disk = ST_STR("1\n2\nx\ny\n4\n5\n7\n");

	assert_int_equal(st_merge(base, agent, disk, &out, &result, NULL), 0);
	assert_string_equal(out.ptr, "0\n1\n2\nx\ny\n4\n5\n7\n");
	assert_int_equal(result.foreign_count, 2);
	assert_memory_equal(&result.foreign[0], (&(struct st_hunk){3, 1, 3, 2}),
	                    sizeof(struct st_hunk));
	assert_memory_equal(&result.foreign[1], (&(struct st_hunk){6, 1, 7, 0}),
	                    sizeof(struct st_hunk));
}

static void a_conflict_names_the_lines_on_disk(void **state) {
	(void)state;
	st_auto(st_buf) out = ST_BUF_INIT;
	st_auto(st_merge_result) result = {0};
	struct stet_error err = {0};
	struct st_str base = ST_STR("1\n2\n3\n4\n5\n"), agent = ST_STR("1\nagent\n3\n4\nagent\n"),
				  disk = ST_STR("0\n1\nd\nd\n3\n4\ndisk\n");

	assert_int_equal(st_merge(base, agent, disk, &out, &result, &err), STET_E_CONFLICT);
	assert_int_equal(result.overlap_count, 2);
	assert_non_null(strstr(err.message, "lines 3 to 4"));
	assert_non_null(strstr(err.message, "the first of 2"));
}

static void running_out_of_memory_leaves_the_output_alone(void **state) {
	(void)state;
	bool failed = true;
	size_t n = 0;

	while (failed) {
		st_auto(st_buf) out = ST_BUF_INIT;
		st_auto(st_merge_result) result = {0};
		st_buf_adds(&out, "kept");
		alloc_fail_at(++n);
		int code = st_merge(ST_STR("a\nb\nc\n"), ST_STR("A\nb\nc\n"), ST_STR("a\nb\nC\n"), &out,
		                    &result, NULL);
		failed = alloc_has_failed();
		assert_int_equal(code, failed ? STET_E_NOMEM : 0);
		assert_string_equal(out.ptr, failed ? "kept" : "A\nb\nC\n");
	}
	assert_true(n > 20);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		claim(small_texts_merge_as_with_git),
		claim(large_texts_merge_as_with_git),
		cmocka_unit_test(a_merged_text_holds_the_changes_of_both),
		cmocka_unit_test(changes_with_a_line_between_them_merge),
		cmocka_unit_test(changes_that_touch_do_not),
		cmocka_unit_test(a_change_to_what_was_removed_is_a_conflict),
		cmocka_unit_test(the_same_change_on_both_sides_is_made_once),
		cmocka_unit_test(one_side_that_changed_nothing_leaves_the_other),
		cmocka_unit_test(a_final_newline_is_merged_like_any_other_change),
		cmocka_unit_test(each_line_keeps_its_own_ending),
		cmocka_unit_test(foreign_hunks_say_where_they_are_in_the_merged_text),
		cmocka_unit_test(a_conflict_names_the_lines_on_disk),
		cmocka_unit_test(running_out_of_memory_leaves_the_output_alone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
