/* Calls store their effects before they answer, whatever fails meanwhile. */
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/json.h"
#include "core/state/state.h"
#include "lib/child.h"
#include "lib/run.h"
#include "lib/test.h"
#include "stet/state.h"

/* ---- the harness ---- */

/* A process, as far as the state is concerned. Its session has no name: what it saw is not stored. */
struct agent {
	struct stet_workspace *ws;
	struct stet_session *session;
};

static void agent_release(struct agent *agent) {
	stet_session_close(agent->session);
	stet_workspace_close(agent->ws);
}

static struct agent hire(const struct dir *dir) {
	struct agent agent = {0};
	assert_int_equal(stet_workspace_open(dir->path, &agent.ws, NULL), 0);
	assert_int_equal(stet_workspace_set(agent.ws, STET_OPTION_STATE, ST_STATE_ALL, NULL), 0);
	assert_int_equal(stet_workspace_set(agent.ws, STET_OPTION_DURABLE, 0, NULL), 0);
	assert_int_equal(stet_session_open(agent.ws, NULL, &agent.session, NULL), 0);
	st_state_of(agent.ws)->store.wait_ms = 1500;
	return agent;
}

static void edit(struct agent *agent, const char *path, const char *old, const char *new) {
	struct stet_error err = {0};
	if (stet_session_edit(agent->session, path, old, strlen(old), new, strlen(new), NULL, NULL,
	                      &err) < 0)
		fail_msg("%s", err.message);
}

static void read_whole(struct agent *agent, const char *path) {
	struct stet_answer *answer = NULL;
	assert_int_equal(stet_session_read(agent->session, path, 0, 0, &answer, NULL), 0);
	stet_answer_free(answer);
}

static void expect_no_notice(struct agent *agent) {
	char *notice = stet_workspace_notice(agent->ws);
	if (notice)
		fail_msg("%s", notice);
}

static void expect_notice(struct agent *agent, const char *part) {
	char *notice = stet_workspace_notice(agent->ws);
	if (!notice || !strstr(notice, part))
		fail_msg("no notice of \"%s\": %s", part, notice ? notice : "none");
	stet_free(notice);
}

/* How many writes are in the log, of one path or of all. */
static size_t listed(struct agent *agent, const char *path) {
	char *log = NULL;
	assert_int_equal(stet_log(agent->ws, path, ST_LOG_MAX, &log, NULL), 0);
	yyjson_doc *doc = yyjson_read(log, strlen(log), 0);
	size_t count = yyjson_arr_size(yyjson_doc_get_root(doc));
	yyjson_doc_free(doc);
	stet_free(log);
	return count;
}

/* How many writes somebody finds in the log who comes now. */
static size_t logged(const struct dir *dir) {
	st_auto(agent) reader = hire(dir);
	return listed(&reader, NULL);
}

/* ---- what is known ---- */

static void what_was_answered_is_known_to_everybody(void **state) {
	const struct dir *dir = *state;
	dir_write(dir, "a.c", "one\n");
	st_auto(agent) agent = hire(dir);
	edit(&agent, "a.c", "one", "two");
	edit(&agent, "a.c", "two", "three");
	edit(&agent, "a.c", "three", "four");
	assert_int_equal(logged(dir), 3);
	/* Another process takes back what this one wrote. */
	edit(&agent, "a.c", "four", "five");
	st_auto(agent) other = hire(dir);
	assert_int_equal(stet_undo(other.session, "a.c", NULL, NULL), 0);
	assert_string_equal(dir_read(dir, "a.c"), "four\n");
	assert_int_equal(logged(dir), 5);
	expect_no_notice(&agent);
}

static void the_writes_of_several_processes_are_in_order(void **state) {
	const struct dir *dir = *state;
	char *log = NULL;
	dir_write(dir, "a.c", "0\n");
	st_auto(agent) first = hire(dir);
	st_auto(agent) second = hire(dir);
	for (int i = 0; i < 12; i++) {
		char old[16], new[16];
		struct agent *agent = i % 5 < 3 ? &first : &second;
		snprintf(old, sizeof old, "%d\n", i);
		snprintf(new, sizeof new, "%d\n", i + 1);
		read_whole(agent, "a.c");
		edit(agent, "a.c", old, new);
	}
	/* The newest comes first, and each begins with what the one below it left. */
	assert_int_equal(stet_log(first.ws, "a.c", 100, &log, NULL), 0);
	yyjson_doc *doc = yyjson_read(log, strlen(log), 0);
	yyjson_val *root = yyjson_doc_get_root(doc);
	assert_int_equal(yyjson_arr_size(root), 12);
	for (size_t i = 0; i + 1 < 12; i++)
		assert_string_equal(yyjson_get_str(yyjson_obj_get(yyjson_arr_get(root, i), "before")),
		                    yyjson_get_str(yyjson_obj_get(yyjson_arr_get(root, i + 1), "after")));
	yyjson_doc_free(doc);
	stet_free(log);
}

static void a_killed_process_leaves_its_writes_in_the_log(void **state) {
	const struct dir *dir = *state;
	dir_write(dir, "a.c", "one\n");
	pid_t child = fork();
	if (child == 0) {
		struct agent agent = hire(dir);
		edit(&agent, "a.c", "one", "two");
		edit(&agent, "a.c", "two", "three");
		_exit(0);
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(logged(dir), 2);
	assert_int_equal(logged(dir), 2);
	st_auto(agent) agent = hire(dir);
	assert_int_equal(stet_undo(agent.session, "a.c", NULL, NULL), 0);
	assert_string_equal(dir_read(dir, "a.c"), "two\n");
}

/* What is stored moves the end of the database's log. */
static off_t stored_bytes(const struct dir *dir) {
	struct stat st;
	return fstatat(dir->fd, ".stet/stet.db-wal", &st, 0) == 0 ? st.st_size : -1;
}

static void to_read_the_same_again_stores_nothing(void **state) {
	const struct dir *dir = *state;
	dir_write(dir, "a.c", "one\n");
	dir_write(dir, "b.c", "one\n");
	sleep_ms(50);
	st_auto(agent) agent = hire(dir);
	edit(&agent, "a.c", "one", "two");
	read_whole(&agent, "b.c");
	st_auto(st_repo_status) view = {0};
	assert_int_equal(
		st_repo_get_status(&st_state_of(agent.ws)->repo, agent.session, 0, &view, NULL), 0);
	assert_int_equal(view.state.file_count, 2);
	off_t before = stored_bytes(dir);
	read_whole(&agent, "b.c");
	assert_int_equal(stored_bytes(dir), before);
	dir_write(dir, "b.c", "another\n");
	read_whole(&agent, "b.c");
	assert_true(stored_bytes(dir) > before);
	assert_int_equal(
		st_repo_get_status(&st_state_of(agent.ws)->repo, agent.session, 0, &view, NULL), 0);
	assert_int_equal(view.state.files[1].status, ST_FILE_MODIFIED);
	assert_false(view.state.files[1].external);
}

/* How many files are in the state as it is stored, and whether any of them is somebody else's change. */
static size_t tracked(struct agent *agent, bool *external) {
	st_auto(st_repo_status) view = {0};
	assert_int_equal(st_repo_get_status(&st_state_of(agent->ws)->repo, NULL, 0, &view, NULL), 0);
	*external = false;
	for (size_t i = 0; i < view.state.file_count; i++)
		*external |= view.state.files[i].external;
	return view.state.file_count;
}

/* The disk is full: the read is not stored, and is known only to this process. */
static void what_was_taken_back_is_not_known(void **state) {
	const struct dir *dir = *state;
	struct rlimit limit, full;
	bool external;
	dir_write(dir, "a.c", "one\n");
	dir_write(dir, "b.c", "one\n");
	sleep_ms(50);
	st_auto(agent) agent = hire(dir);
	edit(&agent, "a.c", "one", "two");
	assert_int_equal(tracked(&agent, &external), 1);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	full = limit;
	full.rlim_cur = 1;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &full), 0);
	read_whole(&agent, "b.c");
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_equal(agent.session->events.count, 1);
	read_whole(&agent, "b.c");
	assert_int_equal(agent.session->events.count, 0);
	assert_int_equal(tracked(&agent, &external), 2);
}

/* This process still knows the version from before another process deleted the file. */
static void what_others_stored_is_not_taken_for_known(void **state) {
	const struct dir *dir = *state;
	bool external;
	dir_write(dir, "a.c", "one\n");
	dir_write(dir, "d/b.c", "one\n");
	sleep_ms(50);
	st_auto(agent) one = hire(dir);
	st_auto(agent) another = hire(dir);
	edit(&one, "a.c", "one", "two");
	read_whole(&one, "d/b.c");
	assert_int_equal(tracked(&one, &external), 2);
	assert_int_equal(renameat(dir->fd, "d", dir->fd, "e"), 0);
	assert_int_equal(tracked(&another, &external), 3);
	assert_true(external);
	assert_int_equal(renameat(dir->fd, "e", dir->fd, "d"), 0);
	read_whole(&one, "d/b.c");
	st_auto(st_repo_status) view = {0};
	assert_int_equal(st_repo_get_status(&st_state_of(another.ws)->repo, NULL, 0, &view, NULL), 0);
	assert_string_equal(view.state.files[1].path, "d/b.c");
	assert_int_equal(view.state.files[1].status, ST_FILE_UNCHANGED);
	assert_false(view.state.files[1].external);
}

/* Both go on with what the parent opened. */
static void a_forked_child_stores_for_itself(void **state) {
	enum { EDITS = 200 };
	static const char *const files[] = {"a.c", "b.c"};
	const struct dir *dir = *state;
	dir_write(dir, "a.c", "0\n");
	dir_write(dir, "b.c", "0\n");
	struct agent agent = hire(dir);
	edit(&agent, "a.c", "0\n", "1\n");
	edit(&agent, "b.c", "0\n", "1\n");
	pid_t child = fork();
	for (int i = 1; i < EDITS; i++) {
		char old[16], new[16], *log = NULL;
		snprintf(old, sizeof old, "%d\n", i);
		snprintf(new, sizeof new, "%d\n", i + 1);
		edit(&agent, files[child == 0], old, new);
		if (i % 20 == 0 && stet_log(agent.ws, NULL, 1, &log, NULL) == 0)
			stet_free(log);
	}
	if (child == 0)
		_exit(0);
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	agent_release(&agent);
	assert_int_equal(logged(dir), 2 * EDITS);
}

static void a_state_that_goes_away_is_begun_anew(void **state) {
	static const char *const ways[] = {"rm -r .stet", "mv .stet gone", "rm .stet/stet.db*"};
	const struct dir *dir = *state;
	dir_write(dir, "a.c", "0\n");
	st_auto(agent) agent = hire(dir);
	edit(&agent, "a.c", "0", "1");
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		assert_int_equal(run(dir, NULL, (const char *[]){"sh", "-c", ways[i], NULL}), 0);
		edit(&agent, "a.c", "1", "2");
		edit(&agent, "a.c", "2", "1");
		assert_int_equal(logged(dir), 2);
		expect_no_notice(&agent);
	}
}

/* ---- what is in the way ---- */

/* Another process that writes to the database, until it is closed. */
static struct st_db *lock_database(const struct dir *dir) {
	struct st_db *holder = NULL;
	st_autofd state = open(dir_at(dir, ".stet"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(st_db_open(state, true, &holder, NULL), 0);
	assert_int_equal(st_db_exec(holder, "BEGIN IMMEDIATE", NULL), 0);
	return holder;
}

/* The first call waits for it and says so; the next ones hardly wait, and nothing of them is lost. */
static void a_locked_database_holds_up_one_edit(void **state) {
	enum { EDITS = 20 };
	const struct dir *dir = *state;
	dir_write(dir, "a.c", "0\n");
	st_auto(agent) agent = hire(dir);
	edit(&agent, "a.c", "0\n", "1\n");
	struct st_db *holder = lock_database(dir);
	for (int i = 1; i <= EDITS; i++) {
		char old[16], new[16];
		int64_t before = st_now_ms();
		snprintf(old, sizeof old, "%d\n", i);
		snprintf(new, sizeof new, "%d\n", i + 1);
		edit(&agent, "a.c", old, new);
		assert_true(st_now_ms() - before < (i == 1 ? 5000 : 1000));
	}
	expect_notice(&agent, "could not be stored");
	expect_no_notice(&agent);
	st_db_close(holder);
	assert_int_equal(logged(dir), 1);
	read_whole(&agent, "a.c");
	assert_int_equal(logged(dir), EDITS + 1);
}

/* What is stored can be read all the same. What is taken back has to be the last write. */
static void what_is_stored_can_be_read_while_it_is_locked(void **state) {
	const struct dir *dir = *state;
	dir_write(dir, "a.c", "0\n");
	st_auto(agent) agent = hire(dir);
	st_auto(agent) reader = hire(dir);
	edit(&agent, "a.c", "0", "1");
	assert_int_equal(listed(&reader, NULL), 1);
	struct st_db *holder = lock_database(dir);
	edit(&agent, "a.c", "1", "2");
	expect_notice(&agent, "could not be stored");
	assert_int_equal(listed(&reader, NULL), 1);
	expect_no_notice(&reader);
	assert_int_equal(stet_undo(agent.session, "a.c", NULL, NULL), STET_E_BUSY);
	assert_string_equal(dir_read(dir, "a.c"), "2\n");
	st_db_close(holder);
	read_whole(&agent, "a.c");
	assert_int_equal(listed(&reader, NULL), 2);
	assert_int_equal(stet_undo(agent.session, "a.c", NULL, NULL), 0);
	assert_string_equal(dir_read(dir, "a.c"), "1\n");
}

/* The process ends before the next call: then it waits once more. */
static void what_could_not_be_stored_is_stored_at_the_end(void **state) {
	const struct dir *dir = *state;
	dir_write(dir, "a.c", "0\n");
	{
		st_auto(agent) agent = hire(dir);
		edit(&agent, "a.c", "0", "1");
		struct st_db *holder = lock_database(dir);
		edit(&agent, "a.c", "1", "2");
		st_db_close(holder);
	}
	assert_int_equal(logged(dir), 2);
}

/* A session whose calls cannot be stored can still ask for the state. */
static void the_state_can_be_looked_at_on_a_full_disk(void **state) {
	const struct dir *dir = *state;
	struct rlimit limit, full;
	char *json = NULL;
	struct stet_answer *answer = NULL;
	dir_write(dir, "a.c", "0\n");
	dir_write(dir, "b.c", "0\n");
	st_auto(agent) agent = hire(dir);
	edit(&agent, "a.c", "0", "1");
	assert_int_equal(listed(&agent, NULL), 1);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	full = limit;
	full.rlim_cur = 1;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &full), 0);
	int read = stet_session_read(agent.session, "b.c", 0, 0, &answer, NULL);
	int code = stet_state_json(agent.session, &json, NULL, NULL);
	int undone = stet_undo(agent.session, "a.c", NULL, NULL);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	stet_answer_free(answer);
	assert_int_equal(read, 0);
	assert_int_equal(code, 0);
	stet_free(json);
	assert_true(undone < 0);
	expect_notice(&agent, "could not be stored");
}

/* The longest that somebody had to wait to open a file to write, within so many milliseconds. */
static int64_t longest_wait(const struct dir *dir, const char *path, int64_t ms, int begun) {
	int64_t begin = st_now_ms(), last = begin, longest = 0;
	for (int64_t now = begin; now < begin + ms; now = st_now_ms()) {
		int fd = openat(dir->fd, path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
		if (fd >= 0)
			last = now;
		if (now == begin && write(begun, "", 1) != 1)
			return INT64_MAX;
		longest = now - last > longest ? now - last : longest;
		st_close_at(&fd);
		sleep_ms(5);
	}
	return longest;
}

/* A refusal looks up the last writer in the database; other writers need not wait for that. */
static void a_refusal_does_not_hold_the_file(void **state) {
	const struct dir *dir = *state;
	int status;
	dir_write(dir, "a.c", "0\n");
	st_auto(agent) agent = hire(dir);
	edit(&agent, "a.c", "0", "1");
	edit(&agent, "a.c", "1", "2");
	dir_write(dir, "a.c", "theirs\n");
	struct st_db *holder = lock_database(dir);
	int begun[2];
	char byte;
	assert_int_equal(pipe(begun), 0);
	pid_t child = fork();
	if (child == 0)
		_exit(longest_wait(dir, "a.c", 1500, begun[1]) > 400);
	assert_int_equal(read(begun[0], &byte, 1), 1);
	close(begun[0]);
	close(begun[1]);
	assert_int_equal(stet_session_edit(agent.session, "a.c", "2", 1, "3", 1, NULL, NULL, NULL),
	                 STET_E_CONFLICT);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	st_db_close(holder);
}

/* Fill a file with what is no database, as it is there. */
static void spoil(const struct dir *dir, const char *path) {
	struct stat st;
	st_autofd fd = openat(dir->fd, path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	assert_int_equal(fstat(fd, &st), 0);
	for (off_t at = 0; at < st.st_size; at += 16)
		assert_int_equal(pwrite(fd, "This is no page.", 16, at), 16);
}

static void an_edit_replaces_a_damaged_database(void **state) {
	const struct dir *dir = *state;
	dir_write(dir, "a.c", "0\n");
	st_auto(agent) agent = hire(dir);
	edit(&agent, "a.c", "0", "1");
	assert_int_equal(stet_state_flush(agent.ws, NULL), 0);
	spoil(dir, ".stet/stet.db");
	spoil(dir, ".stet/stet.db-wal");
	spoil(dir, ".stet/stet.db-shm");
	edit(&agent, "a.c", "1", "2");
	assert_true(dir_has(dir, ".stet/stet.db.damaged-1"));
	assert_int_equal(logged(dir), 1);
}

/* A file in shared memory would have holes there, and to touch one on a full disk ends the process. */
static void work_on_small_blocks(const struct dir *dir) {
	struct stet_workspace *ws = NULL;
	dir_write(dir, "image", "");
	hold(truncate(dir_at(dir, "image"), 8 << 20) == 0 && mkdir(dir_at(dir, "mount"), 0755) == 0,
	     "prepare");
	if (run(dir, NULL, (const char *[]){"/sbin/mkfs.ext4", "-q", "-b", "1024", "image", NULL}) !=
	        0 ||
	    run(dir, NULL, (const char *[]){"mount", "-o", "loop", "image", "mount", NULL}) != 0)
		child_skip("an ext4 image cannot be mounted here");
	hold(stet_workspace_open(dir_at(dir, "mount"), &ws, NULL) == 0, "open");
	hold(stet_story_begin(ws, "a story", NULL) == 0, "store");
	hold(dir_has(dir, "mount/.stet/stet.db"), "there is a database");
	hold(!dir_has(dir, "mount/.stet/stet.db-shm"), "without shared memory");
	stet_workspace_close(ws);
	run(dir, NULL, (const char *[]){"umount", "mount", NULL});
}

static void where_blocks_are_small_no_memory_is_shared(void **state) {
	child_with_mounts(*state, work_on_small_blocks);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		claim(what_was_answered_is_known_to_everybody),
		claim(the_writes_of_several_processes_are_in_order),
		claim(a_killed_process_leaves_its_writes_in_the_log),
		claim(to_read_the_same_again_stores_nothing),
		claim(what_was_taken_back_is_not_known),
		claim(what_others_stored_is_not_taken_for_known),
		claim(a_forked_child_stores_for_itself),
		claim(a_state_that_goes_away_is_begun_anew),
		claim(a_locked_database_holds_up_one_edit),
		claim(what_is_stored_can_be_read_while_it_is_locked),
		claim(what_could_not_be_stored_is_stored_at_the_end),
		claim(the_state_can_be_looked_at_on_a_full_disk),
		claim(a_refusal_does_not_hold_the_file),
		claim(an_edit_replaces_a_damaged_database),
		claim(where_blocks_are_small_no_memory_is_shared),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
