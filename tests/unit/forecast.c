/* Forecasts that tests/torture/places.c found to be wrong, each with what git says about it. */
#include "lib/checkouts.h"

struct pair {
	const struct dir *dir;
	struct worker_at one, two;
};

static struct pair open_pair(const struct dir *dir) {
	use_own_state(dir);
	make_repository(dir);
	git(dir, "main", "worktree", "add", "-q", "-b", "other", "../tree");
	return (struct pair){dir, worker_open(dir, "main", "Ann"), worker_open(dir, "tree", "Bob")};
}

static void commit_all(const struct pair *pair, const char *where) {
	git(pair->dir, where, "add", "-A");
	git(pair->dir, where, "commit", "-q", "-m", "change");
}

static bool git_merges(const struct pair *pair) {
	st_auto(st_buf) output = ST_BUF_INIT;
	return run(pair->dir, &output,
	           (const char *[]){"git", "-C", dir_at(pair->dir, "main"), "merge-tree",
	                            "--write-tree", "main", "other", NULL}) == 0;
}

/* Both agents are registered, so each forecast is about this pair. */
static void close_pair(struct pair *pair, bool merges) {
	struct stet_error err = {0};
	char *text = NULL;
	stet_free(worker_call(&pair->one, "write_file", "{\"path\":\"one\",\"content\":\"x\\n\"}"));
	stet_free(worker_call(&pair->two, "write_file", "{\"path\":\"two\",\"content\":\"x\\n\"}"));
	assert_true(who_has(&pair->one, "one") && who_has(&pair->two, "two"));
	assert_int_equal(git_merges(pair), merges);
	if (stet_forecast(pair->one.ws, NULL, 0, &text, NULL, &err) < 0)
		fail_msg("%s", err.message);
	if (!strstr(text, merges ? "\"verdict\":\"merges\"" : "\"verdict\":\"overlaps\""))
		fail_msg("%s", text);
	assert_int_equal(strstr(text, "\"verdict\":\"overlaps\"") == NULL, merges);
	stet_free(text);
	worker_close(&pair->one);
	worker_close(&pair->two);
}

/* One changed a file and copied what it was; the other renamed it to the copy's name. */
static struct pair copy_and_rename(const struct dir *dir, const char *added) {
	struct pair pair = open_pair(dir);
	st_auto(st_buf) copy = ST_BUF_INIT;
	st_buf_adds(&copy, dir_read(dir, "main/a.txt"));
	st_buf_adds(&copy, added);
	dir_write(dir, "main/copy.txt", copy.ptr);
	st_buf_adds(&copy, "one more line\n");
	dir_write(dir, "main/a.txt", copy.ptr);
	commit_all(&pair, "main");
	git(dir, "tree", "mv", "a.txt", "copy.txt");
	commit_all(&pair, "tree");
	return pair;
}

static void a_rename_to_a_file_that_both_have_merges(void **state) {
	struct pair pair = copy_and_rename(*state, "");
	close_pair(&pair, true);
}

static void a_rename_to_another_file_overlaps(void **state) {
	struct pair pair = copy_and_rename(*state, "another line\n");
	close_pair(&pair, false);
}

/* Both renamed a file: one put a link in its place, the other a directory. */
static void a_link_and_a_directory_in_the_place_of_a_renamed_file_overlap(void **state) {
	const struct dir *dir = *state;
	struct pair pair = open_pair(dir);
	git(dir, "main", "mv", "a.txt", "b.txt");
	assert_int_equal(symlink("b.txt", dir_at(dir, "main/a.txt")), 0);
	commit_all(&pair, "main");
	git(dir, "tree", "mv", "a.txt", "b.txt");
	dir_write(dir, "tree/a.txt/file", "x\n");
	commit_all(&pair, "tree");
	close_pair(&pair, false);
}

/* One changed a file in a directory; the other renamed it, and put a file in the directory's place. */
static void a_file_in_the_place_of_a_directory_that_is_renamed_away_merges(void **state) {
	const struct dir *dir = *state;
	struct pair pair = open_pair(dir);
	dir_write(dir, "main/b/file", dir_read(dir, "main/a.txt"));
	commit_all(&pair, "main");
	git(dir, "tree", "merge", "-q", "main");
	stet_free(
		worker_call(&pair.one, "edit_file",
	                "{\"path\":\"b/file\",\"oldText\":\"line 5\\n\",\"newText\":\"five\\n\"}"));
	commit_all(&pair, "main");
	git(dir, "tree", "mv", "b/file", "moved");
	(void)rmdir(dir_at(dir, "tree/b"));
	dir_write(dir, "tree/b", "a file\n");
	commit_all(&pair, "tree");
	close_pair(&pair, true);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		claim(a_rename_to_a_file_that_both_have_merges),
		claim(a_rename_to_another_file_overlaps),
		claim(a_link_and_a_directory_in_the_place_of_a_renamed_file_overlap),
		claim(a_file_in_the_place_of_a_directory_that_is_renamed_away_merges),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
