/* move_file and delete_file. */
#include <pthread.h>

#include "lib/tools.h"

/* ---- both ---- */

/* "Delete the destination" would be deadly advice where it is the source. */
static void a_file_is_not_moved_or_copied_onto_itself(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "one\n");
	static const char *const tools[] = {"move_file", "copy_file"};
	for (size_t i = 0; i < 2; i++) {
		refuse(host, STET_E_EXISTS, tools[i], "{'source': 'a.txt', 'destination': './a.txt'}");
		expect_text("Choose another name.");
		expect_no_text("delete");
	}
	expect_file(host, "a.txt", "one\n");
}

static void the_workspace_itself_is_not_deleted(void **state) {
	struct host *host = *state;
	refuse(host, STET_E_KIND, "delete_file", "{'path': '.', 'recursive': true}");
	expect_text("The workspace itself cannot be deleted.");
	refuse(host, STET_E_KIND, "delete_file", "{'path': '%s', 'recursive': true}", host->dir->path);
	expect_text("The workspace itself cannot be deleted.");
}

/* ---- delete_file ---- */

static void a_file_that_was_read_can_be_deleted(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "one\ntwo\n");
	refuse(host, STET_E_CONFLICT, "delete_file", "{'path': 'a.txt'}");
	expect_str("reason", "unseen");
	expect_text("Read it first");
	call(host, "read_file", "{'path': 'a.txt', 'limit': 1}");
	refuse(host, STET_E_CONFLICT, "delete_file", "{'path': 'a.txt'}");
	expect_text("Not sent to you so far: line 2. Read it first.");
	call(host, "read_file", "{'path': 'a.txt'}");
	call(host, "delete_file", "{'path': 'a.txt'}");
	expect_str("path", "a.txt");
	expect_text("Deleted file \"a.txt\"");
	assert_false(dir_has(host->dir, "a.txt"));
	refuse(host, STET_E_NOT_FOUND, "delete_file", "{'path': 'a.txt'}");
	/* It is forgotten: a new one may be written. */
	call(host, "write_file", "{'path': 'a.txt', 'content': 'new'}");
}

static void a_hash_is_not_enough_to_delete(void **state) {
	struct host *host = *state;
	dir_write_bytes(host->dir, "a.bin", "x\0y", 3);
	call(host, "get_file_info", "{'path': 'a.bin'}");
	const char *hash = hash_of_answer();
	refuse(host, STET_E_CONFLICT, "delete_file",
	       "{'path': 'a.bin', 'expectedHash': '0123456789abcdef'}");
	expect_str("reason", "hash");
	refuse(host, STET_E_INVALID, "delete_file", "{'path': 'a.bin', 'expectedHash': 'xyz'}");
	refuse(host, STET_E_CONFLICT, "delete_file", "{'path': 'a.bin', 'expectedHash': '%s'}", hash);
	expect_str("reason", "unseen");
	assert_true(dir_has(host->dir, "a.bin"));
	/* A session sees a binary file as media. */
	call(host, "read_media_file", "{'path': 'a.bin'}");
	call(host, "delete_file", "{'path': 'a.bin', 'expectedHash': '%s'}", hash);
	assert_false(dir_has(host->dir, "a.bin"));
	refuse(host, STET_E_CONFLICT, "delete_file", "{'path': 'a.bin', 'expectedHash': '%s'}", hash);
	expect_text("nothing left to delete");
}

static void what_changed_since_it_was_read_is_not_deleted(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "one\n");
	call(host, "read_file", "{'path': 'a.txt'}");
	dir_write(host->dir, "a.txt", "one\ntheirs\n");
	refuse(host, STET_E_CONFLICT, "delete_file", "{'path': 'a.txt'}");
	expect_str("reason", "modified");
	expect_part("diff", "+theirs");
	expect_file(host, "a.txt", "one\ntheirs\n");
	/* The diff counts as seen. */
	call(host, "delete_file", "{'path': 'a.txt'}");
	assert_false(dir_has(host->dir, "a.txt"));
}

static void links_go_themselves(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "one\n");
	assert_int_equal(symlink("a.txt", dir_at(host->dir, "link")), 0);
	assert_int_equal(symlink("/etc/passwd", dir_at(host->dir, "away")), 0);
	assert_int_equal(symlink("missing", dir_at(host->dir, "dangling")), 0);
	call(host, "delete_file", "{'path': 'link'}");
	expect_text("Deleted the link \"link\"");
	call(host, "delete_file", "{'path': 'away'}");
	call(host, "delete_file", "{'path': 'dangling'}");
	assert_false(dir_has(host->dir, "link") || dir_has(host->dir, "away") ||
	             dir_has(host->dir, "dangling"));
	expect_file(host, "a.txt", "one\n");
	assert_int_equal(access("/etc/passwd", F_OK), 0);
}

static void directories_go_if_they_are_empty(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "full/x", "x");
	call(host, "create_directory", "{'path': 'empty'}");
	call(host, "delete_file", "{'path': 'empty'}");
	expect_text("empty directory");
	refuse(host, STET_E_KIND, "delete_file", "{'path': 'full'}");
	expect_text("not empty");
	refuse(host, STET_E_KIND, "delete_file", "{'path': '.'}");
	assert_true(dir_has(host->dir, "full/x"));
	assert_int_equal(mkfifo(dir_at(host->dir, "pipe"), 0644), 0);
	call(host, "delete_file", "{'path': 'pipe'}");
	assert_false(dir_has(host->dir, "pipe") || dir_has(host->dir, "empty"));
}

static void what_is_protected_or_outside_stays(void **state) {
	struct host *host = *state;
	dir_write(host->dir, ".git/config", "x");
	dir_write(host->dir, ".stet/rescued/x", "x");
	dir_write(host->dir, "a", "x");
	assert_int_equal(symlink("/etc", dir_at(host->dir, "etc")), 0);
	call(host, "read_file", "{'path': '.git/config'}");
	refuse(host, STET_E_PROTECTED, "delete_file", "{'path': '.git/config'}");
	call(host, "read_file", "{'path': '.stet/rescued/x'}");
	refuse(host, STET_E_PROTECTED, "delete_file", "{'path': '.stet/rescued/x'}");
	refuse(host, STET_E_PROTECTED, "delete_file", "{'path': '.git'}");
	refuse(host, STET_E_OUTSIDE, "delete_file", "{'path': '../x'}");
	refuse(host, STET_E_OUTSIDE, "delete_file", "{'path': 'etc/passwd'}");
	static const char *const moves[][2] = {
		{".git/config", "b"}, {".git", "b"},
		{"a", ".git/hooks"},  {"a", ".stet/x"},
		{".stet", "b"},       {"a", ".git"},
		{"a", "sub/.git/x"},  {"a", "sub/.stet/stet.db-journal"},
		{"sub/.stet/x", "b"}, {"a", "sub/.STET/x"},
		{"a", "new/.stet"},   {"sub/.stet", "b"},
	};
	call(host, "create_directory", "{'path': 'sub'}");
	assert_int_equal(mkdir(dir_at(host->dir, "sub/.git"), 0755), 0);
	dir_write(host->dir, "sub/.stet/x", "x");
	dir_write(host->dir, "sub/.STET/y", "y");
	dir_write(host->dir, "new/x", "x");
	for (size_t i = 0; i < sizeof moves / sizeof *moves; i++)
		refuse(host, STET_E_PROTECTED, "move_file", "{'source': '%s', 'destination': '%s'}",
		       moves[i][0], moves[i][1]);
	assert_true(dir_has(host->dir, ".git/config") && dir_has(host->dir, "a"));
}

static void what_may_not_be_written_is_not_deleted(void **state) {
	struct host *host = *state;
	if (geteuid() == 0)
		skip_because("root may write everything");
	dir_write(host->dir, "a", "x");
	assert_int_equal(chmod(dir_at(host->dir, "a"), 0444), 0);
	call(host, "read_file", "{'path': 'a'}");
	refuse(host, STET_E_ACCESS, "delete_file", "{'path': 'a'}");
	assert_true(dir_has(host->dir, "a"));
}

/* Another process that saves the file again and again, each time under a new inode. */
struct saver {
	const struct dir *dir;
	int saved;
	_Atomic bool stop;
};

static void *save(void *data) {
	struct saver *saver = data;
	while (!saver->stop) {
		char text[32];
		snprintf(text, sizeof text, "%d\n", ++saver->saved);
		dir_write(saver->dir, "new", text);
		if (rename(dir_at(saver->dir, "new"), dir_at(saver->dir, "a")) < 0)
			abort();
	}
	return NULL;
}

static void a_newer_version_is_never_deleted_for_an_older(void **state) {
	struct host *host = *state;
	pthread_t thread;
	struct saver saver = {.dir = host->dir};
	int deleted = 0;
	assert_int_equal(stet_workspace_set(host->ws, STET_OPTION_DURABLE, 0, NULL), 0);
	dir_write(host->dir, "a", "0\n");
	assert_int_equal(pthread_create(&thread, NULL, save, &saver), 0);
	for (int i = 0; i < 200; i++) {
		if (stet_session_track_read(host->session, "a", NULL) < 0)
			continue;
		char *answer = NULL;
		int code =
			stet_call(host->session, "delete_file", "{\"path\": \"a\"}", 13, &answer, NULL, NULL);
		stet_free(answer);
		assert_true(code == 0 || code == STET_E_CONFLICT || code == STET_E_BUSY ||
		            code == STET_E_NOT_FOUND);
		deleted += code == 0;
	}
	saver.stop = true;
	pthread_join(thread, NULL);
	/* The last save is there unless it was read and then deleted. */
	char last[32];
	snprintf(last, sizeof last, "%d\n", saver.saved);
	if (dir_has(host->dir, "a"))
		expect_file(host, "a", last);
	else
		assert_true(deleted > 0);
	assert_int_equal(dir_count(host->dir, "."),
	                 dir_has(host->dir, "a") + dir_has(host->dir, ".stet"));
}

/* ---- move_file ---- */

static void a_file_gets_another_name_and_stays_read(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "one\n");
	dir_write(host->dir, "sub/x", "x");
	call(host, "read_file", "{'path': 'a.txt'}");
	call(host, "move_file", "{'source': 'a.txt', 'destination': 'sub/b.txt'}");
	expect_str("source", "a.txt");
	expect_str("destination", "sub/b.txt");
	assert_false(dir_has(host->dir, "a.txt"));
	expect_file(host, "sub/b.txt", "one\n");
	call(host, "write_file", "{'path': 'sub/b.txt', 'content': 'two\\n'}");
	/* Under the old name nothing is known any more. */
	call(host, "write_file", "{'path': 'a.txt', 'content': 'new\\n'}");
}

static void a_move_takes_along_what_others_changed_and_the_next_edit_says_so(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "one\n");
	call(host, "read_file", "{'path': 'a.txt'}");
	dir_write(host->dir, "a.txt", "one\ntheirs\n");
	call(host, "move_file", "{'source': 'a.txt', 'destination': 'b.txt'}");
	expect_file(host, "b.txt", "one\ntheirs\n");
	refuse(host, STET_E_CONFLICT, "write_file", "{'path': 'b.txt', 'content': 'mine'}");
	expect_part("diff", "+theirs");
	expect_file(host, "b.txt", "one\ntheirs\n");
}

static void a_directory_moves_with_what_was_read_in_it(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a/one", "1\n");
	dir_write(host->dir, "a/deep/two", "2\n");
	dir_write(host->dir, "ab/three", "3\n");
	call(host, "read_multiple_files", "{'paths': ['a/one', 'a/deep/two', 'ab/three']}");
	call(host, "move_file", "{'source': 'a/', 'destination': 'b'}");
	call(host, "write_file", "{'path': 'b/one', 'content': 'x'}");
	call(host, "write_file", "{'path': 'b/deep/two', 'content': 'x'}");
	call(host, "write_file", "{'path': 'ab/three', 'content': 'x'}");
	refuse(host, STET_E_INVALID, "move_file", "{'source': 'b', 'destination': 'b/c'}");
	expect_text("into itself");
}

static void nothing_is_replaced_by_a_move(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a", "a");
	dir_write(host->dir, "b", "b");
	dir_write(host->dir, "dir/x", "x");
	assert_int_equal(symlink("missing", dir_at(host->dir, "dangling")), 0);
	refuse(host, STET_E_EXISTS, "move_file", "{'source': 'a', 'destination': 'b'}");
	expect_text("Destination already exists: \"b\". Choose another name");
	refuse(host, STET_E_EXISTS, "move_file", "{'source': 'a', 'destination': 'dir'}");
	expect_text("name the new file in it");
	refuse(host, STET_E_EXISTS, "move_file", "{'source': 'a', 'destination': 'dir/'}");
	refuse(host, STET_E_EXISTS, "move_file", "{'source': 'a', 'destination': 'a'}");
	refuse(host, STET_E_EXISTS, "move_file", "{'source': 'a', 'destination': 'dangling'}");
	refuse(host, STET_E_NOT_FOUND, "move_file", "{'source': 'missing', 'destination': 'c'}");
	refuse(host, STET_E_NOT_FOUND, "move_file", "{'source': 'a', 'destination': 'no/c'}");
	refuse(host, STET_E_OUTSIDE, "move_file", "{'source': 'a', 'destination': '../c'}");
	refuse(host, STET_E_OUTSIDE, "move_file", "{'source': '/etc/passwd', 'destination': 'c'}");
	refuse(host, STET_E_KIND, "move_file", "{'source': '.', 'destination': 'c'}");
	refuse(host, STET_E_INVALID, "move_file", "{'source': '', 'destination': 'c'}");
	refuse(host, STET_E_INVALID, "move_file", "{'source': 'a', 'destination': ''}");
	expect_file(host, "a", "a");
	expect_file(host, "b", "b");
}

static void a_link_is_moved_itself(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a", "a");
	assert_int_equal(symlink("a", dir_at(host->dir, "link")), 0);
	assert_int_equal(symlink("/etc/passwd", dir_at(host->dir, "away")), 0);
	call(host, "move_file", "{'source': 'link', 'destination': 'other'}");
	call(host, "move_file", "{'source': 'away', 'destination': 'still'}");
	struct stat st;
	assert_int_equal(lstat(dir_at(host->dir, "other"), &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	expect_file(host, "a", "a");
	assert_false(dir_has(host->dir, "link") || dir_has(host->dir, "away"));
}

int main(void) {
	const struct CMUnitTest tests[] = {
		host_claim(a_file_is_not_moved_or_copied_onto_itself),
		host_claim(the_workspace_itself_is_not_deleted),
		host_claim(a_file_that_was_read_can_be_deleted),
		host_claim(a_hash_is_not_enough_to_delete),
		host_claim(what_changed_since_it_was_read_is_not_deleted),
		host_claim(links_go_themselves),
		host_claim(directories_go_if_they_are_empty),
		host_claim(what_is_protected_or_outside_stays),
		host_claim(what_may_not_be_written_is_not_deleted),
		host_claim(a_newer_version_is_never_deleted_for_an_older),
		host_claim(a_file_gets_another_name_and_stays_read),
		host_claim(a_move_takes_along_what_others_changed_and_the_next_edit_says_so),
		host_claim(a_directory_moves_with_what_was_read_in_it),
		host_claim(nothing_is_replaced_by_a_move),
		host_claim(a_link_is_moved_itself),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
