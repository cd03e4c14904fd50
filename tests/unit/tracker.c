/* FileTracker, simple and production: the tests of its specification by their names, and the ways to fool it. */
#include <sys/time.h>

#include "lib/session.h"

static void track_read(struct host *host, const char *name) {
	assert_int_equal(stet_session_track_read(host->session, dir_at(host->dir, name), NULL), 0);
}

static void track(struct host *host, const char *name, const char *content) {
	assert_int_equal(
		stet_session_track(host->session, dir_at(host->dir, name), content, strlen(content), NULL),
		0);
}

static bool modified(struct host *host, const char *name) {
	int code = stet_session_modified(host->session, dir_at(host->dir, name), &host->err);
	assert_in_range(code, 0, 1);
	return code == 1;
}

static void check(struct host *host, const char *name, const char *status) {
	assert_int_equal(host_check(host, dir_at(host->dir, name)), 0);
	assert_string_equal(stet_answer_status(host->answer), status);
}

/* ---- simple ---- */

static void no_conflict_when_file_is_unchanged_after_tracking(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "test.txt", "hello");
	track_read(host, "test.txt");
	assert_false(modified(host, "test.txt"));
}

static void conflict_detected_when_file_modified_externally(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "test.txt", "hello");
	track_read(host, "test.txt");
	sleep_ms(10);
	dir_write(host->dir, "test.txt", "world");
	assert_true(modified(host, "test.txt"));
}

static void no_conflict_for_files_that_were_never_tracked(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "untracked.txt", "hello");
	assert_false(modified(host, "untracked.txt"));
	assert_false(modified(host, "not-even-there.txt"));
}

static void no_conflict_after_re_tracking_a_modified_file(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "test.txt", "hello");
	track_read(host, "test.txt");
	sleep_ms(10);
	dir_write(host->dir, "test.txt", "world");
	assert_true(modified(host, "test.txt"));
	track_read(host, "test.txt");
	assert_false(modified(host, "test.txt"));
}

/* ---- production ---- */

static void no_false_positive_when_file_touched_but_content_unchanged(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "test.txt", "hello");
	track(host, "test.txt", "hello");
	sleep_ms(10);
	dir_write(host->dir, "test.txt", "hello");
	check(host, "test.txt", "clean");
	assert_false(stet_answer_has_conflict(host->answer));
	assert_null(stet_answer_reason(host->answer));
}

static void conflict_detected_when_tracked_file_is_deleted(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "test.txt", "hello");
	track(host, "test.txt", "hello");
	assert_int_equal(unlinkat(host->dir->fd, "test.txt", 0), 0);
	check(host, "test.txt", "deleted");
	assert_true(stet_answer_has_conflict(host->answer));
	assert_string_equal(stet_answer_reason(host->answer), "deleted");
	assert_string_equal(stet_answer_message(host->answer), "File was deleted since last read.");
	assert_null(stet_answer_hash(host->answer));
}

static void invalidate_removes_tracking_for_path(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "test.txt", "hello");
	track(host, "test.txt", "hello");
	stet_session_invalidate(host->session, dir_at(host->dir, "test.txt"));
	dir_write(host->dir, "test.txt", "world");
	check(host, "test.txt", "untracked");
	assert_false(stet_answer_has_conflict(host->answer));
}

static void a_modified_file_is_reported_with_content_hash_and_diff(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "test.txt", "one\ntwo\n");
	track_read(host, "test.txt");
	dir_write(host->dir, "test.txt", "one\nTWO\n");
	check(host, "test.txt", "modified");
	assert_string_equal(stet_answer_reason(host->answer), "modified");
	assert_string_equal(stet_answer_message(host->answer),
	                    "File was modified externally since last read.");
	size_t len;
	assert_string_equal(stet_answer_content(host->answer, &len), "one\nTWO\n");
	assert_int_equal(len, 8);
	assert_non_null(strstr(stet_answer_diff(host->answer, NULL), "-two\n+TWO\n"));
	assert_int_equal(strlen(stet_answer_hash(host->answer)), 16);
	check(host, "test.txt", "modified");
}

/* ---- what stat alone would miss ---- */

/* Wait until a stamp taken now is no longer racy, so that only the stamp itself is under test. */
static void let_the_clock_move(void) {
	sleep_ms(40);
}

static void put_mtime_back(struct host *host, const char *name, const struct stat *before) {
	struct timespec times[2] = {before->st_atim, before->st_mtim};
	assert_int_equal(utimensat(host->dir->fd, name, times, 0), 0);
}

static void same_size_with_mtime_put_back_is_seen(void **state) {
	struct host *host = *state;
	struct stat before;
	dir_write(host->dir, "a", "hello");
	let_the_clock_move();
	track_read(host, "a");
	assert_int_equal(stat(dir_at(host->dir, "a"), &before), 0);
	dir_write(host->dir, "a", "HELLO");
	put_mtime_back(host, "a", &before);
	assert_true(modified(host, "a"));
}

static void rename_over_with_equal_mtime_is_seen(void **state) {
	struct host *host = *state;
	struct stat before;
	dir_write(host->dir, "b", "HELLO");
	dir_write(host->dir, "a", "hello");
	assert_int_equal(stat(dir_at(host->dir, "a"), &before), 0);
	put_mtime_back(host, "b", &before);
	let_the_clock_move();
	track_read(host, "a");
	assert_int_equal(renameat(host->dir->fd, "b", host->dir->fd, "a"), 0);
	assert_true(modified(host, "a"));
}

static void a_reused_inode_is_seen(void **state) {
	struct host *host = *state;
	for (int i = 0; i < 50; i++) {
		dir_write(host->dir, "a", "hello");
		track_read(host, "a");
		assert_int_equal(unlinkat(host->dir->fd, "a", 0), 0);
		dir_write(host->dir, "a", "HELLO");
		assert_true(modified(host, "a"));
		assert_int_equal(unlinkat(host->dir->fd, "a", 0), 0);
	}
}

static void a_write_in_the_same_tick_is_seen(void **state) {
	struct host *host = *state;
	for (int i = 0; i < 200; i++) {
		dir_write(host->dir, "a", "hello");
		track_read(host, "a");
		dir_write(host->dir, "a", "HELLO");
		assert_true(modified(host, "a"));
	}
}

static void touch_is_no_change(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a", "hello");
	let_the_clock_move();
	track_read(host, "a");
	assert_int_equal(utimensat(host->dir->fd, "a", NULL, 0), 0);
	assert_false(modified(host, "a"));
	assert_int_equal(chmod(dir_at(host->dir, "a"), 0600), 0);
	assert_false(modified(host, "a"));
}

static void replaced_by_equal_bytes_is_no_change(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a", "hello");
	track_read(host, "a");
	dir_write(host->dir, "b", "hello");
	assert_int_equal(renameat(host->dir->fd, "b", host->dir->fd, "a"), 0);
	assert_false(modified(host, "a"));
}

static void replaced_by_a_directory_is_deleted(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a", "hello");
	track_read(host, "a");
	assert_int_equal(unlinkat(host->dir->fd, "a", 0), 0);
	assert_int_equal(mkdirat(host->dir->fd, "a", 0755), 0);
	check(host, "a", "deleted");
}

static void replaced_by_a_link_is_judged_by_what_it_leads_to(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "same", "hello");
	dir_write(host->dir, "other", "HELLO");
	static const char *const targets[] = {"same", "other", "nowhere", "/etc/hostname"};
	static const char *const statuses[] = {"clean", "modified", "deleted", "deleted"};
	for (size_t i = 0; i < 4; i++) {
		dir_write(host->dir, "a", "hello");
		let_the_clock_move();
		track_read(host, "a");
		assert_int_equal(unlinkat(host->dir->fd, "a", 0), 0);
		assert_int_equal(symlinkat(targets[i], host->dir->fd, "a"), 0);
		check(host, "a", statuses[i]);
		assert_int_equal(unlinkat(host->dir->fd, "a", 0), 0);
	}
}

static void changed_between_read_and_track_is_a_conflict(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a", "hello");
	dir_write(host->dir, "a", "HELLO");
	let_the_clock_move();
	track(host, "a", "hello");
	check(host, "a", "modified");
	assert_string_equal(stet_answer_content(host->answer, NULL), "HELLO");
}

static void a_parent_directory_removed_is_deleted(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "sub/a", "hello");
	track_read(host, "sub/a");
	assert_int_equal(unlinkat(host->dir->fd, "sub/a", 0), 0);
	assert_int_equal(unlinkat(host->dir->fd, "sub", AT_REMOVEDIR), 0);
	check(host, "sub/a", "deleted");
}

/* ---- spellings, sessions, bounds ---- */

static void all_spellings_of_a_path_are_one_file(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "sub/a", "hello");
	assert_int_equal(symlinkat("sub", host->dir->fd, "link"), 0);
	assert_int_equal(stet_session_track_read(host->session, "link/../sub/./a", &host->err), 0);
	dir_write(host->dir, "sub/a", "HELLO");
	static const char *const spellings[] = {"sub/a", "./sub//a", "link/a", "sub/../sub/a"};
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(stet_session_modified(host->session, spellings[i], NULL), 1);
		assert_true(modified(host, spellings[i]));
	}
}

static void sessions_do_not_share_what_they_saw(void **state) {
	struct host *host = *state;
	struct stet_session *other = host_session(host, "other");
	dir_write(host->dir, "a", "hello");
	track_read(host, "a");
	dir_write(host->dir, "a", "HELLO");
	assert_int_equal(stet_session_modified(other, "a", NULL), 0);
	assert_int_equal(stet_session_modified(host->session, "a", NULL), 1);
	stet_session_close(other);
}

static void tracking_is_bounded_and_forgets_the_oldest(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "first", "x");
	track_read(host, "first");
	for (int i = 0; i < 10000; i++) {
		char name[32];
		snprintf(name, sizeof name, "f%d", i);
		dir_write(host->dir, name, "x");
		assert_int_equal(stet_session_track_read(host->session, name, NULL), 0);
	}
	check(host, "first", "untracked");
	check(host, "f9999", "clean");
}

static void the_process_has_a_default_session(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a", "hello");
	assert_int_equal(chdir(host->dir->path), 0);
	struct stet_session *session = stet_session_default(&host->err);
	assert_non_null(session);
	assert_ptr_equal(session, stet_session_default(NULL));
	assert_int_equal(stet_session_track_read(session, "a", NULL), 0);
	dir_write(host->dir, "a", "HELLO");
	assert_int_equal(stet_session_modified(session, "a", NULL), 1);
	assert_int_equal(chdir("/"), 0);
}

static void a_file_that_cannot_be_read_is_not_tracked(void **state) {
	struct host *host = *state;
	assert_int_equal(stet_session_track_read(host->session, "nothing", &host->err),
	                 STET_E_NOT_FOUND);
	assert_non_null(strstr(host->err.message, "nothing"));
	assert_int_equal(stet_session_track_read(host->session, "/etc/passwd", &host->err),
	                 STET_E_OUTSIDE);
	assert_int_equal(stet_session_track_read(host->session, ".", &host->err), STET_E_KIND);
	assert_int_equal(stet_session_modified(host->session, "/etc/passwd", &host->err),
	                 STET_E_OUTSIDE);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		host_claim(no_conflict_when_file_is_unchanged_after_tracking),
		host_claim(conflict_detected_when_file_modified_externally),
		host_claim(no_conflict_for_files_that_were_never_tracked),
		host_claim(no_conflict_after_re_tracking_a_modified_file),
		host_claim(no_false_positive_when_file_touched_but_content_unchanged),
		host_claim(conflict_detected_when_tracked_file_is_deleted),
		host_claim(invalidate_removes_tracking_for_path),
		host_claim(a_modified_file_is_reported_with_content_hash_and_diff),
		host_claim(same_size_with_mtime_put_back_is_seen),
		host_claim(rename_over_with_equal_mtime_is_seen),
		host_claim(a_reused_inode_is_seen),
		host_claim(a_write_in_the_same_tick_is_seen),
		host_claim(touch_is_no_change),
		host_claim(replaced_by_equal_bytes_is_no_change),
		host_claim(replaced_by_a_directory_is_deleted),
		host_claim(replaced_by_a_link_is_judged_by_what_it_leads_to),
		host_claim(changed_between_read_and_track_is_a_conflict),
		host_claim(a_parent_directory_removed_is_deleted),
		host_claim(all_spellings_of_a_path_are_one_file),
		host_claim(sessions_do_not_share_what_they_saw),
		host_claim(tracking_is_bounded_and_forgets_the_oldest),
		host_claim(the_process_has_a_default_session),
		host_claim(a_file_that_cannot_be_read_is_not_tracked),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
