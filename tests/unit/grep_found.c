/* The list of files that a search found: whatever their order, it keeps the first ones and counts all. */
#include "core/workspace/grep_found.h"

#include "lib/gen.h"
#include "lib/test.h"

enum { FILES = 600 };

struct model {
	char path[32];
	size_t lines;
	bool stopped;
};

static int by_path(const void *a, const void *b) {
	return strcmp(((const struct model *)a)->path, ((const struct model *)b)->path);
}

static void add(struct st_grep_found *found, const struct model *model) {
	struct st_grep_file file = {
		.path = model->path,
		.lines = model->lines,
		.why = model->stopped ? "its time was up" : NULL,
		.hits = model->lines % 3 == 0 ? calloc(1, sizeof *file.hits) : NULL,
	};
	assert_int_equal(st_grep_found_add(found, &file, NULL), 0);
}

/* Paths without characters that sort below a slash, so that strcmp() has the same order. */
static void make(struct gen *gen, struct model *model, size_t i) {
	snprintf(model->path, sizeof model->path, "%c/%zu/%zu", 'a' + (char)gen_below(gen, 5),
	         gen_below(gen, 100), i);
	model->stopped = gen_one_in(gen, 40);
	model->lines = model->stopped && gen_one_in(gen, 2) ? 0 : 1 + gen_below(gen, 50);
}

static void the_first_files_are_kept_and_all_are_counted(void **state) {
	(void)state;
	static struct model files[FILES];
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct gen gen = gen_new(seed);
		struct st_grep_found found = {.most = seed % 4 ? 1 + gen_below(&gen, 200) : 0};
		size_t lines = 0, matched = 0, complete = 0, at = 0;
		for (size_t i = 0; i < FILES; i++) {
			make(&gen, &files[i], i);
			add(&found, &files[i]);
			lines += files[i].lines;
			matched += files[i].lines > 0;
		}
		st_grep_found_sort(&found);
		assert_int_equal(found.lines, lines);
		assert_int_equal(found.matched, matched);
		assert_false(found.cut);
		qsort(files, FILES, sizeof *files, by_path);
		for (size_t i = 0; i < FILES; i++) {
			complete += !files[i].stopped;
			if (!files[i].stopped && found.most > 0 && complete > found.most)
				continue;
			/* There may be more of those that match: they come in their order, too. */
			assert_true(at < found.count);
			const struct st_grep_file file = st_grep_found_at(&found, at++);
			assert_string_equal(file.path, files[i].path);
			assert_int_equal(file.lines, files[i].lines);
			assert_int_equal(file.why != NULL, files[i].stopped);
			assert_int_equal(file.hits != NULL, files[i].lines % 3 == 0);
			/* After the first ones, some are missing. */
			if (found.most > 0 && complete == found.most)
				break;
		}
		assert_true(found.most > 0 || at == found.count);
		assert_true(found.most == 0 || found.count <= found.most * 9 / 8 + 8 + FILES / 10);
		st_grep_found_release(&found);
	}
}

static void a_file_to_which_several_paths_lead_is_counted_once(void **state) {
	(void)state;
	struct st_grep_found found = {0};
	const struct model files[] = {
		{"b", 2, false}, {"a", 3, false}, {"b", 2, false}, {"b/c", 1, false}};
	for (size_t i = 0; i < 4; i++)
		add(&found, &files[i]);
	st_grep_found_sort(&found);
	assert_int_equal(found.count, 3);
	assert_int_equal(found.matched, 3);
	assert_int_equal(found.lines, 6);
	assert_string_equal(st_grep_found_at(&found, 1).path, "b");
	assert_string_equal(st_grep_found_at(&found, 2).path, "b/c");
	st_grep_found_release(&found);
}

static void a_file_that_comes_often_leaves_room_for_others(void **state) {
	(void)state;
	struct st_grep_found found = {.most = 2};
	for (size_t i = 0; i < 11; i++)
		add(&found, &(struct model){"b", 1, false});
	add(&found, &(struct model){"c", 1, false});
	st_grep_found_sort(&found);
	assert_int_equal(found.count, 2);
	assert_string_equal(st_grep_found_at(&found, 1).path, "c");
	st_grep_found_release(&found);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_files_are_kept_and_all_are_counted),
		cmocka_unit_test(a_file_to_which_several_paths_lead_is_counted_once),
		cmocka_unit_test(a_file_that_comes_often_leaves_room_for_others),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
