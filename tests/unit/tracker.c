/* FileTracker of spec 1, simple and production: its tests by their names, and the ways to fool it. */
#include <sys/time.h>

#include "lib/session.h"

static void track_read(struct desk *desk, const char *name) {
	assert_int_equal(stet_session_track_read(desk->session, dir_at(desk->dir, name), NULL), 0);
}

static void track(struct desk *desk, const char *name, const char *content) {
	assert_int_equal(
		stet_session_track(desk->session, dir_at(desk->dir, name), content, strlen(content), NULL),
		0);
}

static bool modified(struct desk *desk, const char *name) {
	int code = stet_session_modified(desk->session, dir_at(desk->dir, name), &desk->err);
	assert_in_range(code, 0, 1);
	return code == 1;
}

static void check(struct desk *desk, const char *name, const char *status) {
	assert_int_equal(desk_check(desk, dir_at(desk->dir, name)), 0);
	assert_string_equal(stet_answer_status(desk->answer), status);
}

/* ---- simple ---- */

static void no_conflict_when_file_is_unchanged_after_tracking(void **state) {
	struct desk *desk = *state;
	dir_write(desk->dir, "test.txt", "hello");
	track_read(desk, "test.txt");
	assert_false(modified(desk, "test.txt"));
}

static void conflict_detected_when_file_modified_externally(void **state) {
	struct desk *desk = *state;
	dir_write(desk->dir, "test.txt", "hello");
	track_read(desk, "test.txt");
	sleep_ms(10);
	dir_write(desk->dir, "test.txt", "world");
	assert_true(modified(desk, "test.txt"));
}

static void no_conflict_for_files_that_were_never_tracked(void **state) {
	struct desk *desk = *state;
	dir_write(desk->dir, "untracked.txt", "hello");
	assert_false(modified(desk, "untracked.txt"));
	assert_false(modified(desk, "not-even-there.txt"));
}

static void no_conflict_after_re_tracking_a_modified_file(void **state) {
	struct desk *desk = *state;
	dir_write(desk->dir, "test.txt", "hello");
	track_read(desk, "test.txt");
	sleep_ms(10);
	dir_write(desk->dir, "test.txt", "world");
	assert_true(modified(desk, "test.txt"));
	track_read(desk, "test.txt");
	assert_false(modified(desk, "test.txt"));
}

/* ---- production ---- */

static void no_false_positive_when_file_touched_but_content_unchanged(void **state) {
	struct desk *desk = *state;
	dir_write(desk->dir, "test.txt", "hello");
	track(desk, "test.txt", "hello");
	sleep_ms(10);
	dir_write(desk->dir, "test.txt", "hello");
	check(desk, "test.txt", "clean");
	assert_false(stet_answer_has_conflict(desk->answer));
	assert_null(stet_answer_reason(desk->answer));
}

static void conflict_detected_when_tracked_file_is_deleted(void **state) {
	struct desk *desk = *state;
	dir_write(desk->dir, "test.txt", "hello");
	track(desk, "test.txt", "hello");
	assert_int_equal(unlinkat(desk->dir->fd, "test.txt", 0), 0);
	check(desk, "test.txt", "deleted");
	assert_true(stet_answer_has_conflict(desk->answer));
	assert_string_equal(stet_answer_reason(desk->answer), "deleted");
	assert_string_equal(stet_answer_message(desk->answer), "File was deleted since last read.");
	assert_null(stet_answer_hash(desk->answer));
}

static void invalidate_removes_tracking_for_path(void **state) {
	struct desk *desk = *state;
	dir_write(desk->dir, "test.txt", "hello");
	track(desk, "test.txt", "hello");
	stet_session_invalidate(desk->session, dir_at(desk->dir, "test.txt"));
	dir_write(desk->dir, "test.txt", "world");
	check(desk, "test.txt", "untracked");
	assert_false(stet_answer_has_conflict(desk->answer));
}

static void a_modified_file_is_reported_with_content_hash_and_diff(void **state) {
	struct desk *desk = *state;
	dir_write(desk->dir, "test.txt", "one\ntwo\n");
	track_read(desk, "test.txt");
	dir_write(desk->dir, "test.txt", "one\nTWO\n");
	check(desk, "test.txt", "modified");
	assert_string_equal(stet_answer_reason(desk->answer), "modified");
	assert_string_equal(stet_answer_message(desk->answer),
	                    "File was modified externally since last read.");
	size_t len;
	assert_string_equal(stet_answer_content(desk->answer, &len), "one\nTWO\n");
	assert_int_equal(len, 8);
	assert_non_null(strstr(stet_answer_diff(desk->answer, NULL), "-two\n+TWO\n"));
	assert_int_equal(strlen(stet_answer_hash(desk->answer)), 16);
	check(desk, "test.txt", "modified");
}

/* ---- what stat alone would miss ---- */

/* Wait until a stamp taken now is no longer racy, so that only the stamp itself is under test. */
static void let_the_clock_move(void) {
	sleep_ms(40);
}

static void put_mtime_back(struct desk *desk, const char *name, const struct stat *before) {
	struct timespec times[2] = {before->st_atim, before->st_mtim};
	assert_int_equal(utimensat(desk->dir->fd, name, times, 0), 0);
}

static void same_size_with_mtime_put_back_is_seen(void **state) {
	struct desk *desk = *state;
	struct stat before;
	dir_write(desk->dir, "a", "hello");
	let_the_clock_move();
	track_read(desk, "a");
	assert_int_equal(stat(dir_at(desk->dir, "a"), &before), 0);
	dir_write(desk->dir, "a", "HELLO");
	put_mtime_back(desk, "a", &before);
	assert_true(modified(desk, "a"));
}

static void rename_over_with_equal_mtime_is_seen(void **state) {
	struct desk *desk = *state;
	struct stat before;
	dir_write(desk->dir, "b", "HELLO");
	dir_write(desk->dir, "a", "hello");
	assert_int_equal(stat(dir_at(desk->dir, "a"), &before), 0);
	put_mtime_back(desk, "b", &before);
	let_the_clock_move();
	track_read(desk, "a");
	assert_int_equal(renameat(desk->dir->fd, "b", desk->dir->fd, "a"), 0);
	assert_true(modified(desk, "a"));
}

static void a_reused_inode_is_seen(void **state) {
	struct desk *desk = *state;
	for (int i = 0; i < 50; i++) {
		dir_write(desk->dir, "a", "hello");
		track_read(desk, "a");
		assert_int_equal(unlinkat(desk->dir->fd, "a", 0), 0);
		dir_write(desk->dir, "a", "HELLO");
		assert_true(modified(desk, "a"));
		assert_int_equal(unlinkat(desk->dir->fd, "a", 0), 0);
	}
}

static void a_write_in_the_same_tick_is_seen(void **state) {
	struct desk *desk = *state;
	for (int i = 0; i < 200; i++) {
		dir_write(desk->dir, "a", "hello");
		track_read(desk, "a");
		dir_write(desk->dir, "a", "HELLO");
		assert_true(modified(desk, "a"));
	}
}

static void touch_is_no_change(void **state) {
	struct desk *desk = *state;
	dir_write(desk->dir, "a", "hello");
	let_the_clock_move();
	track_read(desk, "a");
	assert_int_equal(utimensat(desk->dir->fd, "a", NULL, 0), 0);
	assert_false(modified(desk, "a"));
	assert_int_equal(chmod(dir_at(desk->dir, "a"), 0600), 0);
	assert_false(modified(desk, "a"));
}

static void replaced_by_equal_bytes_is_no_change(void **state) {
	struct desk *desk = *state;
	dir_write(desk->dir, "a", "hello");
	track_read(desk, "a");
	dir_write(desk->dir, "b", "hello");
	assert_int_equal(renameat(desk->dir->fd, "b", desk->dir->fd, "a"), 0);
	assert_false(modified(desk, "a"));
}

static void replaced_by_a_directory_is_deleted(void **state) {
	struct desk *desk = *state;
	dir_write(desk->dir, "a", "hello");
	track_read(desk, "a");
	assert_int_equal(unlinkat(desk->dir->fd, "a", 0), 0);
	assert_int_equal(mkdirat(desk->dir->fd, "a", 0755), 0);
	check(desk, "a", "deleted");
}

static void replaced_by_a_link_is_judged_by_what_it_leads_to(void **state) {
	struct desk *desk = *state;
	dir_write(desk->dir, "same", "hello");
	dir_write(desk->dir, "other", "HELLO");
	static const char *const targets[] = {"same", "other", "nowhere", "/etc/hostname"};
	static const char *const statuses[] = {"clean", "modified", "deleted", "deleted"};
	for (size_t i = 0; i < 4; i++) {
		dir_write(desk->dir, "a", "hello");
		let_the_clock_move();
		track_read(desk, "a");
		assert_int_equal(unlinkat(desk->dir->fd, "a", 0), 0);
		assert_int_equal(symlinkat(targets[i], desk->dir->fd, "a"), 0);
		check(desk, "a", statuses[i]);
		assert_int_equal(unlinkat(desk->dir->fd, "a", 0), 0);
	}
}

static void changed_between_read_and_track_is_a_conflict(void **state) {
	struct desk *desk = *state;
	dir_write(desk->dir, "a", "hello");
	dir_write(desk->dir, "a", "HELLO");
	let_the_clock_move();
	track(desk, "a", "hello");
	check(desk, "a", "modified");
	assert_string_equal(stet_answer_content(desk->answer, NULL), "HELLO");
}

static void a_parent_directory_removed_is_deleted(void **state) {
	struct desk *desk = *state;
	dir_write(desk->dir, "sub/a", "hello");
	track_read(desk, "sub/a");
	assert_int_equal(unlinkat(desk->dir->fd, "sub/a", 0), 0);
	assert_int_equal(unlinkat(desk->dir->fd, "sub", AT_REMOVEDIR), 0);
	check(desk, "sub/a", "deleted");
}

/* ---- spellings, sessions, bounds ---- */

static void all_spellings_of_a_path_are_one_file(void **state) {
	struct desk *desk = *state;
	dir_write(desk->dir, "sub/a", "hello");
	assert_int_equal(symlinkat("sub", desk->dir->fd, "link"), 0);
	assert_int_equal(stet_session_track_read(desk->session, "link/../sub/./a", &desk->err), 0);
	dir_write(desk->dir, "sub/a", "HELLO");
	static const char *const spellings[] = {"sub/a", "./sub//a", "link/a", "sub/../sub/a"};
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(stet_session_modified(desk->session, spellings[i], NULL), 1);
		assert_true(modified(desk, spellings[i]));
	}
}

static void sessions_do_not_share_what_they_saw(void **state) {
	struct desk *desk = *state;
	struct stet_session *other = desk_session(desk, "other");
	dir_write(desk->dir, "a", "hello");
	track_read(desk, "a");
	dir_write(desk->dir, "a", "HELLO");
	assert_int_equal(stet_session_modified(other, "a", NULL), 0);
	assert_int_equal(stet_session_modified(desk->session, "a", NULL), 1);
	stet_session_close(other);
}

static void tracking_is_bounded_and_forgets_the_oldest(void **state) {
	struct desk *desk = *state;
	dir_write(desk->dir, "first", "x");
	track_read(desk, "first");
	for (int i = 0; i < 10000; i++) {
		char name[32];
		snprintf(name, sizeof name, "f%d", i);
		dir_write(desk->dir, name, "x");
		assert_int_equal(stet_session_track_read(desk->session, name, NULL), 0);
	}
	check(desk, "first", "untracked");
	check(desk, "f9999", "clean");
}

static void the_process_has_a_default_session(void **state) {
	struct desk *desk = *state;
	dir_write(desk->dir, "a", "hello");
	assert_int_equal(chdir(desk->dir->path), 0);
	struct stet_session *session = stet_session_default(&desk->err);
	assert_non_null(session);
	assert_ptr_equal(session, stet_session_default(NULL));
	assert_int_equal(stet_session_track_read(session, "a", NULL), 0);
	dir_write(desk->dir, "a", "HELLO");
	assert_int_equal(stet_session_modified(session, "a", NULL), 1);
	assert_int_equal(chdir("/"), 0);
}

static void a_file_that_cannot_be_read_is_not_tracked(void **state) {
	struct desk *desk = *state;
	assert_int_equal(stet_session_track_read(desk->session, "nothing", &desk->err),
	                 STET_E_NOT_FOUND);
	assert_non_null(strstr(desk->err.message, "nothing"));
	assert_int_equal(stet_session_track_read(desk->session, "/etc/passwd", &desk->err),
	                 STET_E_OUTSIDE);
	assert_int_equal(stet_session_track_read(desk->session, ".", &desk->err), STET_E_KIND);
	assert_int_equal(stet_session_modified(desk->session, "/etc/passwd", &desk->err),
	                 STET_E_OUTSIDE);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		desk_claim(no_conflict_when_file_is_unchanged_after_tracking),
		desk_claim(conflict_detected_when_file_modified_externally),
		desk_claim(no_conflict_for_files_that_were_never_tracked),
		desk_claim(no_conflict_after_re_tracking_a_modified_file),
		desk_claim(no_false_positive_when_file_touched_but_content_unchanged),
		desk_claim(conflict_detected_when_tracked_file_is_deleted),
		desk_claim(invalidate_removes_tracking_for_path),
		desk_claim(a_modified_file_is_reported_with_content_hash_and_diff),
		desk_claim(same_size_with_mtime_put_back_is_seen),
		desk_claim(rename_over_with_equal_mtime_is_seen),
		desk_claim(a_reused_inode_is_seen),
		desk_claim(a_write_in_the_same_tick_is_seen),
		desk_claim(touch_is_no_change),
		desk_claim(replaced_by_equal_bytes_is_no_change),
		desk_claim(replaced_by_a_directory_is_deleted),
		desk_claim(replaced_by_a_link_is_judged_by_what_it_leads_to),
		desk_claim(changed_between_read_and_track_is_a_conflict),
		desk_claim(a_parent_directory_removed_is_deleted),
		desk_claim(all_spellings_of_a_path_are_one_file),
		desk_claim(sessions_do_not_share_what_they_saw),
		desk_claim(tracking_is_bounded_and_forgets_the_oldest),
		desk_claim(the_process_has_a_default_session),
		desk_claim(a_file_that_cannot_be_read_is_not_tracked),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
