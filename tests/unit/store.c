/* What outlives a process: named sessions in the state directory, and what becomes of bad ones. */
#include <pthread.h>
#include <semaphore.h>
#include <sys/file.h>
#include <sys/wait.h>

#include "base/cancel.h"
#include "core/state/state.h"
#include "lib/alloc.h"
#include "lib/child.h"
#include "lib/run.h"
#include "lib/session.h"
#include "stet/state.h"

/* A workspace and a session as another process has them. */
struct other {
	struct stet_workspace *ws;
	struct stet_session *session;
	struct stet_answer *answer;
	struct stet_error err;
};

static void other_open(struct other *other, const struct dir *dir, const char *name) {
	*other = (struct other){0};
	assert_int_equal(stet_workspace_open(dir->path, &other->ws, &other->err), 0);
	if (stet_session_open(other->ws, name, &other->session, &other->err) < 0)
		fail_msg("%s", other->err.message);
}

static void other_close(struct other *other) {
	stet_answer_free(other->answer);
	stet_session_close(other->session);
	stet_workspace_close(other->ws);
	*other = (struct other){0};
}

static int other_edit(struct other *other, const char *path, const char *old_text,
                      const char *new_text) {
	stet_answer_free(other->answer);
	other->answer = NULL;
	return stet_session_edit(other->session, path, old_text, strlen(old_text), new_text,
	                         strlen(new_text), NULL, &other->answer, &other->err);
}

static int other_write(struct other *other, const char *path, const char *text) {
	stet_answer_free(other->answer);
	other->answer = NULL;
	return stet_session_write(other->session, path, text, strlen(text), NULL, &other->answer,
	                          &other->err);
}

static void other_read(struct other *other, const char *path, size_t first, size_t count) {
	stet_answer_free(other->answer);
	assert_int_equal(
		stet_session_read(other->session, path, first, count, &other->answer, &other->err), 0);
}

/* One call by a process of its own. */
static void read_once(const struct dir *dir, const char *name, const char *path) {
	struct other other;
	other_open(&other, dir, name);
	other_read(&other, path, 0, 0);
	other_close(&other);
}

/* The notices that wait, in a static buffer. */
static const char *notices(struct stet_workspace *ws) {
	static char all[8192];
	size_t len = 0;
	all[0] = '\0';
	for (char *notice; (notice = stet_workspace_notice(ws)); stet_free(notice))
		len += (size_t)snprintf(all + len, sizeof all - len, "%s\n", notice);
	return all;
}

static void says(struct stet_workspace *ws, const char *part) {
	const char *all = notices(ws);
	if (!strstr(all, part))
		fail_msg("no notice says \"%s\": %s", part, all);
}

/* ---- named sessions ---- */

static void what_a_process_read_another_may_write(void **state) {
	const struct dir *dir = *state;
	struct other other;
	dir_write(dir, "a.c", "one\ntwo\n");
	read_once(dir, "agent", "a.c");
	other_open(&other, dir, "agent");
	assert_int_equal(other_write(&other, "a.c", "three\n"), 0);
	other_close(&other);
	assert_string_equal(dir_read(dir, "a.c"), "three\n");
}

static void a_change_between_two_processes_is_shown_as_a_diff(void **state) {
	const struct dir *dir = *state;
	struct other other;
	dir_write(dir, "a.c", "one\ntwo\n");
	read_once(dir, "agent", "a.c");
	dir_write(dir, "a.c", "one\n2\n");
	other_open(&other, dir, "agent");
	assert_int_equal(other_edit(&other, "a.c", "one", "1"), STET_E_CONFLICT);
	assert_non_null(strstr(stet_answer_diff(other.answer, NULL), "-two\n+2\n"));
	other_close(&other);

	/* The lines of the answer count as seen, in the next process, too. */
	other_open(&other, dir, "agent");
	assert_int_equal(other_edit(&other, "a.c", "one", "1"), 0);
	other_close(&other);
	assert_string_equal(dir_read(dir, "a.c"), "1\n2\n");
}

static void lines_seen_add_up_over_processes(void **state) {
	const struct dir *dir = *state;
	struct other other;
	dir_write(dir, "a.c", "1\n2\n3\n4\n");
	other_open(&other, dir, "agent");
	other_read(&other, "a.c", 1, 2);
	other_close(&other);
	other_open(&other, dir, "agent");
	assert_int_equal(other_write(&other, "a.c", "x\n"), STET_E_CONFLICT);
	assert_non_null(strstr(stet_answer_message(other.answer), "Not sent to you so far: lines 3-4"));
	other_read(&other, "a.c", 3, 2);
	other_close(&other);
	other_open(&other, dir, "agent");
	assert_int_equal(other_write(&other, "a.c", "x\n"), 0);
	other_close(&other);
}

static void a_file_that_was_made_shorter_stays_seen(void **state) {
	const struct dir *dir = *state;
	struct other other;
	dir_write(dir, "a.c", "1\n2\n3\n4\n");
	other_open(&other, dir, "agent");
	other_read(&other, "a.c", 0, 0);
	assert_int_equal(other_write(&other, "a.c", "1\n2\n"), 0);
	other_close(&other);
	other_open(&other, dir, "agent");
	assert_int_equal(other_write(&other, "a.c", "x\n"), 0);
	other_close(&other);
}

static void another_name_has_seen_nothing(void **state) {
	const struct dir *dir = *state;
	struct other other;
	dir_write(dir, "a.c", "one\n");
	read_once(dir, "agent", "a.c");
	other_open(&other, dir, "reviewer");
	assert_int_equal(other_write(&other, "a.c", "x\n"), STET_E_CONFLICT);
	assert_string_equal(stet_answer_reason(other.answer), "unseen");
	other_close(&other);
}

static void a_session_without_a_name_leaves_no_trace(void **state) {
	const struct dir *dir = *state;
	dir_write(dir, "a.c", "one\n");
	read_once(dir, NULL, "a.c");
	assert_false(dir_has(dir, ".stet"));
	struct other other;
	other_open(&other, dir, "agent");
	other_close(&other);
	assert_false(dir_has(dir, ".stet"));
}

static void nothing_is_kept_where_that_is_switched_off(void **state) {
	const struct dir *dir = *state;
	struct stet_workspace *ws = NULL;
	struct stet_session *session = NULL;
	dir_write(dir, "a.c", "one\n");
	assert_int_equal(stet_workspace_open(dir->path, &ws, NULL), 0);
	assert_int_equal(stet_workspace_set(ws, STET_OPTION_STATE, 0, NULL), 0);
	assert_int_equal(stet_workspace_set(ws, STET_OPTION_STATE, 3, NULL), STET_E_INVALID);
	assert_int_equal(stet_session_open(ws, "agent", &session, NULL), 0);
	assert_int_equal(stet_session_track_read(session, "a.c", NULL), 0);
	stet_session_close(session);
	stet_workspace_close(ws);
	assert_false(dir_has(dir, ".stet"));
}

static void two_processes_in_one_session_know_of_each_other(void **state) {
	const struct dir *dir = *state;
	struct other a, b;
	dir_write(dir, "a.c", "one\n");
	other_open(&a, dir, "agent");
	other_open(&b, dir, "agent");
	other_read(&a, "a.c", 0, 0);
	other_read(&b, "a.c", 0, 0);
	assert_int_equal(other_write(&a, "a.c", "two\n"), 0);
	/* Their own session wrote it, so it is no conflict. */
	assert_int_equal(other_write(&b, "a.c", "three\n"), 0);
	assert_int_equal(other_edit(&a, "a.c", "three", "four"), 0);
	other_close(&a);
	other_close(&b);
	assert_string_equal(dir_read(dir, "a.c"), "four\n");
}

static void a_forgotten_file_stays_forgotten(void **state) {
	const struct dir *dir = *state;
	struct other other;
	dir_write(dir, "a.c", "one\n");
	read_once(dir, "agent", "a.c");
	other_open(&other, dir, "agent");
	stet_session_invalidate(other.session, "a.c");
	other_close(&other);
	other_open(&other, dir, "agent");
	assert_int_equal(stet_session_check(other.session, "a.c", &other.answer, NULL), 0);
	assert_string_equal(stet_answer_status(other.answer), "untracked");
	other_close(&other);
}

static void instructions_come_once_to_a_session_of_several_processes(void **state) {
	const struct dir *dir = *state;
	struct other other;
	char *text = NULL;
	dir_write(dir, "AGENTS.md", "Be brief.\n");
	other_open(&other, dir, "agent");
	assert_int_equal(stet_instructions_if_new(other.session, "a.c", &text, NULL), 0);
	assert_string_equal(text, "Be brief.\n");
	stet_free(text);
	other_close(&other);

	other_open(&other, dir, "agent");
	assert_int_equal(stet_instructions_if_new(other.session, "a.c", &text, NULL), 0);
	assert_null(text);
	stet_instructions_clear(other.session);
	other_close(&other);

	other_open(&other, dir, "agent");
	assert_int_equal(stet_instructions_if_new(other.session, "a.c", &text, NULL), 0);
	assert_string_equal(text, "Be brief.\n");
	stet_free(text);
	other_close(&other);
}

static void a_name_with_control_characters_is_refused(void **state) {
	const struct dir *dir = *state;
	struct stet_workspace *ws = NULL;
	struct stet_session *session = NULL;
	char longest[202] = {0};
	memset(longest, 'x', 201);
	assert_int_equal(stet_workspace_open(dir->path, &ws, NULL), 0);
	assert_int_equal(stet_session_open(ws, "a\nb", &session, NULL), STET_E_INVALID);
	assert_int_equal(stet_session_open(ws, "", &session, NULL), STET_E_INVALID);
	assert_int_equal(stet_session_open(ws, longest, &session, NULL), STET_E_INVALID);
	longest[200] = '\0';
	assert_int_equal(stet_session_open(ws, longest, &session, NULL), 0);
	stet_session_close(session);
	stet_workspace_close(ws);
}

static void state_can_be_kept_elsewhere(void **state) {
	const struct dir *dir = *state;
	struct stet_workspace *ws = NULL;
	struct stet_session *session = NULL;
	dir_write(dir, "a.c", "one\n");
	assert_int_equal(stet_workspace_open(dir->path, &ws, NULL), 0);
	assert_int_equal(stet_workspace_state_dir(ws, "a/b", NULL), STET_E_INVALID);
	assert_int_equal(stet_workspace_state_dir(ws, "..", NULL), STET_E_INVALID);
	assert_int_equal(stet_workspace_state_dir(ws, ".maestro", NULL), 0);
	assert_int_equal(stet_session_open(ws, "agent", &session, NULL), 0);
	assert_int_equal(stet_session_track_read(session, "a.c", NULL), 0);
	assert_int_equal(stet_session_write(session, ".maestro/x", "x", 1, NULL, NULL, NULL),
	                 STET_E_PROTECTED);
	stet_session_close(session);
	stet_workspace_close(ws);
	assert_true(dir_has(dir, ".maestro/stet.db"));
	assert_false(dir_has(dir, ".stet"));
}

/* ---- the first schema, which had the bytes of files in it ---- */

static int make_first(struct st_store *store, void *data, struct stet_error *err) {
	(void)data;
	return st_db_exec(store->db,
	                  "CREATE TABLE bases (hash BLOB PRIMARY KEY);"
	                  "CREATE TABLE base_bytes (hash BLOB PRIMARY KEY, bytes BLOB NOT NULL);"
	                  "INSERT INTO meta (name, value) VALUES ('bases', 3);"
	                  "DROP TABLE baseline; ALTER TABLE files DROP COLUMN known;"
	                  "ALTER TABLE files DROP COLUMN who; ALTER TABLE tasks DROP COLUMN source;"
	                  "ALTER TABLE tasks DROP COLUMN place; ALTER TABLE tasks DROP COLUMN expires;"
	                  "ALTER TABLE tasks DROP COLUMN fence; DROP TABLE shared_tasks;"
	                  "ALTER TABLE writes DROP COLUMN executable; PRAGMA user_version = 1",
	                  err);
}

static int make_sixth(struct st_store *store, void *data, struct stet_error *err) {
	(void)data;
	return st_db_exec(store->db,
	                  "ALTER TABLE writes DROP COLUMN executable; PRAGMA user_version = 6", err);
}

static int count_old(struct st_store *store, void *data, struct stet_error *err) {
	static const char sql[] =
		"SELECT count(*) FROM sqlite_schema WHERE name IN ('bases', 'base_bytes')";
	return st_db_number(store->db, sql, data, err, "");
}

static void check_upgrade(const struct dir *dir,
                          int (*make)(struct st_store *store, void *data, struct stet_error *err)) {
	struct other other;
	int64_t tables = -1;
	dir_write(dir, "a.c", "one\n");
	read_once(dir, "agent", "a.c");
	other_open(&other, dir, "agent");
	assert_int_equal(st_store_do(&st_state_of(other.ws)->store, ST_STORE_WRITE, make, NULL, NULL),
	                 0);
	other_close(&other);
	other_open(&other, dir, "agent");
	assert_int_equal(
		st_store_do(&st_state_of(other.ws)->store, ST_STORE_READ, count_old, &tables, NULL), 0);
	assert_int_equal(tables, 0);
	/* And what else was in it still is. */
	assert_int_equal(other_write(&other, "a.c", "two\n"), 0);
	assert_string_equal(notices(other.ws), "");
	other_close(&other);
}

static void the_first_schema_is_brought_up_to_date(void **state) {
	check_upgrade(*state, make_first);
}

static void the_sixth_schema_is_brought_up_to_date(void **state) {
	check_upgrade(*state, make_sixth);
}

/* ---- a bad database ---- */

static void set_aside_and_made_anew(const struct dir *dir, const char *what) {
	struct other other;
	other_open(&other, dir, "agent");
	/* Where the damage is not at the beginning, it shows when it is met. */
	assert_int_equal(stet_session_track_read(other.session, "a.c", NULL), 0);
	if (!dir_has(dir, ".stet/stet.db.damaged-1"))
		fail_msg("%s was not set aside", what);
	says(other.ws, "set aside as .stet/stet.db.damaged-1");
	other_close(&other);
	other_open(&other, dir, "agent");
	assert_int_equal(other_write(&other, "a.c", "two\n"), 0);
	assert_string_equal(notices(other.ws), "");
	other_close(&other);
}

static void a_file_that_is_no_database_is_set_aside(void **state) {
	const struct dir *dir = *state;
	dir_write(dir, "a.c", "one\n");
	read_once(dir, "agent", "a.c");
	dir_write(dir, ".stet/stet.db", "This is not a database, though it is long enough to be one.");
	set_aside_and_made_anew(dir, "a text");
	assert_string_equal(dir_read(dir, ".stet/stet.db.damaged-1"),
	                    "This is not a database, though it is long enough to be one.");
}

static void a_database_with_a_hole_is_set_aside(void **state) {
	const struct dir *dir = *state;
	dir_write(dir, "a.c", "one\n");
	read_once(dir, "agent", "a.c");
	int fd = open(dir_at(dir, ".stet/stet.db"), O_RDWR);
	struct stat st;
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	char page[4096];
	memset(page, 0xA5, sizeof page);
	for (off_t at = sizeof page; at < st.st_size; at += (off_t)sizeof page)
		assert_int_equal(pwrite(fd, page, sizeof page, at), sizeof page);
	close(fd);
	set_aside_and_made_anew(dir, "a database with overwritten pages");
}

static void a_truncated_database_is_set_aside(void **state) {
	const struct dir *dir = *state;
	dir_write(dir, "a.c", "one\n");
	read_once(dir, "agent", "a.c");
	assert_int_equal(truncate(dir_at(dir, ".stet/stet.db"), 8192), 0);
	set_aside_and_made_anew(dir, "a truncated database");
}

static void somebody_elses_database_is_set_aside(void **state) {
	const struct dir *dir = *state;
	dir_write(dir, "a.c", "one\n");
	assert_int_equal(mkdirat(dir->fd, ".stet", 0700), 0);
	assert_int_equal(
		run(dir, NULL,
	        (const char *[]){"sqlite3", ".stet/stet.db", "CREATE TABLE other (x)", NULL}),
		0);
	set_aside_and_made_anew(dir, "a database of another program");
}

static void a_newer_schema_is_left_alone(void **state) {
	const struct dir *dir = *state;
	struct other other;
	dir_write(dir, "a.c", "one\n");
	read_once(dir, "agent", "a.c");
	assert_int_equal(
		run(dir, NULL,
	        (const char *[]){"sqlite3", ".stet/stet.db", "PRAGMA user_version = 99", NULL}),
		0);
	other_open(&other, dir, "agent");
	says(other.ws, "has schema version 99");
	/* In memory everything works. */
	other_read(&other, "a.c", 0, 0);
	assert_int_equal(other_write(&other, "a.c", "two\n"), 0);
	other_close(&other);
	st_auto(st_buf) version = ST_BUF_INIT;
	assert_int_equal(run(dir, &version,
	                     (const char *[]){"sqlite3", ".stet/stet.db",
	                                      "PRAGMA user_version; SELECT count(*) "
	                                      "FROM seen",
	                                      NULL}),
	                 0);
	assert_string_equal(st_buf_cstr(&version), "99\n1\n");
}

static void triggers_in_a_database_do_not_run(void **state) {
	const struct dir *dir = *state;
	dir_write(dir, "a.c", "one\n");
	read_once(dir, "agent", "a.c");
	assert_int_equal(run(dir, NULL,
	                     (const char *[]){"sqlite3", ".stet/stet.db",
	                                      "CREATE TRIGGER evil AFTER INSERT ON seen BEGIN "
	                                      "DELETE FROM sessions; END",
	                                      NULL}),
	                 0);
	dir_write(dir, "b.c", "one\n");
	read_once(dir, "agent", "b.c");
	struct other other;
	other_open(&other, dir, "agent");
	assert_int_equal(other_write(&other, "b.c", "two\n"), 0);
	other_close(&other);
}

static void a_database_that_is_removed_at_work_is_made_anew(void **state) {
	const struct dir *dir = *state;
	struct other other;
	dir_write(dir, "a.c", "one\n");
	dir_write(dir, "b.c", "one\n");
	other_open(&other, dir, "agent");
	other_read(&other, "a.c", 0, 0);
	assert_int_equal(run(dir, NULL, (const char *[]){"rm", "-r", ".stet", NULL}), 0);
	other_read(&other, "b.c", 0, 0);
	other_close(&other);
	/* Both are there: what was known in memory went along. */
	other_open(&other, dir, "agent");
	assert_int_equal(other_write(&other, "a.c", "two\n"), 0);
	assert_int_equal(other_write(&other, "b.c", "two\n"), 0);
	other_close(&other);
}

static void a_locked_database_is_said_and_the_file_is_written(void **state) {
	const struct dir *dir = *state;
	struct other other;
	dir_write(dir, "a.c", "one\n");
	read_once(dir, "agent", "a.c");
	other_open(&other, dir, "agent");
	st_state_of(other.ws)->store.wait_ms = 50;

	struct st_db *holder = NULL;
	assert_int_equal(
		st_db_open(open(dir_at(dir, ".stet"), O_RDONLY | O_DIRECTORY), true, &holder, NULL), 0);
	assert_int_equal(st_db_exec(holder, "BEGIN IMMEDIATE", NULL), 0);
	assert_int_equal(other_write(&other, "a.c", "two\n"), 0);
	says(other.ws, "locked by another process");
	assert_int_equal(stet_state_is_stored(other.session, NULL), STET_E_BUSY);
	assert_int_equal(st_db_exec(holder, "ROLLBACK", NULL), 0);
	st_db_close(holder);

	/* The next call stores what the last could not. */
	assert_int_equal(other_edit(&other, "a.c", "two", "three"), 0);
	assert_int_equal(stet_state_is_stored(other.session, NULL), 0);
	other_close(&other);
	other_open(&other, dir, "agent");
	assert_int_equal(other_write(&other, "a.c", "four\n"), 0);
	other_close(&other);
}

/* A thread that waits until another process has finished writing. */
struct waiting_writer {
	struct st_cancel cancel;
	struct st_store *store;
	sem_t waits;
	_Atomic bool done;
	int code;
};

/* The thread asks this in each pause. */
static bool note_the_wait(struct st_cancel *cancel) {
	struct waiting_writer *writer = (struct waiting_writer *)cancel;
	sem_post(&writer->waits);
	return false;
}

static int do_nothing(struct st_store *store, void *data, struct stet_error *err) {
	(void)store, (void)data, (void)err;
	return 0;
}

static void *write_and_wait(void *data) {
	struct waiting_writer *writer = data;
	st_cancel_set(&writer->cancel);
	writer->code = st_store_do(writer->store, ST_STORE_WRITE, do_nothing, NULL, NULL);
	st_cancel_set(NULL);
	writer->done = true;
	return NULL;
}

static void a_thread_that_waits_for_another_process_holds_up_no_other_thread(void **state) {
	const struct dir *dir = *state;
	struct other other;
	dir_write(dir, "a.c", "one\n");
	other_open(&other, dir, "agent");
	other_read(&other, "a.c", 0, 0);
	struct waiting_writer writer = {.cancel.cancelled = note_the_wait,
	                                .store = &st_state_of(other.ws)->store};
	assert_int_equal(sem_init(&writer.waits, 0, 0), 0);
	struct st_db *holder = NULL;
	assert_int_equal(
		st_db_open(open(dir_at(dir, ".stet"), O_RDONLY | O_DIRECTORY), true, &holder, NULL), 0);
	assert_int_equal(st_db_exec(holder, "BEGIN IMMEDIATE", NULL), 0);

	pthread_t thread;
	assert_int_equal(pthread_create(&thread, NULL, write_and_wait, &writer), 0);
	while (sem_wait(&writer.waits) < 0)
		assert_int_equal(errno, EINTR);
	assert_int_equal(st_store_do(writer.store, ST_STORE_READ, do_nothing, NULL, NULL), 0);
	assert_true(st_store_exists(writer.store));
	assert_false(writer.done);

	assert_int_equal(st_db_exec(holder, "ROLLBACK", NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(writer.code, 0);
	st_db_close(holder);
	sem_destroy(&writer.waits);
	other_close(&other);
}

/* ---- a bad state directory ---- */

static void works_in_memory(const struct dir *dir, const char *why) {
	struct stet_workspace *ws = NULL;
	struct stet_session *session = NULL;
	hold(stet_workspace_open(dir->path, &ws, NULL) == 0, "open the workspace");
	hold(stet_session_open(ws, "agent", &session, NULL) == 0, "open the session");
	hold(stet_session_track_read(session, "a.c", NULL) == 0, "read");
	const char *all = notices(ws);
	hold(strstr(all, "kept in memory only") != NULL, "a notice says that nothing is kept");
	hold(strstr(all, why) != NULL, why);
	int modified = stet_session_modified(session, "a.c", NULL);
	hold(modified == 0, "what was read is known");
	hold(stet_state_is_stored(session, NULL) == STET_E_ACCESS,
	     "what is not kept is not called kept");
	hold(*notices(ws) == '\0', "it is said once");
	stet_session_close(session);
	stet_workspace_close(ws);
}

static void a_state_directory_that_is_a_link_is_not_used(void **state) {
	const struct dir *dir = *state;
	dir_write(dir, "a.c", "one\n");
	assert_int_equal(mkdirat(dir->fd, "elsewhere", 0700), 0);
	assert_int_equal(symlinkat("elsewhere", dir->fd, ".stet"), 0);
	works_in_memory(dir, "symbolic link");
	assert_int_equal(dir_count(dir, "elsewhere"), 0);
}

static void a_database_that_is_a_link_is_not_used(void **state) {
	const struct dir *dir = *state;
	dir_write(dir, "a.c", "one\n");
	dir_write(dir, "elsewhere", "");
	assert_int_equal(mkdirat(dir->fd, ".stet", 0700), 0);
	assert_int_equal(symlinkat("../elsewhere", dir->fd, ".stet/stet.db"), 0);
	works_in_memory(dir, "stet.db is not a regular file");
	assert_string_equal(dir_read(dir, "elsewhere"), "");
}

static void a_state_directory_that_came_with_the_clone_is_not_used(void **state) {
	const struct dir *dir = *state;
	dir_write(dir, "a.c", "one\n");
	read_once(dir, "agent", "a.c");
	assert_int_equal(run(dir, NULL, (const char *[]){"git", "init", "-q", NULL}), 0);
	assert_int_equal(run(dir, NULL, (const char *[]){"git", "add", "-f", ".stet/stet.db", NULL}),
	                 0);
	works_in_memory(dir, "tracked by git");
}

static void in_a_foreign_directory(const struct dir *dir) {
	works_in_memory(dir, "belongs to another user");
}

static void a_state_directory_of_another_user_is_not_used(void **state) {
	const struct dir *dir = *state;
	if (geteuid() != 0)
		skip_because("only root can give files away");
	dir_write(dir, "a.c", "one\n");
	assert_int_equal(mkdirat(dir->fd, ".stet", 0777), 0);
	assert_int_equal(chmod(dir->path, 0755), 0);
	child_as_nobody(dir, in_a_foreign_directory);
}

static void in_a_read_only_directory(const struct dir *dir) {
	works_in_memory(dir, "cannot be made");
}

static void a_workspace_that_may_not_be_written_works_in_memory(void **state) {
	const struct dir *dir = *state;
	dir_write(dir, "a.c", "one\n");
	assert_int_equal(chmod(dir->path, 0555), 0);
	child_as_nobody(dir, in_a_read_only_directory);
	assert_int_equal(chmod(dir->path, 0755), 0);
}

/* ---- memory ---- */

static bool work(struct stet_workspace *ws, struct stet_session *session, const char *text) {
	char *json = NULL;
	int64_t id;
	bool wrote = stet_session_track_read(session, "a.c", NULL) == 0 &&
	             stet_session_write(session, "a.c", text, strlen(text), NULL, NULL, NULL) == 0;
	bool added = stet_task_add(ws, text, strlen(text), 0, &id, NULL) == 0;
	bool shown = stet_state_json(session, &json, NULL, NULL) == 0;
	stet_free(json);
	return wrote && added && shown;
}

/* A process that reads, writes and adds a task, and goes on whatever fails. Whether nothing did. */
static bool live(const struct dir *dir, const char *text) {
	struct stet_workspace *ws = NULL;
	struct stet_session *session = NULL;
	if (stet_workspace_open(dir->path, &ws, NULL) < 0)
		return false;
	bool fine = stet_workspace_set(ws, STET_OPTION_STATE, 2, NULL) == 0 &&
	            stet_workspace_set(ws, STET_OPTION_DURABLE, 0, NULL) == 0 &&
	            stet_session_open(ws, "agent", &session, NULL) == 0 && work(ws, session, text);
	stet_session_close(session);
	stet_workspace_close(ws);
	return fine;
}

static void memory_may_run_out_anywhere(void **state) {
	const struct dir *dir = *state;
	bool failed = true;
	dir_write(dir, "a.c", "one\n");
	assert_true(live(dir, "two\n"));
	for (size_t n = 1; failed; n++) {
		char text[32];
		snprintf(text, sizeof text, "%zu\n", n);
		alloc_fail_at(n);
		bool fine = live(dir, text);
		failed = alloc_has_failed();
		/* Every acknowledged write is there. */
		if (fine)
			assert_string_equal(dir_read(dir, "a.c"), text);
		assert_true(fine || failed);
	}
	st_auto(st_buf) verdict = ST_BUF_INIT;
	assert_int_equal(
		run(dir, &verdict,
	        (const char *[]){"sqlite3", ".stet/stet.db", "PRAGMA integrity_check", NULL}),
		0);
	assert_string_equal(st_buf_cstr(&verdict), "ok\n");
	assert_false(dir_has(dir, ".stet/stet.db.damaged-1"));
}

int main(void) {
	const struct CMUnitTest tests[] = {
		claim(what_a_process_read_another_may_write),
		claim(a_change_between_two_processes_is_shown_as_a_diff),
		claim(lines_seen_add_up_over_processes),
		claim(a_file_that_was_made_shorter_stays_seen),
		claim(another_name_has_seen_nothing),
		claim(a_session_without_a_name_leaves_no_trace),
		claim(nothing_is_kept_where_that_is_switched_off),
		claim(two_processes_in_one_session_know_of_each_other),
		claim(a_forgotten_file_stays_forgotten),
		claim(instructions_come_once_to_a_session_of_several_processes),
		claim(a_name_with_control_characters_is_refused),
		claim(state_can_be_kept_elsewhere),
		claim(the_first_schema_is_brought_up_to_date),
		claim(the_sixth_schema_is_brought_up_to_date),
		claim(a_file_that_is_no_database_is_set_aside),
		claim(a_database_with_a_hole_is_set_aside),
		claim(a_truncated_database_is_set_aside),
		claim(somebody_elses_database_is_set_aside),
		claim(a_newer_schema_is_left_alone),
		claim(triggers_in_a_database_do_not_run),
		claim(a_database_that_is_removed_at_work_is_made_anew),
		claim(a_locked_database_is_said_and_the_file_is_written),
		claim(a_thread_that_waits_for_another_process_holds_up_no_other_thread),
		claim(a_state_directory_that_is_a_link_is_not_used),
		claim(a_database_that_is_a_link_is_not_used),
		claim(a_state_directory_that_came_with_the_clone_is_not_used),
		claim(a_state_directory_of_another_user_is_not_used),
		claim(a_workspace_that_may_not_be_written_works_in_memory),
		claim(memory_may_run_out_anywhere),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
