/* Suggestions for a path that does not exist. */
#include "fs/path/nearby.h"

#include "base/distance.h"
#include "lib/test.h"

static size_t distance(const char *a, const char *b) {
	size_t far = st_distance(st_str(a), st_str(b));
	assert_int_equal(st_distance(st_str(b), st_str(a)), far);
	return far;
}

static void words_are_as_far_as_there_are_mistakes(void **state) {
	assert_int_equal(distance("", ""), 0);
	assert_int_equal(distance("main", ""), 4);
	assert_int_equal(distance("main", "main"), 0);
	assert_int_equal(distance("main", "MAIN"), 0);
	assert_int_equal(distance("main", "mian"), 1);
	assert_int_equal(distance("main", "maine"), 1);
	assert_int_equal(distance("main", "min"), 1);
	assert_int_equal(distance("main", "moon"), 2);
	char long_one[1000], other[1000];
	memset(long_one, 'a', sizeof long_one);
	memset(other, 'b', sizeof other);
	assert_int_equal(st_distance(st_strn(long_one, 1000), st_strn(other, 1000)), ST_DISTANCE_MAX);
}

/* The message on a path, as it is after a suggestion was looked for. */
static const char *suggestion(const struct dir *dir, const char *path) {
	static struct stet_error err;
	struct st_root root;
	assert_int_equal(st_root_open(&root, dir->path, NULL), 0);
	(void)st_fail(&err, STET_E_NOT_FOUND, "Check the path.");
	st_nearby_suggest(&root, path, ".maestro", &err);
	assert_int_equal(err.code, STET_E_NOT_FOUND);
	st_root_release(&root);
	const char *meant = strstr(err.message, "Did you mean ");
	return meant ? meant + strlen("Did you mean ") : "";
}

static int setup(void **state) {
	dir_setup(state);
	const struct dir *dir = *state;
	dir_write(dir, "README.md", "x");
	dir_write(dir, "src/main.c", "x");
	dir_write(dir, "src/lib/util.c", "x");
	dir_write(dir, "a/b.txt", "x");
	dir_write(dir, ".git/config", "x");
	dir_write(dir, ".stet/stet.db", "x");
	dir_write(dir, ".maestro/stet.db", "x");
	return 0;
}

static void one_misspelt_name_is_put_right(void **state) {
	static const char *const pairs[][2] = {
		{"src/mian.c", "\"src/main.c\"?"},
		{"scr/main.c", "\"src/main.c\"?"},
		{"src/libb/util.c", "\"src/lib/util.c\"?"},
		{"./src/mian.c", "\"src/main.c\"?"},
		{"readme.md", "\"README.md\"?"},
		{"README", "\"README.md\"?"},
		{"READM.md", "\"README.md\"?"},
		{"a/b.txtt", "\"a/b.txt\"?"},
	};
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
		assert_string_equal(suggestion(*state, pairs[i][0]), pairs[i][1]);
}

static void an_absolute_path_is_answered_with_one(void **state) {
	struct dir *dir = *state;
	char wanted[4096];
	snprintf(wanted, sizeof wanted, "\"%s/src/main.c\"?", dir->path);
	char asked[4096];
	snprintf(asked, sizeof asked, "%s/src/mian.c", dir->path);
	assert_string_equal(suggestion(dir, asked), wanted);
}

static void what_is_far_is_not_suggested(void **state) {
	static const char *const paths[] = {
		"b.txt",       "src/moon.c",       "src/lib.c",    "scr/mian.c",  "a/c.txt",
		"../README.m", "nothing/at/all.c", "/etc/passwd2", "src/main.rs", "",
		"lib",
	};
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
		assert_string_equal(suggestion(*state, paths[i]), "");
}

static void what_belongs_to_git_or_stet_is_not_suggested(void **state) {
	assert_string_equal(suggestion(*state, ".git/confgi"), "");
	assert_string_equal(suggestion(*state, ".gti/config"), "");
	assert_string_equal(suggestion(*state, ".stet/stet.bd"), "");
	assert_string_equal(suggestion(*state, ".maestor/stet.db"), "");
}

static void a_link_that_leaves_is_not_suggested(void **state) {
	struct dir *dir = *state;
	assert_int_equal(symlink("/etc/passwd", dir_at(dir, "passwd")), 0);
	assert_string_equal(suggestion(dir, "paswd"), "");
}

static void a_name_that_cannot_be_seen_is_escaped(void **state) {
	dir_write(*state, "mail\u202Ebox-of-ann.txt", "x");
	assert_string_equal(suggestion(*state, "mailbox-of-ann.txt"), "\"mail\\u202ebox-of-ann.txt\"?");
}

static void in_a_large_directory_nobody_waits_for_a_suggestion(void **state) {
	char name[32];
	for (int i = 0; i < 1100; i++) {
		snprintf(name, sizeof name, "many/%d", i);
		dir_write(*state, name, "");
	}
	dir_write(*state, "many/main.c", "x");
	assert_string_equal(suggestion(*state, "many/mian.c"), "");
}

#define in_a_tree(function) cmocka_unit_test_setup_teardown(function, setup, dir_teardown)

int main(void) {
	const struct CMUnitTest tests[] = {
		in_a_tree(words_are_as_far_as_there_are_mistakes),
		in_a_tree(one_misspelt_name_is_put_right),
		in_a_tree(an_absolute_path_is_answered_with_one),
		in_a_tree(what_is_far_is_not_suggested),
		in_a_tree(what_belongs_to_git_or_stet_is_not_suggested),
		in_a_tree(a_link_that_leaves_is_not_suggested),
		in_a_tree(a_name_that_cannot_be_seen_is_escaped),
		in_a_tree(in_a_large_directory_nobody_waits_for_a_suggestion),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
