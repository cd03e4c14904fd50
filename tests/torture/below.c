/*
 * Races with a process that writes below the mount: on a filesystem in user
 * space the kernel knows nothing of it, so that no lease stops it and what
 * the kernel remembers of a file may be of another version. What can be lost
 * there, the answer to that very change has to say; and nothing may be lost
 * but what is renamed to the file's name just when the new version is.
 * torture/fight.h says how it is accounted for.
 */
#include "lib/child.h"
#include "torture/fight.h"
#include "stet/tools.h"
#include "torture/mounted.h"

enum { SIZE = 8192 };

static bool may_mount;

static void race(struct fight *fight, unsigned record) {
	fight_ready(fight, record);
	int64_t began = now_ns(), attempt;
	hostile_strike(&fight->hostile, random_below(fight->typical_ns * 5 / 4));
	bool acked = fight_until_acked(fight, record, &attempt);
	int64_t ended = now_ns();
	assert_true(hostile_wait(&fight->hostile, 60000));
	fight->typical_ns = (fight->typical_ns * 7 + ended - began) / 8;
	fight_judge(fight, record, acked,
	            hostile_began_ns(&fight->hostile) < ended &&
	                hostile_ended_ns(&fight->hostile) > attempt);
}

static bool run(struct fight *fight, const struct dir *dir) {
	fight_begin(fight, dir);
	for (unsigned record = 1; record <= fight->races; record++)
		race(fight, record);
	fight_end(fight);
	/* Only a file that another process renames to this name may be lost: stet cannot tell it apart. */
	bool may_lose = fight->kind->strike == hostile_kinds[HOSTILE_RENAME].strike ||
	                fight->kind->strike == hostile_kinds[HOSTILE_ANEW].strike;
	return fight_is_honest(fight) && (may_lose || fight->score.lost == 0);
}

static void race_below(const struct dir *dir, const struct mounted_kind *kind,
                       const struct writer *writer) {
	struct mounted mounted;
	bool honest = true;
	if (!may_mount)
		skip_because("filesystems cannot be mounted here");
	mounted_begin(&mounted, kind, dir);
	fight_print_head();
	for (size_t i = 0; i < HOSTILE_KINDS; i++) {
		struct fight fight = {.writer = writer,
		                      .kind = &hostile_kinds[i],
		                      .size = SIZE,
		                      .races = in_full() ? 1000 : 20,
		                      .seen_at = mounted.path};
		honest = run(&fight, dir) && honest;
	}
	mounted_end(&mounted);
	assert_true(honest);
}

static void an_edit_through_bindfs_loses_nothing_unsaid(void **state) {
	race_below(*state, &mounted_kinds[MOUNTED_BINDFS], &writer_edits);
}

static void a_whole_file_write_through_bindfs_loses_nothing_unsaid(void **state) {
	race_below(*state, &mounted_kinds[MOUNTED_BINDFS], &writer_writes);
}

static void an_edit_through_bindfs_that_caches_loses_nothing_unsaid(void **state) {
	race_below(*state, &mounted_kinds[MOUNTED_BINDFS_CACHED], &writer_edits);
}

static void an_edit_through_sshfs_loses_nothing_unsaid(void **state) {
	race_below(*state, &mounted_kinds[MOUNTED_SSHFS], &writer_edits);
}

static void a_whole_file_write_through_sshfs_loses_nothing_unsaid(void **state) {
	race_below(*state, &mounted_kinds[MOUNTED_SSHFS], &writer_writes);
}

static void an_edit_through_sshfs_that_caches_loses_nothing_unsaid(void **state) {
	race_below(*state, &mounted_kinds[MOUNTED_SSHFS_CACHED], &writer_edits);
}

/* ---- what is said ---- */

/* The notice of an edit's answer that speaks of writers below; NULL if there is none. */
static const char *edit_and_hear(struct stet_session *session, const char *from, const char *to,
                                 struct stet_answer **answer) {
	assert_int_equal(
		stet_session_edit(session, "a.txt", from, strlen(from), to, strlen(to), NULL, answer, NULL),
		0);
	for (size_t i = 0; stet_answer_notice(*answer, i); i++) {
		if (strstr(stet_answer_notice(*answer, i), "below the mount"))
			return stet_answer_notice(*answer, i);
	}
	return NULL;
}

static void expect_notice(struct stet_session *session, const char *from, const char *to,
                          bool at_length) {
	struct stet_answer *answer = NULL;
	const char *notice = edit_and_hear(session, from, to, &answer);
	assert_non_null(notice);
	assert_non_null(strstr(notice, "\"a.txt\" is on fuse"));
	assert_true(at_length == (strstr(notice, "every check here reads the bytes again") != NULL));
	stet_answer_free(answer);
}

static void every_answer_says_it_and_the_first_says_why(void **state) {
	const struct dir *dir = *state;
	struct mounted mounted;
	struct stet_workspace *ws;
	struct stet_session *one, *two;
	if (!may_mount)
		skip_because("filesystems cannot be mounted here");
	dir_write(dir, "a.txt", "1");
	mounted_begin(&mounted, &mounted_kinds[MOUNTED_BINDFS], dir);
	assert_int_equal(stet_workspace_open(mounted.path, &ws, NULL), 0);
	assert_string_equal(stet_workspace_shared(ws), "fuse");
	assert_int_equal(stet_session_open(ws, NULL, &one, NULL), 0);
	assert_int_equal(stet_session_open(ws, NULL, &two, NULL), 0);
	expect_notice(one, "1", "2", true);
	expect_notice(one, "2", "3", false);
	expect_notice(two, "3", "4", true);
	assert_string_equal(dir_read(dir, "a.txt"), "4");
	stet_session_close(one);
	stet_session_close(two);
	stet_workspace_close(ws);
	mounted_end(&mounted);
}

static void a_named_session_is_told_why_once(void **state) {
	const struct dir *dir = *state;
	struct mounted mounted;
	if (!may_mount)
		skip_because("filesystems cannot be mounted here");
	dir_write(dir, "a.txt", "0");
	mounted_begin(&mounted, &mounted_kinds[MOUNTED_BINDFS], dir);
	for (int i = 0; i < 3; i++) {
		const char from[] = {(char)('0' + i), '\0'}, to[] = {(char)('1' + i), '\0'};
		struct stet_workspace *ws;
		struct stet_session *session;
		assert_int_equal(stet_workspace_open(mounted.path, &ws, NULL), 0);
		assert_int_equal(stet_session_open(ws, "agent", &session, NULL), 0);
		expect_notice(session, from, to, i == 0);
		stet_session_close(session);
		stet_workspace_close(ws);
	}
	mounted_end(&mounted);
}

/* The stamp is the same, and the kernel has the old bytes in memory. */
static void a_change_that_no_time_tells_of_is_found(void **state) {
	const struct dir *dir = *state;
	struct mounted mounted;
	struct stet_workspace *ws;
	struct stet_session *session;
	struct stet_answer *answer = NULL;
	struct stat st;
	if (!may_mount)
		skip_because("filesystems cannot be mounted here");
	dir_write(dir, "a.txt", "old");
	const struct timespec past[] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
	assert_int_equal(utimensat(dir->fd, "a.txt", past, 0), 0);
	mounted_begin(&mounted, &mounted_kinds[MOUNTED_SSHFS_CACHED], dir);
	assert_int_equal(stet_workspace_open(mounted.path, &ws, NULL), 0);
	assert_int_equal(stet_session_open(ws, NULL, &session, NULL), 0);
	assert_int_equal(stet_session_track_read(session, "a.txt", NULL), 0);
	assert_int_equal(stet_session_modified(session, "a.txt", NULL), 0);

	dir_write(dir, "a.txt", "new");
	assert_int_equal(utimensat(dir->fd, "a.txt", past, 0), 0);
	assert_int_equal(stat(dir_at(dir, "a.txt"), &st), 0);
	assert_int_equal(st.st_size, 3);
	assert_int_equal(stet_session_modified(session, "a.txt", NULL), 1);
	assert_int_equal(stet_session_read(session, "a.txt", 0, 0, &answer, NULL), 0);
	assert_string_equal(stet_answer_content(answer, NULL), "new");
	stet_answer_free(answer);
	stet_session_close(session);
	stet_workspace_close(ws);
	mounted_end(&mounted);
}

static void what_is_moved_or_deleted_is_told_of_too(void **state) {
	const struct dir *dir = *state;
	struct mounted mounted;
	struct stet_workspace *ws;
	struct stet_session *session;
	char *text = NULL;
	static const char args[] = "{\"path\":\"a.txt\"}";
	if (!may_mount)
		skip_because("filesystems cannot be mounted here");
	dir_write(dir, "a.txt", "old");
	mounted_begin(&mounted, &mounted_kinds[MOUNTED_SSHFS_CACHED], dir);
	assert_int_equal(stet_workspace_open(mounted.path, &ws, NULL), 0);
	assert_int_equal(stet_session_open(ws, NULL, &session, NULL), 0);
	assert_int_equal(stet_session_track_read(session, "a.txt", NULL), 0);
	dir_write(dir, "a.txt", "new");
	assert_int_equal(stet_call(session, "delete_file", args, strlen(args), &text, NULL, NULL),
	                 STET_E_CONFLICT);
	stet_free(text);
	assert_string_equal(dir_read(dir, "a.txt"), "new");

	static const char there[] = "{\"source\":\"a.txt\",\"destination\":\"b.txt\"}";
	static const char back[] = "{\"source\":\"b.txt\",\"destination\":\"a.txt\"}";
	assert_int_equal(stet_call(session, "move_file", there, strlen(there), &text, NULL, NULL), 0);
	assert_non_null(strstr(text, "below the mount"));
	stet_free(text);
	assert_int_equal(stet_call(session, "move_file", back, strlen(back), &text, NULL, NULL), 0);
	stet_free(text);

	assert_int_equal(stet_session_track_read(session, "a.txt", NULL), 0);
	assert_int_equal(stet_call(session, "delete_file", args, strlen(args), &text, NULL, NULL), 0);
	assert_non_null(strstr(text, "below the mount"));
	assert_false(dir_has(dir, "a.txt"));
	stet_free(text);
	stet_session_close(session);
	stet_workspace_close(ws);
	mounted_end(&mounted);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		claim(an_edit_through_bindfs_loses_nothing_unsaid),
		claim(a_whole_file_write_through_bindfs_loses_nothing_unsaid),
		claim(an_edit_through_bindfs_that_caches_loses_nothing_unsaid),
		claim(an_edit_through_sshfs_loses_nothing_unsaid),
		claim(a_whole_file_write_through_sshfs_loses_nothing_unsaid),
		claim(an_edit_through_sshfs_that_caches_loses_nothing_unsaid),
		claim(every_answer_says_it_and_the_first_says_why),
		claim(a_named_session_is_told_why_once),
		claim(a_change_that_no_time_tells_of_is_found),
		claim(what_is_moved_or_deleted_is_told_of_too),
	};
	may_mount = child_may_mount();
	hostile_is_patient = true;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
