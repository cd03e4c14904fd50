/* Diffs: always right, short where that is possible, and never slow. */
#include "lib/alloc.h"
#include "lib/gen.h"
#include "lib/test.h"
#include "text/diff/diff.h"

#include <time.h>

/* The new text, made of the old one and the hunks. */
static void apply(const struct st_diff *diff, struct st_buf *out) {
	size_t done = 0;
	for (size_t i = 0; i < diff->count; i++) {
		const struct st_hunk *hunk = &diff->hunks[i];
		st_buf_add(out, st_lines_range(&diff->old, done + 1, hunk->old_start));
		st_buf_add(out, st_lines_range(&diff->new, hunk->new_start + 1,
		                               hunk->new_start + hunk->new_count));
		done = hunk->old_start + hunk->old_count;
	}
	st_buf_add(out, st_lines_range(&diff->old, done + 1, diff->old.count));
}

/* Whether hunks are in order, not empty, and apart on both sides by the same number of lines. */
static bool is_well_formed(const struct st_diff *diff) {
	size_t old = 0, new = 0, removed = 0, added = 0;
	for (size_t i = 0; i < diff->count; i++) {
		const struct st_hunk *hunk = &diff->hunks[i];
		size_t gap = hunk->old_start - old;
		if (hunk->old_start < old + (i > 0) || hunk->new_start - new != gap ||
		    hunk->old_count + hunk->new_count == 0)
			return false;
		old = hunk->old_start + hunk->old_count;
		new = hunk->new_start + hunk->new_count;
		removed += hunk->old_count;
		added += hunk->new_count;
	}
	return diff->old.count - old == diff->new.count - new &&removed == diff->removed &&added ==
	       diff->added;
}

static bool is_wrong(const struct st_buf *texts, void *arg) {
	st_auto(st_diff) diff = {0};
	st_auto(st_buf) made = ST_BUF_INIT;
	(void)arg;

	if (st_diff_init(&diff, st_buf_str(&texts[0]), st_buf_str(&texts[1]), NULL) < 0)
		return true;
	apply(&diff, &made);
	return !is_well_formed(&diff) || !st_str_eq(st_buf_str(&made), st_buf_str(&texts[1]));
}

static void release_all(struct st_buf *texts, size_t count) {
	for (size_t i = 0; i < count; i++)
		st_buf_release(&texts[i]);
}

/* Two texts: mostly the second is the first with some changes, at times they are strangers. */
static void generate(uint64_t seed, size_t max_lines, struct st_buf texts[2]) {
	struct gen gen = gen_new(seed);
	struct gen_style style = {.max_lines = 1 + gen_below(&gen, max_lines),
	                          .words = 1 + gen_below(&gen, gen_one_in(&gen, 2) ? 4 : 200),
	                          .flags = GEN_ANY};
	gen_text(&gen, &style, &texts[0]);
	if (gen_one_in(&gen, 5))
		gen_text(&gen, &style, &texts[1]);
	else
		gen_edit(&gen, &style, st_buf_str(&texts[0]), gen_below(&gen, 8), &texts[1]);
}

static void hunks_lead_from_old_to_new(void **state) {
	(void)state;
	struct st_buf texts[2] = {0};
	size_t rounds = gen_rounds(10000, 500000);

	for (size_t i = 0; i < rounds; i++) {
		generate(gen_seed() + i, 60, texts);
		if (!is_wrong(texts, NULL))
			continue;
		gen_shrink(texts, 2, is_wrong, NULL);
		gen_show("old", st_buf_str(&texts[0]));
		gen_show("new", st_buf_str(&texts[1]));
		fail_msg("seed %zu", (size_t)gen_seed() + i);
	}
	release_all(texts, 2);
}

/* The smallest possible number of removed and added lines, by the textbook. */
static size_t shortest(const struct st_lines *old, const struct st_lines *new) {
	enum { MAX = 128 };
	static size_t common[MAX + 1][MAX + 1];
	assert_true(old->count <= MAX && new->count <= MAX);

	for (size_t x = 1; x <= old->count; x++) {
		for (size_t y = 1; y <= new->count; y++) {
			size_t up = common[x - 1][y], left = common[x][y - 1];
			common[x][y] = up > left ? up : left;
			if (st_str_eq(st_lines_whole(old, x), st_lines_whole(new, y)))
				common[x][y] = common[x - 1][y - 1] + 1;
		}
	}
	return old->count + new->count - 2 * common[old->count][new->count];
}

static void few_changes_are_found_as_such(void **state) {
	(void)state;
	struct st_buf texts[2] = {0};
	size_t best = 0, ours = 0;

	for (size_t i = 0; i < 2000; i++) {
		st_auto(st_diff) diff = {0};
		generate(gen_seed() + i, 60, texts);
		assert_int_equal(st_diff_init(&diff, st_buf_str(&texts[0]), st_buf_str(&texts[1]), NULL),
		                 0);
		best += shortest(&diff.old, &diff.new);
		ours += diff.added + diff.removed;
	}
	print_message("# %zu changed lines where %zu are possible\n", ours, best);
	assert_true(ours >= best);
	assert_true(ours * 100 <= best * 102);
	release_all(texts, 2);
}

static void equal_texts_have_no_hunks(void **state) {
	(void)state;
	st_auto(st_diff) diff = {0};
	assert_int_equal(st_diff_init(&diff, ST_STR("a\nb"), ST_STR("a\nb"), NULL), 0);
	assert_int_equal(diff.count, 0);
	st_diff_release(&diff);
	assert_int_equal(st_diff_init(&diff, ST_STR(""), ST_STR(""), NULL), 0);
	assert_int_equal(diff.count, 0);
}

static void check_hunk(struct st_str old, struct st_str new, struct st_hunk hunk) {
	st_auto(st_diff) diff = {0};
	assert_int_equal(st_diff_init(&diff, old, new, NULL), 0);
	assert_int_equal(diff.count, 1);
	assert_memory_equal(&diff.hunks[0], &hunk, sizeof hunk);
}

static void a_missing_final_newline_is_a_change_of_the_last_line(void **state) {
	(void)state;
	check_hunk(ST_STR("a\nb\n"), ST_STR("a\nb"), (struct st_hunk){1, 1, 1, 1});
	check_hunk(ST_STR("a\nb"), ST_STR("a\nb\nc"), (struct st_hunk){1, 1, 1, 2});
}

static void a_carriage_return_is_part_of_its_line(void **state) {
	(void)state;
	check_hunk(ST_STR("a\r\nb\n"), ST_STR("a\nb\n"), (struct st_hunk){0, 1, 0, 1});
	check_hunk(ST_STR("a\rb\nc\n"), ST_STR("a\rB\nc\n"), (struct st_hunk){0, 1, 0, 1});
}

static void a_repeated_block_is_added_at_its_end(void **state) {
	(void)state;
	check_hunk(ST_STR("{\n}\n"), ST_STR("{\n}\n{\n}\n"), (struct st_hunk){2, 0, 2, 2});
	check_hunk(ST_STR("a\nx\nx\nx\nb\n"), ST_STR("a\nx\nx\nb\n"), (struct st_hunk){3, 1, 3, 0});
}

static void add_many(struct st_buf *out, const char *line, size_t count) {
	struct st_str text = st_str(line);
	for (size_t i = 0; i < count; i++)
		st_buf_add(out, text);
}

/* Compare within a time that no reader would notice; the alarm is for a hang. */
static void check_in_time(const char *what, struct st_buf texts[2]) {
	alarm(60);
	clock_t start = clock();
	assert_false(is_wrong(texts, NULL));
	double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
	alarm(0);
	print_message("# %s: %.2f s\n", what, seconds);
	assert_true(seconds < 10);
	release_all(texts, 2);
}

static void a_line_of_five_megabytes_is_no_problem(void **state) {
	(void)state;
	struct st_buf texts[2] = {0};
	add_many(&texts[0], "var a=1;", 5 << 17);
	add_many(&texts[1], "var a=1;", 5 << 17);
	texts[1].ptr[4 << 20] = 'V';
	check_in_time("one line of 5 MB", texts);
}

static void a_million_equal_lines_are_no_problem(void **state) {
	(void)state;
	struct st_buf texts[2] = {0};
	add_many(&texts[0], "a\n", 1000000);
	add_many(&texts[1], "b\n", 1000000);
	check_in_time("1 M equal lines against 1 M others", texts);
	add_many(&texts[0], "a\n", 1000000);
	add_many(&texts[1], "a\n", 700000);
	check_in_time("1 M equal lines against fewer", texts);
}

static void files_without_anything_in_common_are_no_problem(void **state) {
	(void)state;
	struct st_buf texts[2] = {0};
	for (size_t i = 0; i < 200000; i++) {
		st_buf_addf(&texts[0], "old line %zu\n", i);
		st_buf_addf(&texts[1], "new line %zu\n", i);
	}
	check_in_time("200 k lines, all different", texts);
}

static void files_of_shuffled_lines_are_no_problem(void **state) {
	(void)state;
	struct st_buf texts[2] = {0};
	struct gen gen = gen_new(gen_seed());
	for (size_t i = 0; i < 400000; i++)
		st_buf_addf(&texts[i & 1], "line %zu\n", gen_below(&gen, 200000));
	check_in_time("200 k lines in random order", texts);
	for (size_t i = 0; i < 2000000; i++)
		st_buf_adds(&texts[i & 1], gen_one_in(&gen, 2) ? "a\n" : "b\n");
	check_in_time("1 M lines of two kinds at random", texts);
}

static void repeats_made_to_be_hard_are_no_problem(void **state) {
	(void)state;
	struct st_buf texts[2] = {0};
	for (size_t i = 0; i < 1000; i++) {
		add_many(&texts[0], "a\n", 1000);
		st_buf_addf(&texts[0], "b\n%zu\n", i);
		st_buf_addf(&texts[1], "%zu\nb\n", i);
		add_many(&texts[1], "a\n", 999);
	}
	check_in_time("long runs with small shifts", texts);
	add_many(&texts[0], "a\nb\na\nb\na\n", 200000);
	add_many(&texts[1], "b\na\na\n", 330000);
	check_in_time("two rhythms", texts);
	add_many(&texts[0], "b\n", 1);
	add_many(&texts[0], "a\n", 700000);
	add_many(&texts[0], "c\n", 1);
	add_many(&texts[0], "a\n", 300000);
	add_many(&texts[1], "c\n", 1);
	add_many(&texts[1], "a\n", 1000000);
	add_many(&texts[1], "b\n", 1);
	check_in_time("a run on every diagonal", texts);
}

static void running_out_of_memory_is_an_error_that_keeps_nothing(void **state) {
	(void)state;
	struct st_buf texts[2] = {0};
	generate(42, 60, texts);
	bool failed = true;
	size_t n = 0;

	while (failed) {
		st_auto(st_diff) diff = {0};
		alloc_fail_at(++n);
		int code = st_diff_init(&diff, st_buf_str(&texts[0]), st_buf_str(&texts[1]), NULL);
		failed = alloc_has_failed();
		assert_int_equal(code, failed ? STET_E_NOMEM : 0);
		if (failed)
			assert_null(diff.hunks);
	}
	assert_true(n > 5);
	release_all(texts, 2);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hunks_lead_from_old_to_new),
		cmocka_unit_test(few_changes_are_found_as_such),
		cmocka_unit_test(equal_texts_have_no_hunks),
		cmocka_unit_test(a_missing_final_newline_is_a_change_of_the_last_line),
		cmocka_unit_test(a_carriage_return_is_part_of_its_line),
		cmocka_unit_test(a_repeated_block_is_added_at_its_end),
		cmocka_unit_test(a_line_of_five_megabytes_is_no_problem),
		cmocka_unit_test(a_million_equal_lines_are_no_problem),
		cmocka_unit_test(files_without_anything_in_common_are_no_problem),
		cmocka_unit_test(files_of_shuffled_lines_are_no_problem),
		cmocka_unit_test(repeats_made_to_be_hard_are_no_problem),
		cmocka_unit_test(running_out_of_memory_is_an_error_that_keeps_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
