/* A session's reads, edits and writes: what is refused, what it says, and how to go on. */
#include "lib/session.h"

static const char *text(const struct desk *desk, const char *name) {
	return dir_read(desk->dir, name);
}

static void an_edit_changes_only_its_text(void **state) {
	struct desk *desk = *state;
	dir_write(desk->dir, "a.c", "one\r\ntwo\nthree");
	assert_int_equal(desk_read(desk, "a.c"), 0);
	assert_int_equal(desk_edit(desk, "a.c", "two", "2"), 0);
	assert_string_equal(text(desk, "a.c"), "one\r\n2\nthree");
	assert_string_equal(stet_answer_commit(desk->answer), "exchanged");
	assert_int_equal(desk_edit(desk, "a.c", "three", "3"), 0);
	assert_string_equal(text(desk, "a.c"), "one\r\n2\n3");
}

static void an_edit_says_which_other_names_it_changes(void **state) {
	struct desk *desk = *state;
	dir_write(desk->dir, "a.c", "one\n");
	assert_int_equal(linkat(desk->dir->fd, "a.c", desk->dir->fd, "b.c", 0), 0);
	assert_int_equal(desk_edit(desk, "a.c", "one", "two"), 0);
	assert_string_equal(stet_answer_commit(desk->answer), "in-place");
	assert_string_equal(
		stet_answer_notice(desk->answer, 0),
		"\"a.c\" has 1 other name (hard links), maybe outside the workspace: the file "
		"was rewritten in place, so it changed under that one too.");
	assert_string_equal(text(desk, "b.c"), "two\n");
	assert_int_equal(linkat(desk->dir->fd, "a.c", desk->dir->fd, "c.c", 0), 0);
	assert_int_equal(desk_edit(desk, "a.c", "two", "three"), 0);
	assert_non_null(strstr(stet_answer_notice(desk->answer, 0), "2 other names (hard links)"));
	assert_int_equal(unlinkat(desk->dir->fd, "b.c", 0), 0);
	assert_int_equal(unlinkat(desk->dir->fd, "c.c", 0), 0);
	assert_int_equal(desk_edit(desk, "a.c", "three", "four"), 0);
	assert_null(stet_answer_notice(desk->answer, 0));
}

static void an_edit_of_a_changed_file_is_refused_with_the_diff(void **state) {
	struct desk *desk = *state;
	dir_write(desk->dir, "a.c", "one\ntwo\nthree\n");
	assert_int_equal(desk_read(desk, "a.c"), 0);
	dir_write(desk->dir, "a.c", "zero\none\ntwo\nthree\n");

	assert_int_equal(desk_edit(desk, "a.c", "two", "2"), STET_E_CONFLICT);
	assert_string_equal(text(desk, "a.c"), "zero\none\ntwo\nthree\n");
	const char *sentence =
		"File \"a.c\" was modified since you last read it. Please read the file again, or go by "
		"the change below, which counts as read.";
	assert_memory_equal(desk->err.message, sentence, strlen(sentence));
	assert_string_equal(stet_answer_reason(desk->answer), "modified");
	assert_non_null(strstr(stet_answer_diff(desk->answer, NULL), "+zero\n"));
	assert_int_equal(stet_answer_match(desk->answer, 0), 3);
	assert_int_equal(stet_answer_match(desk->answer, 1), 0);
	assert_non_null(stet_answer_hash(desk->answer));
}

static void the_refused_edit_succeeds_when_repeated(void **state) {
	struct desk *desk = *state;
	dir_write(desk->dir, "a.c", "one\ntwo\n");
	assert_int_equal(desk_read(desk, "a.c"), 0);
	dir_write(desk->dir, "a.c", "one\ntwo\nthree\n");
	assert_int_equal(desk_edit(desk, "a.c", "two", "2"), STET_E_CONFLICT);
	assert_int_equal(desk_edit(desk, "a.c", "two", "2"), 0);
	assert_string_equal(text(desk, "a.c"), "one\n2\nthree\n");
}

static void an_unread_file_may_be_edited_by_its_text(void **state) {
	struct desk *desk = *state;
	dir_write(desk->dir, "a.c", "one two\n");
	assert_int_equal(desk_edit(desk, "a.c", "two", "2"), 0);
	assert_string_equal(text(desk, "a.c"), "one 2\n");
}

static void an_unread_file_may_not_be_edited_where_reading_is_required(void **state) {
	struct desk *desk = *state;
	assert_int_equal(stet_workspace_set(desk->ws, STET_OPTION_REQUIRE_READ, 1, NULL), 0);
	dir_write(desk->dir, "a.c", "one two\n");
	assert_int_equal(desk_edit(desk, "a.c", "two", "2"), STET_E_CONFLICT);
	assert_string_equal(stet_answer_reason(desk->answer), "unseen");
	assert_int_equal(desk_read(desk, "a.c"), 0);
	assert_int_equal(desk_edit(desk, "a.c", "two", "2"), 0);
}

static void an_edit_needs_exactly_one_place(void **state) {
	struct desk *desk = *state;
	dir_write(desk->dir, "a.c", "one one\n");
	assert_int_equal(desk_edit(desk, "a.c", "one", "1"), STET_E_AMBIGUOUS);
	assert_int_equal(desk_edit(desk, "a.c", "two", "2"), STET_E_NO_MATCH);
	assert_int_equal(desk_edit(desk, "a.c", "", "2"), STET_E_INVALID);
	assert_int_equal(desk_edit(desk, "b.c", "two", "2"), STET_E_NOT_FOUND);
	assert_string_equal(text(desk, "a.c"), "one one\n");
}

static void a_new_file_is_written_without_a_read(void **state) {
	struct desk *desk = *state;
	assert_int_equal(desk_write(desk, "new.c", "text\n"), 0);
	assert_int_equal(desk->err.code, 0);
	assert_string_equal(desk->err.message, "");
	assert_true(stet_answer_created(desk->answer));
	assert_string_equal(stet_answer_commit(desk->answer), "created");
	assert_int_equal(desk_write(desk, "new.c", "more\n"), 0);
	assert_false(stet_answer_created(desk->answer));
	assert_string_equal(text(desk, "new.c"), "more\n");
}

static void an_existing_file_is_not_overwritten_unseen(void **state) {
	struct desk *desk = *state;
	dir_write(desk->dir, "a.c", "somebody's work\n");
	assert_int_equal(desk_write(desk, "a.c", "mine\n"), STET_E_CONFLICT);
	assert_string_equal(stet_answer_reason(desk->answer), "unseen");
	assert_string_equal(text(desk, "a.c"), "somebody's work\n");
	assert_int_equal(desk_write(desk, "a.c", "mine\n"), STET_E_CONFLICT);
	char hash[17];
	snprintf(hash, sizeof hash, "%s", stet_answer_hash(desk->answer));
	assert_null(strstr(desk->err.message, hash));
	assert_int_equal(desk_write_hash(desk, "a.c", "mine\n", hash), 0);
	assert_string_equal(text(desk, "a.c"), "mine\n");
}

static void partial_reads_add_up_to_the_right_to_write(void **state) {
	struct desk *desk = *state;
	dir_write(desk->dir, "a", "1\n2\n3\n4\n5\n");
	assert_int_equal(desk_read_lines(desk, "a", 1, 2), 0);
	assert_string_equal(stet_answer_content(desk->answer, NULL), "1\n2\n");
	assert_int_equal(stet_answer_total_lines(desk->answer), 5);
	assert_int_equal(desk_write(desk, "a", "x\n"), STET_E_CONFLICT);
	assert_non_null(strstr(desk->err.message, "lines 3-5"));
	assert_int_equal(desk_read_lines(desk, "a", 4, 0), 0);
	assert_int_equal(desk_write(desk, "a", "x\n"), STET_E_CONFLICT);
	assert_non_null(strstr(desk->err.message, "line 3."));
	assert_int_equal(desk_read_lines(desk, "a", 3, 1), 0);
	assert_int_equal(desk_write(desk, "a", "x\n"), 0);
	assert_string_equal(text(desk, "a"), "x\n");
}

static void an_edit_does_not_forget_which_lines_were_seen(void **state) {
	struct desk *desk = *state;
	dir_write(desk->dir, "a", "1\n2\n3\n4\n5\n");
	assert_int_equal(desk_read_lines(desk, "a", 1, 2), 0);
	assert_int_equal(desk_edit(desk, "a", "1\n2\n", "one\nand a half\ntwo\n"), 0);
	assert_int_equal(desk_write(desk, "a", "x\n"), STET_E_CONFLICT);
	assert_non_null(strstr(desk->err.message, "lines 4-6"));
	assert_int_equal(desk_read_lines(desk, "a", 4, 3), 0);
	assert_int_equal(desk_write(desk, "a", "x\n"), 0);
}

static void a_stale_whole_file_write_is_refused_then_succeeds(void **state) {
	struct desk *desk = *state;
	dir_write(desk->dir, "a", "1\n2\n3\n");
	assert_int_equal(desk_read(desk, "a"), 0);
	dir_write(desk->dir, "a", "1\n2\n3\n4\n");
	assert_int_equal(desk_write(desk, "a", "x\n"), STET_E_CONFLICT);
	assert_string_equal(stet_answer_reason(desk->answer), "modified");
	assert_non_null(strstr(stet_answer_diff(desk->answer, NULL), "+4\n"));
	assert_int_equal(desk_write(desk, "a", "x\n"), 0);
}

static void a_cut_diff_does_not_count_as_seeing_everything(void **state) {
	struct desk *desk = *state;
	assert_int_equal(stet_workspace_set(desk->ws, STET_OPTION_MAX_DIFF, 300, NULL), 0);
	dir_write(desk->dir, "a", "old\n");
	assert_int_equal(desk_read(desk, "a"), 0);
	char big[4001];
	for (int i = 0; i < 400; i++)
		snprintf(big + i * 10, 11, "line %04d\n", i);
	dir_write(desk->dir, "a", big);
	assert_int_equal(desk_write(desk, "a", "x\n"), STET_E_CONFLICT);
	assert_true(stet_answer_diff_truncated(desk->answer));
	size_t len;
	stet_answer_diff(desk->answer, &len);
	assert_true(len <= 300);
	assert_int_equal(desk_write(desk, "a", "x\n"), STET_E_CONFLICT);
	assert_string_equal(stet_answer_reason(desk->answer), "unseen");
	assert_int_equal(desk_read(desk, "a"), 0);
	assert_int_equal(desk_write(desk, "a", "x\n"), 0);
}

static void an_equal_write_is_a_noop_whatever_was_seen(void **state) {
	struct desk *desk = *state;
	dir_write(desk->dir, "a", "same\n");
	struct stat before, after;
	assert_int_equal(stat(dir_at(desk->dir, "a"), &before), 0);
	assert_int_equal(desk_write(desk, "a", "same\n"), 0);
	assert_true(stet_answer_noop(desk->answer));
	assert_string_equal(stet_answer_commit(desk->answer), "none");
	assert_int_equal(stat(dir_at(desk->dir, "a"), &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
	assert_int_equal(desk_write(desk, "a", "other\n"), 0);
}

static void a_file_deleted_meanwhile_is_refused_then_created(void **state) {
	struct desk *desk = *state;
	dir_write(desk->dir, "a", "text\n");
	assert_int_equal(desk_read(desk, "a"), 0);
	assert_int_equal(unlinkat(desk->dir->fd, "a", 0), 0);
	assert_int_equal(desk_write(desk, "a", "new\n"), STET_E_CONFLICT);
	assert_string_equal(stet_answer_reason(desk->answer), "deleted");
	assert_int_equal(desk_write(desk, "a", "new\n"), 0);
	assert_true(stet_answer_created(desk->answer));
}

static void a_wrong_expected_hash_states_the_current_one(void **state) {
	struct desk *desk = *state;
	dir_write(desk->dir, "a", "text\n");
	assert_int_equal(desk_read(desk, "a"), 0);
	assert_int_equal(desk_write_hash(desk, "a", "new\n", "0123456789abcdef"), STET_E_CONFLICT);
	assert_string_equal(stet_answer_reason(desk->answer), "hash");
	assert_non_null(strstr(desk->err.message, stet_answer_hash(desk->answer)));
	assert_int_equal(desk_write_hash(desk, "a", "new\n", "0123"), STET_E_INVALID);
	assert_int_equal(desk_write_hash(desk, "a", "new\n", "0123456789abcdeg"), STET_E_INVALID);
	assert_string_equal(text(desk, "a"), "text\n");
}

static void a_conflict_names_the_session_that_wrote(void **state) {
	struct desk *desk = *state;
	struct stet_session *other = desk_session(desk, "reviewer");
	dir_write(desk->dir, "a", "one two\n");
	assert_int_equal(desk_read(desk, "a"), 0);
	assert_int_equal(stet_session_edit(other, "a", "one", 3, "1", 1, NULL, NULL, NULL), 0);
	assert_int_equal(desk_edit(desk, "a", "two", "2"), STET_E_CONFLICT);
	assert_non_null(strstr(desk->err.message, "\"reviewer\""));
	stet_session_close(other);
}

static void own_writes_are_never_external(void **state) {
	struct desk *desk = *state;
	assert_int_equal(desk_write(desk, "a", "0"), 0);
	for (int i = 0; i < 100; i++) {
		char old[8], new[8];
		snprintf(old, sizeof old, "%d", i);
		snprintf(new, sizeof new, "%d", i + 1);
		assert_int_equal(desk_edit(desk, "a", old, new), 0);
		assert_int_equal(desk_check(desk, "a"), 0);
		assert_string_equal(stet_answer_status(desk->answer), "clean");
	}
}

static void reading_beyond_the_end_says_how_long_the_file_is(void **state) {
	struct desk *desk = *state;
	dir_write(desk->dir, "a", "1\n2\n");
	assert_int_equal(desk_read_lines(desk, "a", 3, 1), STET_E_INVALID);
	assert_non_null(strstr(desk->err.message, "2 lines"));
	dir_write(desk->dir, "empty", "");
	assert_int_equal(desk_read(desk, "empty"), 0);
	assert_string_equal(stet_answer_content(desk->answer, NULL), "");
	assert_int_equal(stet_answer_last_line(desk->answer), 0);
	assert_int_equal(desk_write(desk, "empty", "x"), 0);
}

static void without_its_base_a_conflict_still_recovers(void **state) {
	struct desk *desk = *state;
	dir_write(desk->dir, "a", "one two\n");
	assert_int_equal(desk_read(desk, "a"), 0);
	assert_int_equal(stet_workspace_set(desk->ws, STET_OPTION_MAX_BASES, 0, NULL), 0);
	dir_write(desk->dir, "a", "one two three\n");
	assert_int_equal(desk_edit(desk, "a", "two", "2"), STET_E_CONFLICT);
	assert_null(stet_answer_diff(desk->answer, NULL));
	assert_int_equal(desk_edit(desk, "a", "two", "2"), 0);
}

static void the_size_limit_holds_for_reading_and_writing(void **state) {
	struct desk *desk = *state;
	assert_int_equal(stet_workspace_set(desk->ws, STET_OPTION_MAX_FILE, 8, NULL), 0);
	dir_write(desk->dir, "big", "123456789");
	assert_int_equal(desk_read(desk, "big"), STET_E_TOO_BIG);
	assert_int_equal(desk_write(desk, "new", "123456789"), STET_E_TOO_BIG);
	assert_false(dir_has(desk->dir, "new"));
	assert_int_equal(stet_workspace_set(desk->ws, STET_OPTION_DURABLE, 2, &desk->err),
	                 STET_E_INVALID);
}

static void a_late_write_is_told_in_the_next_answer(void **state) {
	struct desk *desk = *state;
	dir_write(desk->dir, "a", "old");
	int looked_up = open(dir_at(desk->dir, "a"), O_PATH);
	assert_int_equal(desk_edit(desk, "a", "old", "new"), 0);
	char again[64];
	snprintf(again, sizeof again, "/proc/self/fd/%d", looked_up);
	int fd = open(again, O_WRONLY | O_APPEND);
	assert_int_equal(write(fd, " late", 5), 5);
	close(fd);
	close(looked_up);
	sleep_ms(150);
	assert_int_equal(desk_read(desk, "a"), 0);
	assert_non_null(stet_answer_notice(desk->answer, 0));
	assert_non_null(strstr(stet_answer_notice(desk->answer, 0), ".stet/rescued/"));
}

static void a_notice_survives_a_call_that_fails(void **state) {
	struct desk *desk = *state;
	dir_write(desk->dir, "a.c", "one\n");
	int looked_up = open(dir_at(desk->dir, "a.c"), O_PATH);
	assert_int_equal(desk_edit(desk, "a.c", "one", "1"), 0);
	char path[64];
	snprintf(path, sizeof path, "/proc/self/fd/%d", looked_up);
	int fd = open(path, O_WRONLY | O_APPEND);
	assert_int_equal(write(fd, "late\n", 5), 5);
	close(fd);
	close(looked_up);
	stet_workspace_settle(desk->ws, 0);

	/* Neither a failure nor a caller who wants no answer may swallow it. */
	assert_int_equal(desk_edit(desk, "a.c", "no such text", "x"), STET_E_NO_MATCH);
	assert_int_equal(stet_session_edit(desk->session, "a.c", "1", 1, "2", 1, NULL, NULL, NULL), 0);
	assert_int_equal(desk_read(desk, "a.c"), 0);
	assert_non_null(stet_answer_notice(desk->answer, 0));
	assert_non_null(strstr(stet_answer_notice(desk->answer, 0), ".stet/rescued/"));
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
		desk_claim(an_edit_changes_only_its_text),
		desk_claim(an_edit_says_which_other_names_it_changes),
		desk_claim(an_edit_of_a_changed_file_is_refused_with_the_diff),
		desk_claim(the_refused_edit_succeeds_when_repeated),
		desk_claim(an_unread_file_may_be_edited_by_its_text),
		desk_claim(an_unread_file_may_not_be_edited_where_reading_is_required),
		desk_claim(an_edit_needs_exactly_one_place),
		desk_claim(a_new_file_is_written_without_a_read),
		desk_claim(an_existing_file_is_not_overwritten_unseen),
		desk_claim(partial_reads_add_up_to_the_right_to_write),
		desk_claim(an_edit_does_not_forget_which_lines_were_seen),
		desk_claim(a_stale_whole_file_write_is_refused_then_succeeds),
		desk_claim(a_cut_diff_does_not_count_as_seeing_everything),
		desk_claim(an_equal_write_is_a_noop_whatever_was_seen),
		desk_claim(a_file_deleted_meanwhile_is_refused_then_created),
		desk_claim(a_wrong_expected_hash_states_the_current_one),
		desk_claim(a_conflict_names_the_session_that_wrote),
		desk_claim(own_writes_are_never_external),
		desk_claim(reading_beyond_the_end_says_how_long_the_file_is),
		desk_claim(without_its_base_a_conflict_still_recovers),
		desk_claim(the_size_limit_holds_for_reading_and_writing),
		desk_claim(a_late_write_is_told_in_the_next_answer),
		desk_claim(a_notice_survives_a_call_that_fails),
		claim(a_workspace_closes_only_what_it_opened),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
