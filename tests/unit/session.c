/* A session's reads, edits and writes: what is refused, what it says, and how to go on. */
#include "lib/session.h"

static const char *text(const struct host *host, const char *name) {
	return dir_read(host->dir, name);
}

static void an_edit_changes_only_its_text(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.c", "one\r\ntwo\nthree");
	assert_int_equal(host_read(host, "a.c"), 0);
	assert_int_equal(host_edit(host, "a.c", "two", "2"), 0);
	assert_string_equal(text(host, "a.c"), "one\r\n2\nthree");
	assert_string_equal(stet_answer_commit(host->answer), "exchanged");
	assert_int_equal(host_edit(host, "a.c", "three", "3"), 0);
	assert_string_equal(text(host, "a.c"), "one\r\n2\n3");
}

static void an_edit_says_which_other_names_it_changes(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.c", "one\n");
	assert_int_equal(linkat(host->dir->fd, "a.c", host->dir->fd, "b.c", 0), 0);
	assert_int_equal(host_edit(host, "a.c", "one", "two"), 0);
	assert_string_equal(stet_answer_commit(host->answer), "in-place");
	assert_string_equal(
		stet_answer_notice(host->answer, 0),
		"\"a.c\" has 1 other name (hard links), maybe outside the workspace: the file "
		"was rewritten in place, so it changed under that one too.");
	assert_string_equal(text(host, "b.c"), "two\n");
	assert_int_equal(linkat(host->dir->fd, "a.c", host->dir->fd, "c.c", 0), 0);
	assert_int_equal(host_edit(host, "a.c", "two", "three"), 0);
	assert_non_null(strstr(stet_answer_notice(host->answer, 0), "2 other names (hard links)"));
	assert_int_equal(unlinkat(host->dir->fd, "b.c", 0), 0);
	assert_int_equal(unlinkat(host->dir->fd, "c.c", 0), 0);
	assert_int_equal(host_edit(host, "a.c", "three", "four"), 0);
	assert_null(stet_answer_notice(host->answer, 0));
}

static void an_edit_of_a_changed_file_is_refused_with_the_diff(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.c", "one\ntwo\nthree\n");
	assert_int_equal(host_read(host, "a.c"), 0);
	dir_write(host->dir, "a.c", "zero\none\ntwo\nthree\n");

	assert_int_equal(host_edit(host, "a.c", "two", "2"), STET_E_CONFLICT);
	assert_string_equal(text(host, "a.c"), "zero\none\ntwo\nthree\n");
	const char *sentence =
		"File \"a.c\" was modified since you last read it. Please read the file again, or go by "
		"the change below, which counts as read.";
	assert_memory_equal(host->err.message, sentence, strlen(sentence));
	assert_string_equal(stet_answer_reason(host->answer), "modified");
	assert_non_null(strstr(stet_answer_diff(host->answer, NULL), "+zero\n"));
	assert_int_equal(stet_answer_match(host->answer, 0), 3);
	assert_int_equal(stet_answer_match(host->answer, 1), 0);
	assert_non_null(stet_answer_hash(host->answer));
}

static void the_refused_edit_succeeds_when_repeated(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.c", "one\ntwo\n");
	assert_int_equal(host_read(host, "a.c"), 0);
	dir_write(host->dir, "a.c", "one\ntwo\nthree\n");
	assert_int_equal(host_edit(host, "a.c", "two", "2"), STET_E_CONFLICT);
	assert_int_equal(host_edit(host, "a.c", "two", "2"), 0);
	assert_string_equal(text(host, "a.c"), "one\n2\nthree\n");
}

static void an_unread_file_may_be_edited_by_its_text(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.c", "one two\n");
	assert_int_equal(host_edit(host, "a.c", "two", "2"), 0);
	assert_string_equal(text(host, "a.c"), "one 2\n");
}

static void an_unread_file_may_not_be_edited_where_reading_is_required(void **state) {
	struct host *host = *state;
	assert_int_equal(stet_workspace_set(host->ws, STET_OPTION_REQUIRE_READ, 1, NULL), 0);
	dir_write(host->dir, "a.c", "one two\n");
	assert_int_equal(host_edit(host, "a.c", "two", "2"), STET_E_CONFLICT);
	assert_string_equal(stet_answer_reason(host->answer), "unseen");
	assert_int_equal(host_read(host, "a.c"), 0);
	assert_int_equal(host_edit(host, "a.c", "two", "2"), 0);
}

static void an_edit_needs_exactly_one_place(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.c", "one one\n");
	assert_int_equal(host_edit(host, "a.c", "one", "1"), STET_E_AMBIGUOUS);
	/* This function cannot replace all, so the advice is another than that of edit_file. */
	assert_non_null(strstr(host->err.message, "until it is the only one."));
	assert_int_equal(host_edit(host, "a.c", "two", "2"), STET_E_NO_MATCH);
	assert_int_equal(host_edit(host, "a.c", "", "2"), STET_E_INVALID);
	assert_int_equal(host_edit(host, "b.c", "two", "2"), STET_E_NOT_FOUND);
	assert_string_equal(text(host, "a.c"), "one one\n");
}

static void a_new_file_is_written_without_a_read(void **state) {
	struct host *host = *state;
	assert_int_equal(host_write(host, "new.c", "text\n"), 0);
	assert_int_equal(host->err.code, 0);
	assert_string_equal(host->err.message, "");
	assert_true(stet_answer_created(host->answer));
	assert_string_equal(stet_answer_commit(host->answer), "created");
	assert_int_equal(host_write(host, "new.c", "more\n"), 0);
	assert_false(stet_answer_created(host->answer));
	assert_string_equal(text(host, "new.c"), "more\n");
}

static void an_existing_file_is_not_overwritten_unseen(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.c", "somebody's work\n");
	assert_int_equal(host_write(host, "a.c", "mine\n"), STET_E_CONFLICT);
	assert_string_equal(stet_answer_reason(host->answer), "unseen");
	assert_string_equal(text(host, "a.c"), "somebody's work\n");
	assert_int_equal(host_write(host, "a.c", "mine\n"), STET_E_CONFLICT);
	char hash[17];
	snprintf(hash, sizeof hash, "%s", stet_answer_hash(host->answer));
	assert_null(strstr(host->err.message, hash));
	assert_int_equal(host_write_hash(host, "a.c", "mine\n", hash), 0);
	assert_string_equal(text(host, "a.c"), "mine\n");
}

static void partial_reads_add_up_to_the_right_to_write(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a", "1\n2\n3\n4\n5\n");
	assert_int_equal(host_read_lines(host, "a", 1, 2), 0);
	assert_string_equal(stet_answer_content(host->answer, NULL), "1\n2\n");
	assert_int_equal(stet_answer_total_lines(host->answer), 5);
	assert_int_equal(host_write(host, "a", "x\n"), STET_E_CONFLICT);
	assert_non_null(strstr(host->err.message, "lines 3-5"));
	assert_int_equal(host_read_lines(host, "a", 4, 0), 0);
	assert_int_equal(host_write(host, "a", "x\n"), STET_E_CONFLICT);
	assert_non_null(strstr(host->err.message, "line 3."));
	assert_int_equal(host_read_lines(host, "a", 3, 1), 0);
	assert_int_equal(host_write(host, "a", "x\n"), 0);
	assert_string_equal(text(host, "a"), "x\n");
}

static void an_edit_does_not_forget_which_lines_were_seen(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a", "1\n2\n3\n4\n5\n");
	assert_int_equal(host_read_lines(host, "a", 1, 2), 0);
	assert_int_equal(host_edit(host, "a", "1\n2\n", "one\nand a half\ntwo\n"), 0);
	assert_int_equal(host_write(host, "a", "x\n"), STET_E_CONFLICT);
	assert_non_null(strstr(host->err.message, "lines 4-6"));
	assert_int_equal(host_read_lines(host, "a", 4, 3), 0);
	assert_int_equal(host_write(host, "a", "x\n"), 0);
}

static void a_stale_whole_file_write_is_refused_then_succeeds(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a", "1\n2\n3\n");
	assert_int_equal(host_read(host, "a"), 0);
	dir_write(host->dir, "a", "1\n2\n3\n4\n");
	assert_int_equal(host_write(host, "a", "x\n"), STET_E_CONFLICT);
	assert_string_equal(stet_answer_reason(host->answer), "modified");
	assert_non_null(strstr(stet_answer_diff(host->answer, NULL), "+4\n"));
	assert_int_equal(host_write(host, "a", "x\n"), 0);
}

static void a_cut_diff_does_not_count_as_seeing_everything(void **state) {
	struct host *host = *state;
	assert_int_equal(stet_workspace_set(host->ws, STET_OPTION_MAX_DIFF, 300, NULL), 0);
	dir_write(host->dir, "a", "old\n");
	assert_int_equal(host_read(host, "a"), 0);
	char big[4001];
	for (int i = 0; i < 400; i++)
		snprintf(big + i * 10, 11, "line %04d\n", i);
	dir_write(host->dir, "a", big);
	assert_int_equal(host_write(host, "a", "x\n"), STET_E_CONFLICT);
	assert_true(stet_answer_diff_truncated(host->answer));
	size_t len;
	stet_answer_diff(host->answer, &len);
	assert_true(len <= 300);
	assert_int_equal(host_write(host, "a", "x\n"), STET_E_CONFLICT);
	assert_string_equal(stet_answer_reason(host->answer), "unseen");
	assert_int_equal(host_read(host, "a"), 0);
	assert_int_equal(host_write(host, "a", "x\n"), 0);
}

static void an_equal_write_is_a_noop_whatever_was_seen(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a", "same\n");
	struct stat before, after;
	assert_int_equal(stat(dir_at(host->dir, "a"), &before), 0);
	assert_int_equal(host_write(host, "a", "same\n"), 0);
	assert_true(stet_answer_noop(host->answer));
	assert_string_equal(stet_answer_commit(host->answer), "none");
	assert_int_equal(stat(dir_at(host->dir, "a"), &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
	assert_int_equal(host_write(host, "a", "other\n"), 0);
}

static void a_file_deleted_meanwhile_is_refused_then_created(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a", "text\n");
	assert_int_equal(host_read(host, "a"), 0);
	assert_int_equal(unlinkat(host->dir->fd, "a", 0), 0);
	assert_int_equal(host_write(host, "a", "new\n"), STET_E_CONFLICT);
	assert_string_equal(stet_answer_reason(host->answer), "deleted");
	assert_int_equal(host_write(host, "a", "new\n"), 0);
	assert_true(stet_answer_created(host->answer));
}

static void a_wrong_expected_hash_states_the_current_one(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a", "text\n");
	assert_int_equal(host_read(host, "a"), 0);
	assert_int_equal(host_write_hash(host, "a", "new\n", "0123456789abcdef"), STET_E_CONFLICT);
	assert_string_equal(stet_answer_reason(host->answer), "hash");
	assert_non_null(strstr(host->err.message, stet_answer_hash(host->answer)));
	assert_int_equal(host_write_hash(host, "a", "new\n", "0123"), STET_E_INVALID);
	assert_int_equal(host_write_hash(host, "a", "new\n", "0123456789abcdeg"), STET_E_INVALID);
	assert_string_equal(text(host, "a"), "text\n");
}

static void a_conflict_names_the_session_that_wrote(void **state) {
	struct host *host = *state;
	struct stet_session *other = host_session(host, "reviewer");
	dir_write(host->dir, "a", "one two\n");
	assert_int_equal(host_read(host, "a"), 0);
	assert_int_equal(stet_session_edit(other, "a", "one", 3, "1", 1, NULL, NULL, NULL), 0);
	assert_int_equal(host_edit(host, "a", "two", "2"), STET_E_CONFLICT);
	assert_non_null(strstr(host->err.message, "\"reviewer\""));
	stet_session_close(other);
}

static void own_writes_are_never_external(void **state) {
	struct host *host = *state;
	assert_int_equal(host_write(host, "a", "0"), 0);
	for (int i = 0; i < 100; i++) {
		char old[8], new[8];
		snprintf(old, sizeof old, "%d", i);
		snprintf(new, sizeof new, "%d", i + 1);
		assert_int_equal(host_edit(host, "a", old, new), 0);
		assert_int_equal(host_check(host, "a"), 0);
		assert_string_equal(stet_answer_status(host->answer), "clean");
	}
}

static void reading_beyond_the_end_says_how_long_the_file_is(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a", "1\n2\n");
	assert_int_equal(host_read_lines(host, "a", 3, 1), STET_E_INVALID);
	assert_non_null(strstr(host->err.message, "2 lines"));
	dir_write(host->dir, "empty", "");
	assert_int_equal(host_read(host, "empty"), 0);
	assert_string_equal(stet_answer_content(host->answer, NULL), "");
	assert_int_equal(stet_answer_last_line(host->answer), 0);
	assert_int_equal(host_write(host, "empty", "x"), 0);
}

static void without_its_base_a_conflict_still_recovers(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a", "one two\n");
	assert_int_equal(host_read(host, "a"), 0);
	assert_int_equal(stet_workspace_set(host->ws, STET_OPTION_MAX_BASES, 0, NULL), 0);
	dir_write(host->dir, "a", "one two three\n");
	assert_int_equal(host_edit(host, "a", "two", "2"), STET_E_CONFLICT);
	assert_null(stet_answer_diff(host->answer, NULL));
	assert_int_equal(host_edit(host, "a", "two", "2"), 0);
}

static void the_size_limit_holds_for_reading_and_writing(void **state) {
	struct host *host = *state;
	assert_int_equal(stet_workspace_set(host->ws, STET_OPTION_MAX_FILE, 8, NULL), 0);
	dir_write(host->dir, "big", "123456789");
	assert_int_equal(host_read(host, "big"), STET_E_TOO_BIG);
	assert_int_equal(host_write(host, "new", "123456789"), STET_E_TOO_BIG);
	assert_false(dir_has(host->dir, "new"));
	assert_int_equal(stet_workspace_set(host->ws, STET_OPTION_DURABLE, 2, &host->err),
	                 STET_E_INVALID);
}

static void a_late_write_is_told_in_the_next_answer(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a", "old");
	int looked_up = open(dir_at(host->dir, "a"), O_PATH);
	assert_int_equal(host_edit(host, "a", "old", "new"), 0);
	char again[64];
	snprintf(again, sizeof again, "/proc/self/fd/%d", looked_up);
	int fd = open(again, O_WRONLY | O_APPEND);
	assert_int_equal(write(fd, " late", 5), 5);
	close(fd);
	close(looked_up);
	/* The replaced file is checked some time after the exchange, by the call that comes then. */
	for (int i = 0; i < 3000; i++) {
		assert_int_equal(host_read(host, "a"), 0);
		if (stet_answer_notice(host->answer, 0))
			break;
		sleep_ms(10);
	}
	assert_non_null(stet_answer_notice(host->answer, 0));
	assert_non_null(strstr(stet_answer_notice(host->answer, 0), ".stet/rescued/"));
}

static void a_notice_survives_a_call_that_fails(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.c", "one\n");
	int looked_up = open(dir_at(host->dir, "a.c"), O_PATH);
	assert_int_equal(host_edit(host, "a.c", "one", "1"), 0);
	char path[64];
	snprintf(path, sizeof path, "/proc/self/fd/%d", looked_up);
	int fd = open(path, O_WRONLY | O_APPEND);
	assert_int_equal(write(fd, "late\n", 5), 5);
	close(fd);
	close(looked_up);
	stet_workspace_drain(host->ws, 0);

	/* Neither a failure nor a call without an answer may lose the notice. */
	assert_int_equal(host_edit(host, "a.c", "no such text", "x"), STET_E_NO_MATCH);
	assert_int_equal(stet_session_edit(host->session, "a.c", "1", 1, "2", 1, NULL, NULL, NULL), 0);
	assert_int_equal(host_read(host, "a.c"), 0);
	assert_non_null(stet_answer_notice(host->answer, 0));
	assert_non_null(strstr(stet_answer_notice(host->answer, 0), ".stet/rescued/"));
}

/* A descriptor that was never opened is not 0. */
static void a_workspace_closes_only_what_it_opened(void **state) {
	const struct dir *dir = *state;
	int saved = fcntl(0, F_DUPFD_CLOEXEC, 3);
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_int_equal(null == 0 ? 0 : dup2(null, 0), 0);
	dir_write(dir, "a.txt", "old");
	struct stet_workspace *ws;
	struct stet_session *session;
	assert_int_equal(stet_workspace_open(dir->path, &ws, NULL), 0);
	assert_int_equal(stet_session_open(ws, NULL, &session, NULL), 0);
	assert_int_equal(stet_session_edit(session, "a.txt", "old", 3, "new", 3, NULL, NULL, NULL), 0);
	stet_session_close(session);
	stet_workspace_close(ws);
	assert_true(fcntl(0, F_GETFD) >= 0);
	if (null > 0)
		close(null);
	if (saved >= 0) {
		dup2(saved, 0);
		close(saved);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
		host_claim(an_edit_changes_only_its_text),
		host_claim(an_edit_says_which_other_names_it_changes),
		host_claim(an_edit_of_a_changed_file_is_refused_with_the_diff),
		host_claim(the_refused_edit_succeeds_when_repeated),
		host_claim(an_unread_file_may_be_edited_by_its_text),
		host_claim(an_unread_file_may_not_be_edited_where_reading_is_required),
		host_claim(an_edit_needs_exactly_one_place),
		host_claim(a_new_file_is_written_without_a_read),
		host_claim(an_existing_file_is_not_overwritten_unseen),
		host_claim(partial_reads_add_up_to_the_right_to_write),
		host_claim(an_edit_does_not_forget_which_lines_were_seen),
		host_claim(a_stale_whole_file_write_is_refused_then_succeeds),
		host_claim(a_cut_diff_does_not_count_as_seeing_everything),
		host_claim(an_equal_write_is_a_noop_whatever_was_seen),
		host_claim(a_file_deleted_meanwhile_is_refused_then_created),
		host_claim(a_wrong_expected_hash_states_the_current_one),
		host_claim(a_conflict_names_the_session_that_wrote),
		host_claim(own_writes_are_never_external),
		host_claim(reading_beyond_the_end_says_how_long_the_file_is),
		host_claim(without_its_base_a_conflict_still_recovers),
		host_claim(the_size_limit_holds_for_reading_and_writing),
		host_claim(a_late_write_is_told_in_the_next_answer),
		host_claim(a_notice_survives_a_call_that_fails),
		claim(a_workspace_closes_only_what_it_opened),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
