/* Workspaces, sessions and answers, as a program that knows the public headers alone uses them. */
#include <stet/stet.h>

#include "lib/test.h"

struct opened {
	struct stet_workspace *ws;
	struct stet_session *session;
};

static struct opened open_dir(const struct dir *dir, const char *name) {
	struct opened opened = {0};
	assert_int_equal(stet_workspace_open(dir->path, &opened.ws, NULL), 0);
	assert_int_equal(stet_session_open(opened.ws, name, &opened.session, NULL), 0);
	return opened;
}

static void close_dir(struct opened *opened) {
	stet_session_close(opened->session);
	stet_workspace_close(opened->ws);
}

/* Read a whole file; its text must be as expected. */
static void read_file(struct stet_session *session, const char *path, const char *expected) {
	struct stet_answer *answer = NULL;
	size_t len = 0;
	assert_int_equal(stet_session_read(session, path, 0, 0, &answer, NULL), 0);
	assert_string_equal(stet_answer_content(answer, &len), expected);
	assert_int_equal(len, strlen(expected));
	stet_answer_free(answer);
}

static void a_stranger_can_ask_for_the_version(void **state) {
	(void)state;
	assert_non_null(strchr(stet_version(), '.'));
}

static void an_error_has_a_code_a_name_and_a_sentence(void **state) {
	const struct dir *dir = *state;
	struct stet_error *err = stet_error_new();
	assert_non_null(err);
	assert_int_equal(stet_error_code(err), 0);
	assert_string_equal(stet_error_message(err), "");

	struct stet_workspace *ws = NULL;
	assert_int_equal(stet_workspace_open(dir_at(dir, "nowhere"), &ws, err), STET_E_NOT_FOUND);
	assert_null(ws);
	assert_int_equal(stet_error_code(err), STET_E_NOT_FOUND);
	assert_string_equal(stet_error_name(STET_E_NOT_FOUND), "not_found");
	assert_non_null(strstr(stet_error_message(err), "nowhere"));
	assert_true(strlen(stet_error_text(STET_E_NOT_FOUND)) > 0);
	assert_int_equal(stet_error_rpc(STET_E_INVALID), -32602);
	assert_int_equal(stet_error_exit(STET_E_CONFLICT), 1);
	assert_int_equal(stet_error_exit(0), 0);
	stet_error_free(err);
}

static void an_edit_is_refused_once_and_shows_the_change(void **state) {
	const struct dir *dir = *state;
	dir_write(dir, "list.txt", "bread\nmilk\n");
	struct opened opened = open_dir(dir, "me");
	struct stet_answer *answer = NULL;
	struct stet_error err = {0};
	read_file(opened.session, "list.txt", "bread\nmilk\n");
	dir_write(dir, "list.txt", "bread\nmilk\nbutter\n");

	int code =
		stet_session_edit(opened.session, "list.txt", "milk", 4, "tea", 3, NULL, &answer, &err);
	assert_int_equal(code, STET_E_CONFLICT);
	assert_string_equal(stet_answer_status(answer), "conflict");
	assert_string_equal(stet_answer_path(answer), "list.txt");
	assert_string_equal(stet_answer_reason(answer), "modified");
	assert_true(stet_answer_has_conflict(answer));
	assert_non_null(strstr(stet_answer_message(answer), "was modified since you last read it"));
	assert_non_null(strstr(stet_answer_diff(answer, NULL), "+butter"));
	assert_false(stet_answer_diff_truncated(answer));
	assert_int_equal(stet_answer_match(answer, 0), 2);
	assert_int_equal(stet_answer_match(answer, 1), 0);
	stet_answer_free(answer);
	assert_string_equal(dir_read(dir, "list.txt"), "bread\nmilk\nbutter\n");

	code = stet_session_edit(opened.session, "list.txt", "milk", 4, "tea", 3, NULL, &answer, &err);
	assert_int_equal(code, 0);
	assert_string_equal(stet_answer_status(answer), "success");
	assert_string_equal(stet_answer_commit(answer), "exchanged");
	assert_false(stet_answer_noop(answer) || stet_answer_created(answer) ||
	             stet_answer_merged(answer));
	assert_string_equal(dir_read(dir, "list.txt"), "bread\ntea\nbutter\n");

	char hex[65];
	assert_int_equal(stet_text_hash("bread\ntea\nbutter\n", 17, hex, NULL), 0);
	assert_string_equal(stet_answer_full_hash(answer), hex);
	assert_memory_equal(stet_answer_hash(answer), hex, 16);
	stet_answer_free(answer);
	close_dir(&opened);
}

static void pages_of_a_file_say_which_lines_they_are(void **state) {
	const struct dir *dir = *state;
	dir_write(dir, "a.txt", "1\n2\n3\n4\n");
	struct opened opened = open_dir(dir, NULL);
	struct stet_answer *answer = NULL;
	assert_int_equal(stet_session_read(opened.session, "a.txt", 2, 2, &answer, NULL), 0);
	assert_string_equal(stet_answer_content(answer, NULL), "2\n3\n");
	assert_int_equal(stet_answer_first_line(answer), 2);
	assert_int_equal(stet_answer_last_line(answer), 3);
	assert_int_equal(stet_answer_total_lines(answer), 4);
	assert_null(stet_answer_notice(answer, 0));
	stet_answer_free(answer);
	close_dir(&opened);
}

static void a_file_read_in_part_is_not_overwritten(void **state) {
	const struct dir *dir = *state;
	dir_write(dir, "a.txt", "1\n2\n");
	struct opened opened = open_dir(dir, NULL);
	struct stet_answer *answer = NULL;
	assert_int_equal(stet_session_read(opened.session, "a.txt", 1, 1, &answer, NULL), 0);
	stet_answer_free(answer);
	assert_int_equal(stet_session_write(opened.session, "a.txt", "x\n", 2, NULL, &answer, NULL),
	                 STET_E_CONFLICT);
	assert_string_equal(stet_answer_reason(answer), "unseen");
	stet_answer_free(answer);
	assert_string_equal(dir_read(dir, "a.txt"), "1\n2\n");

	assert_int_equal(stet_session_write(opened.session, "new.txt", "n\n", 2, NULL, &answer, NULL),
	                 0);
	assert_true(stet_answer_created(answer));
	stet_answer_free(answer);
	close_dir(&opened);
}

static void a_tracker_tells_what_changed_since_a_read(void **state) {
	const struct dir *dir = *state;
	dir_write(dir, "a.txt", "one\n");
	struct opened opened = open_dir(dir, NULL);
	struct stet_session *session = opened.session;
	assert_ptr_equal(stet_session_workspace(session), opened.ws);
	assert_int_equal(stet_session_track_read(session, "a.txt", NULL), 0);
	assert_int_equal(stet_session_modified(session, "a.txt", NULL), 0);
	dir_write(dir, "a.txt", "two\n");
	assert_int_equal(stet_session_modified(session, "a.txt", NULL), 1);

	struct stet_answer *answer = NULL;
	assert_int_equal(stet_session_check(session, "a.txt", &answer, NULL), 0);
	assert_string_equal(stet_answer_status(answer), "modified");
	stet_answer_free(answer);
	stet_session_invalidate(session, "a.txt");
	assert_int_equal(stet_session_check(session, "a.txt", &answer, NULL), 0);
	assert_string_equal(stet_answer_status(answer), "untracked");
	stet_answer_free(answer);

	assert_int_equal(stet_session_track(session, "a.txt", "older\n", 6, NULL), 0);
	assert_int_equal(stet_session_modified(session, "a.txt", NULL), 1);
	close_dir(&opened);
}

static void options_bound_what_a_workspace_takes(void **state) {
	const struct dir *dir = *state;
	dir_write(dir, "a.txt", "0123456789\n");
	dir_write(dir, "b.bin", "x\n");
	struct opened opened = open_dir(dir, NULL);
	struct stet_answer *answer = NULL;
	struct stet_error err = {0};
	assert_int_equal(stet_workspace_set(opened.ws, STET_OPTION_MAX_FILE, 5, NULL), 0);
	assert_int_equal(stet_session_read(opened.session, "a.txt", 0, 0, &answer, &err),
	                 STET_E_TOO_BIG);
	assert_int_equal(stet_workspace_set(opened.ws, STET_OPTION_MAX_FILE, -1, &err), STET_E_INVALID);
	assert_int_equal(stet_workspace_set(opened.ws, STET_OPTION_MAX_FILE, 1000, NULL), 0);
	assert_int_equal(stet_workspace_allow(opened.ws, ".txt", NULL), 0);
	assert_int_equal(stet_session_read(opened.session, "b.bin", 0, 0, &answer, &err),
	                 STET_E_EXTENSION);
	assert_int_equal(stet_session_read(opened.session, "../a.txt", 0, 0, &answer, &err),
	                 STET_E_OUTSIDE);
	read_file(opened.session, "a.txt", "0123456789\n");

	char *real = realpath(dir->path, NULL);
	assert_string_equal(stet_workspace_root(opened.ws), real);
	free(real);
	assert_null(stet_workspace_shared(opened.ws));
	stet_workspace_drain(opened.ws, 0);
	char *notice = stet_workspace_notice(opened.ws);
	assert_null(notice);
	stet_free(notice);
	close_dir(&opened);
}

static void the_process_has_a_session_of_its_own(void **state) {
	(void)state;
	struct stet_error err = {0};
	struct stet_session *session = stet_session_default(&err);
	assert_non_null(session);
	assert_ptr_equal(stet_session_default(&err), session);
}

static void text_is_measured_and_made_visible(void **state) {
	(void)state;
	assert_int_equal(stet_text_width("a\xe4\xb8\xad", 4), 3);
	assert_int_equal(stet_text_distance("braed", 5, "bread", 5), 1);
	char *name = stet_text_name("a\x1b.txt", 6);
	assert_string_equal(name, "\"a\\u001b.txt\"");
	stet_free(name);
	size_t len = 0;
	char *text = stet_text_screen("\x1b[2J", 4, &len);
	assert_string_equal(text, "^[[2J");
	assert_int_equal(len, 5);
	stet_free(text);
	assert_true(stet_tokens("one two three", 13) >= 3);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stranger_can_ask_for_the_version),
		claim(an_error_has_a_code_a_name_and_a_sentence),
		claim(an_edit_is_refused_once_and_shows_the_change),
		claim(pages_of_a_file_say_which_lines_they_are),
		claim(a_file_read_in_part_is_not_overwritten),
		claim(a_tracker_tells_what_changed_since_a_read),
		claim(options_bound_what_a_workspace_takes),
		cmocka_unit_test(the_process_has_a_session_of_its_own),
		cmocka_unit_test(text_is_measured_and_made_visible),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
