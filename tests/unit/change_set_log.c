/* A change set in the log: one entry, one undo, one redo. */
#include "lib/tools.h"
#include "stet/state.h"

/* Changes two files, creates one in a new directory, deletes one. */
static const char patch[] =
	"*** Begin Patch\\n"
	"*** Update File: a.txt\\n@@\\n-old\\n+new\\n"
	"*** Update File: b.txt\\n@@\\n-old\\n+new\\n"
	"*** Add File: sub/c.txt\\n+new\\n"
	"*** Delete File: d.txt\\n"
	"*** End Patch\\n";

enum { FILES = 4 };

static void lay_files(struct host *host) {
	static const char *const names[] = {"a.txt", "b.txt", "d.txt"};
	for (size_t i = 0; i < 3; i++) {
		dir_write(host->dir, names[i], "old\n");
		call(host, "read_file", "{'path': '%s'}", names[i]);
	}
}

static void change_all(struct host *host) {
	lay_files(host);
	call(host, "apply_patch", "{'patch': '%s'}", patch);
}

static void expect_old(const struct host *host) {
	expect_file(host, "a.txt", "old\n");
	expect_file(host, "b.txt", "old\n");
	expect_file(host, "d.txt", "old\n");
	assert_false(dir_has(host->dir, "sub/c.txt"));
}

static void expect_new(const struct host *host) {
	expect_file(host, "a.txt", "new\n");
	expect_file(host, "b.txt", "new\n");
	expect_file(host, "sub/c.txt", "new\n");
	assert_false(dir_has(host->dir, "d.txt"));
}

/* How many writes stet_log() lists within a limit, and how many of them are of a change set. */
static void expect_log(const struct host *host, size_t limit, size_t writes, size_t of_sets) {
	char *text = NULL;
	size_t found = 0;
	assert_int_equal(stet_log(host->ws, NULL, limit, &text, NULL), 0);
	yyjson_doc *doc = yyjson_read(text, strlen(text), 0);
	yyjson_val *item;
	size_t i, count;
	yyjson_arr_foreach(yyjson_doc_get_root(doc), i, count, item) found +=
		yyjson_obj_get(item, "changeSet") != NULL;
	assert_int_equal(yyjson_arr_size(yyjson_doc_get_root(doc)), writes);
	assert_int_equal(found, of_sets);
	yyjson_doc_free(doc);
	stet_free(text);
}

static void the_log_counts_a_change_set_as_one(void **state) {
	struct host *host = *state;
	change_all(host);
	call(host, "write_file", "{'path': 'e.txt', 'content': 'x'}");
	expect_log(host, 1, 1, 0);
	expect_log(host, 2, 1 + FILES, FILES);
	expect_log(host, 20, 1 + FILES, FILES);
	call(host, "history", "{'limit': 1}");
	expect_count("writes", 1);
	expect_none("writes.0.changeSet");
	expect_int("omitted", FILES);
	call(host, "history", "{'limit': 2}");
	expect_count("writes", 1 + FILES);
	expect_int("writes.1.changeSet", FILES);
	expect_text("change set 4: 4 files");
	expect_none("omitted");
}

static void single_writes_are_entries_of_their_own(void **state) {
	struct host *host = *state;
	for (int i = 0; i < 5; i++)
		call(host, "write_file", "{'path': '%d.txt', 'content': 'x'}", i);
	expect_log(host, 3, 3, 0);
	call(host, "history", "{'limit': 3}");
	expect_count("writes", 3);
	expect_no_text("change set");
}

static void the_number_of_any_write_shows_all_files(void **state) {
	struct host *host = *state;
	change_all(host);
	for (int id = 1; id <= FILES; id++) {
		call(host, "history", "{'id': %d}", id);
		expect_count("writes", FILES);
		expect_text("+++ b/sub/c.txt");
		expect_text("--- a/d.txt");
	}
	call(host, "history", "{'id': 1, 'run': true}");
	expect_count("files", FILES);
	/* The file alone, if it is named. */
	call(host, "history", "{'id': 1, 'path': 'a.txt'}");
	expect_count("writes", 1);
}

static void one_undo_takes_all_of_it_back_and_one_redo_brings_it_back(void **state) {
	struct host *host = *state;
	change_all(host);
	for (int i = 0; i < 2; i++) {
		call(host, "undo", "{}");
		expect_int("takenBack", FILES);
		expect_old(host);
		call(host, "undo", "{'redo': true}");
		expect_int("takenBack", FILES);
		expect_new(host);
	}
	/* Each undo and each redo is one entry, too. */
	expect_log(host, 5, 5 * FILES, 5 * FILES);
}

static void any_of_its_numbers_undoes_all_of_it(void **state) {
	struct host *host = *state;
	change_all(host);
	call(host, "write_file", "{'path': 'e.txt', 'content': 'x'}");
	call(host, "undo", "{'id': 2}");
	expect_old(host);
	assert_true(dir_has(host->dir, "e.txt"));
	call(host, "undo", "{'id': 3, 'redo': true}");
	expect_new(host);
}

static void a_path_undoes_one_file_and_the_rest_goes_later(void **state) {
	struct host *host = *state;
	change_all(host);
	call(host, "undo", "{'path': 'b.txt'}");
	expect_file(host, "b.txt", "old\n");
	expect_file(host, "a.txt", "new\n");
	call(host, "undo", "{'id': 1}");
	expect_int("takenBack", FILES - 1);
	expect_old(host);
}

static void files_that_others_changed_since_are_left_and_named(void **state) {
	struct host *host = *state;
	change_all(host);
	dir_write(host->dir, "b.txt", "theirs\n");
	dir_write(host->dir, "d.txt", "theirs\n");
	refuse(host, STET_E_CONFLICT, "undo", "{}");
	expect_part("message", "2 of 4 files were taken back");
	expect_part("message", "\"b.txt\" (others");
	expect_part("message", "\"d.txt\" (others");
	expect_file(host, "a.txt", "old\n");
	expect_file(host, "b.txt", "theirs\n");
	expect_file(host, "d.txt", "theirs\n");
}

static void a_change_set_of_another_session_is_shown_first(void **state) {
	struct host *host = *state;
	struct stet_session *own = host->session;
	host->session = host_session(host, "bob");
	change_all(host);
	stet_session_close(host->session);
	host->session = own;
	refuse(host, STET_E_CONFLICT, "undo", "{'id': 1}");
	expect_text("would be deleted");
	expect_new(host);
	call(host, "undo", "{'id': 1}");
	expect_old(host);
}

static void directories_that_vanished_come_back(void **state) {
	struct host *host = *state;
	change_all(host);
	call(host, "undo", "{}");
	assert_int_equal(unlinkat(host->dir->fd, "sub", AT_REMOVEDIR), 0);
	call(host, "undo", "{'redo': true}");
	expect_new(host);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		host_claim(the_log_counts_a_change_set_as_one),
		host_claim(single_writes_are_entries_of_their_own),
		host_claim(the_number_of_any_write_shows_all_files),
		host_claim(one_undo_takes_all_of_it_back_and_one_redo_brings_it_back),
		host_claim(any_of_its_numbers_undoes_all_of_it),
		host_claim(a_path_undoes_one_file_and_the_rest_goes_later),
		host_claim(files_that_others_changed_since_are_left_and_named),
		host_claim(a_change_set_of_another_session_is_shown_first),
		host_claim(directories_that_vanished_come_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
