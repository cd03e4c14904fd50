/* copy_file, append_file, and delete_file of whole directories. */
#include <signal.h>
#include <sys/wait.h>

#include "core/workspace/workspace.h"
#include "lib/tools.h"
#include "lib/tree.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- append_file ---- */

static void text_is_added_to_a_file_that_was_not_read(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a", "one\n");
	call(host, "append_file", "{'path': 'a', 'content': 'two\\n'}");
	expect_file(host, "a", "one\ntwo\n");
	expect_text("Appended to file");
	call(host, "append_file", "{'path': 'new', 'content': 'x'}");
	expect_file(host, "new", "x");
	expect_true("created");
	call(host, "append_file", "{'path': 'no/such', 'content': 'x'}");
	expect_file(host, "no/such", "x");
	dir_write(host->dir, ".git/config", "");
	refuse(host, STET_E_PROTECTED, "append_file", "{'path': '.git/config', 'content': 'x'}");
}

static void an_append_says_where_it_continues_a_line(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a", "one");
	call(host, "append_file", "{'path': 'a', 'content': ' more\\n'}");
	expect_file(host, "a", "one more\n");
	expect_text("continues that line");
	call(host, "append_file", "{'path': 'a', 'content': 'two\\n'}");
	expect_no_text("continues");
}

static void appended_lines_end_as_the_others_do(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a", "one\r\ntwo\r\n");
	call(host, "append_file", "{'path': 'a', 'content': 'three\\nfour\\n'}");
	expect_file(host, "a", "one\r\ntwo\r\nthree\r\nfour\r\n");
	dir_write_bytes(host->dir, "binary", "a\0b", 3);
	refuse(host, STET_E_BINARY, "append_file", "{'path': 'binary', 'content': 'x'}");
}

/* The session has seen the appended text, not the text before it. */
static void an_append_counts_only_its_own_lines_as_seen(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a", "one\n");
	call(host, "append_file", "{'path': 'a', 'content': 'two\\n'}");
	refuse(host, STET_E_CONFLICT, "write_file", "{'path': 'a', 'content': 'x'}");
	expect_file(host, "a", "one\ntwo\n");
	call(host, "read_file", "{'path': 'a'}");
	call(host, "append_file", "{'path': 'a', 'content': 'three\\n'}");
	call(host, "write_file", "{'path': 'a', 'content': 'x'}");
	expect_file(host, "a", "x");
}

static void what_others_changed_is_kept_and_shown(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a", "one\ntwo\n");
	call(host, "read_file", "{'path': 'a'}");
	dir_write(host->dir, "a", "one\nTWO\n");
	call(host, "append_file", "{'path': 'a', 'content': 'three\\n'}");
	expect_file(host, "a", "one\nTWO\nthree\n");
	expect_true("merged");
	expect_text("Merged with these changes of others:");
	expect_text("+TWO");
	/* Shown is seen. */
	call(host, "write_file", "{'path': 'a', 'content': 'x'}");
}

static void a_file_that_an_append_made_is_known(void **state) {
	struct host *host = *state;
	call(host, "append_file", "{'path': 'a', 'content': 'one\\ntwo\\n'}");
	call(host, "write_file", "{'path': 'a', 'content': 'mine'}");
	expect_file(host, "a", "mine");
}

static void an_append_to_a_file_that_was_deleted_asks_first(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a", "one\n");
	call(host, "read_file", "{'path': 'a'}");
	assert_int_equal(unlinkat(host->dir->fd, "a", 0), 0);
	refuse(host, STET_E_CONFLICT, "append_file", "{'path': 'a', 'content': 'two\\n'}");
	assert_false(dir_has(host->dir, "a"));
}

/* A writer that never rests: a line every 0 to 5 ms, each by a descriptor of its own. */
static pid_t start_writer(const struct dir *dir) {
	pid_t pid = fork();
	if (pid != 0)
		return pid;
	for (unsigned n = 0;; n++) {
		char line[32];
		int len = snprintf(line, sizeof line, "other %u\n", n);
		int fd = openat(dir->fd, "a", O_WRONLY | O_APPEND);
		if (fd < 0 || write(fd, line, (size_t)len) != len)
			_exit(1);
		close(fd);
		usleep((useconds_t)(random() % 5000));
	}
}

static void stop_writer(pid_t pid) {
	int status;
	assert_int_equal(kill(pid, SIGTERM), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
}

/* How many lines begin with a word, which must be numbered from 0 without a gap. */
static size_t count_in_order(const char *text, const char *word) {
	size_t count = 0;
	char wanted[32];
	for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
		if (strncmp(line, word, strlen(word)) != 0)
			continue;
		int len = snprintf(wanted, sizeof wanted, "%s%zu\n", word, count++);
		assert_memory_equal(line, wanted, (size_t)len);
	}
	return count;
}

/* Call a tool until it succeeds, at most twice: a refusal is a question asked once. */
static void get_through(struct host *host, const char *tool, const char *args) {
	struct stet_error err = {0};
	int code = -1;
	for (int i = 0; i < 2 && code < 0; i++) {
		char *answer = NULL;
		code = stet_call(host->session, tool, args, strlen(args), &answer, NULL, &err);
		stet_free(answer);
	}
	if (code < 0)
		fail_msg("%s: %s", tool, err.message);
}

enum { BUSY_CALLS = 100 };

static void appends_win_against_a_writer_that_never_rests(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a", "");
	call(host, "read_file", "{'path': 'a'}");
	pid_t writer = start_writer(host->dir);
	for (int i = 0; i < BUSY_CALLS; i++) {
		char args[64];
		snprintf(args, sizeof args, "{\"path\":\"a\",\"content\":\"mine %d\\n\"}", i);
		get_through(host, "append_file", args);
	}
	stop_writer(writer);
	const char *text = dir_read(host->dir, "a");
	assert_int_equal(count_in_order(text, "mine "), BUSY_CALLS);
	assert_true(count_in_order(text, "other ") > 0);
}

static void edits_win_against_a_writer_that_never_rests(void **state) {
	struct host *host = *state;
	st_auto(st_buf) slots = ST_BUF_INIT;
	for (int i = 0; i < BUSY_CALLS; i++)
		st_buf_addf(&slots, "free %d\n", i);
	dir_write(host->dir, "a", st_buf_cstr(&slots));
	call(host, "read_file", "{'path': 'a'}");
	pid_t writer = start_writer(host->dir);
	for (int i = 0; i < BUSY_CALLS; i++) {
		char args[96];
		snprintf(args, sizeof args,
		         "{\"path\":\"a\",\"oldText\":\"free %d\\n\",\"newText\":\"mine %d\\n\"}", i, i);
		get_through(host, "edit_file", args);
	}
	stop_writer(writer);
	const char *text = dir_read(host->dir, "a");
	assert_int_equal(count_in_order(text, "mine "), BUSY_CALLS);
	assert_int_equal(count_in_order(text, "free "), 0);
	assert_true(count_in_order(text, "other ") > 0);
}

/* ---- copy_file ---- */

static void a_copy_has_the_bytes_and_the_mode(void **state) {
	struct host *host = *state;
	static const char bytes[] = "#!/bin/sh\n\xFF\0\r\n";
	struct stat st;
	dir_write_bytes(host->dir, "a", bytes, sizeof bytes);
	assert_int_equal(fchmodat(host->dir->fd, "a", 0750, 0), 0);
	assert_int_equal(mkdirat(host->dir->fd, "d", 0777), 0);
	call(host, "copy_file", "{'source': 'a', 'destination': 'd/b'}");
	expect_str("destination", "d/b");
	assert_memory_equal(dir_read(host->dir, "d/b"), bytes, sizeof bytes);
	assert_int_equal(fstatat(host->dir->fd, "d/b", &st, 0), 0);
	assert_int_equal(st.st_mode & 0777, 0750);
	assert_true(dir_has(host->dir, "a"));
}

static void a_copy_has_the_mode_on_a_kernel_without_openat2(void **state) {
	struct host *host = *state;
	host->ws->root.no_openat2 = true;
	a_copy_has_the_bytes_and_the_mode(state);
}

static void a_copy_never_replaces_anything(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a", "one\n");
	dir_write(host->dir, "b", "two\n");
	dir_write(host->dir, "d/c", "three\n");
	assert_int_equal(symlinkat("nowhere", host->dir->fd, "link"), 0);
	static const char *const taken[] = {"b", "d", "link", "a", "d/"};
	for (size_t i = 0; i < COUNT(taken); i++) {
		refuse(host, STET_E_EXISTS, "copy_file", "{'source': 'a', 'destination': '%s'}", taken[i]);
		expect_text("already exists");
	}
	expect_file(host, "b", "two\n");
	assert_false(dir_has(host->dir, "nowhere"));
	refuse(host, STET_E_KIND, "copy_file", "{'source': 'd', 'destination': 'e'}");
	refuse(host, STET_E_NOT_FOUND, "copy_file", "{'source': 'none', 'destination': 'e'}");
	refuse(host, STET_E_NOT_FOUND, "copy_file", "{'source': 'a', 'destination': 'no/e'}");
	refuse(host, STET_E_OUTSIDE, "copy_file", "{'source': 'a', 'destination': '../e'}");
	dir_write(host->dir, ".git/config", "");
	refuse(host, STET_E_PROTECTED, "copy_file", "{'source': 'a', 'destination': '.git/hooks'}");
}

static void what_was_read_of_a_file_was_read_of_its_copy_and_no_more(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a", "one\ntwo\n");
	call(host, "copy_file", "{'source': 'a', 'destination': 'unread'}");
	refuse(host, STET_E_CONFLICT, "write_file", "{'path': 'unread', 'content': 'x'}");
	call(host, "read_file", "{'path': 'a', 'limit': 1}");
	call(host, "copy_file", "{'source': 'a', 'destination': 'half'}");
	refuse(host, STET_E_CONFLICT, "write_file", "{'path': 'half', 'content': 'x'}");
	call(host, "read_file", "{'path': 'a', 'offset': 2}");
	call(host, "copy_file", "{'source': 'a', 'destination': 'read'}");
	call(host, "write_file", "{'path': 'read', 'content': 'x'}");
	expect_file(host, "unread", "one\ntwo\n");
}

/* ---- directories ---- */

static void a_directory_goes_if_all_of_it_was_read(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "d/a", "one\n");
	dir_write(host->dir, "d/sub/b", "two\n");
	dir_write(host->dir, "d/sub/empty", "");
	dir_write(host->dir, "d-not", "three\n");
	assert_int_equal(symlinkat("../d-not", host->dir->fd, "d/link"), 0);
	refuse(host, STET_E_KIND, "delete_file", "{'path': 'd'}");
	expect_text("recursive");
	refuse(host, STET_E_CONFLICT, "delete_file", "{'path': 'd', 'recursive': true}");
	expect_text("has 2 files");
	expect_text("d/sub/b");
	call(host, "read_file", "{'path': 'd/a'}");
	refuse(host, STET_E_CONFLICT, "delete_file", "{'path': 'd', 'recursive': true}");
	expect_text("has 1 file ");
	call(host, "read_file", "{'path': 'd/sub/b'}");
	dir_write(host->dir, "d/a", "ONE\n");
	refuse(host, STET_E_CONFLICT, "delete_file", "{'path': 'd', 'recursive': true}");
	expect_file(host, "d/a", "ONE\n");
	call(host, "read_file", "{'path': 'd/a'}");
	call(host, "delete_file", "{'path': 'd/', 'recursive': true}");
	expect_text("and 3 files");
	assert_false(dir_has(host->dir, "d"));
	expect_file(host, "d-not", "three\n");
}

static void a_directory_with_something_protected_stays_whole(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "d/a", "");
	dir_write(host->dir, "d/.git/config", "");
	refuse(host, STET_E_PROTECTED, "delete_file", "{'path': 'd', 'recursive': true}");
	assert_true(dir_has(host->dir, "d/a"));
	refuse(host, STET_E_KIND, "delete_file", "{'path': '.', 'recursive': true}");
}

static void recursive_means_nothing_for_a_file(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a", "one\n");
	refuse(host, STET_E_CONFLICT, "delete_file", "{'path': 'a', 'recursive': true}");
	call(host, "read_file", "{'path': 'a'}");
	call(host, "delete_file", "{'path': 'a', 'recursive': true}");
	assert_false(dir_has(host->dir, "a"));
}

static void an_empty_append_says_that_it_adds_nothing(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a", "one");
	call(host, "append_file", "{'path': 'a', 'content': ''}");
	expect_text("Appended nothing");
	expect_no_text("continues that line");
}

static void the_workspace_itself_is_not_deleted(void **state) {
	struct host *host = *state;
	refuse(host, STET_E_KIND, "delete_file", "{'path': '.', 'recursive': true}");
	expect_text("The workspace itself cannot be deleted.");
}

static void a_directory_without_files_is_not_said_to_have_0(void **state) {
	struct host *host = *state;
	call(host, "create_directory", "{'path': 'd/e'}");
	call(host, "delete_file", "{'path': 'd', 'recursive': true}");
	expect_text("Deleted the directory \"d\", which had no files");
	assert_false(dir_has(host->dir, "d"));
}

int main(void) {
	const struct CMUnitTest tests[] = {
		host_claim(an_empty_append_says_that_it_adds_nothing),
		host_claim(the_workspace_itself_is_not_deleted),
		host_claim(a_directory_without_files_is_not_said_to_have_0),
		host_claim(text_is_added_to_a_file_that_was_not_read),
		host_claim(an_append_says_where_it_continues_a_line),
		host_claim(appended_lines_end_as_the_others_do),
		host_claim(an_append_counts_only_its_own_lines_as_seen),
		host_claim(what_others_changed_is_kept_and_shown),
		host_claim(a_file_that_an_append_made_is_known),
		host_claim(an_append_to_a_file_that_was_deleted_asks_first),
		host_claim(appends_win_against_a_writer_that_never_rests),
		host_claim(edits_win_against_a_writer_that_never_rests),
		host_claim(a_copy_has_the_bytes_and_the_mode),
		host_claim(a_copy_has_the_mode_on_a_kernel_without_openat2),
		host_claim(a_copy_never_replaces_anything),
		host_claim(what_was_read_of_a_file_was_read_of_its_copy_and_no_more),
		host_claim(a_directory_goes_if_all_of_it_was_read),
		host_claim(a_directory_with_something_protected_stays_whole),
		host_claim(recursive_means_nothing_for_a_file),
	};
	/* A disk that takes longer to sync than the writer rests would decide who wins. */
	tree_in_memory();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
