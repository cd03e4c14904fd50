/* The database file: what lies beside it, where it is, and what a kill leaves of it. */
#include <signal.h>
#include <sys/wait.h>

#include "base/cancel.h"
#include "core/state/state.h"
#include "lib/run.h"
#include "lib/session.h"
#include "stet/state.h"

static int open_state(const struct dir *dir) {
	int fd = openat(dir->fd, ".stet", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

/* A workspace with a session, a task and a write in its state. */
static void keep_something(const struct dir *dir, const char *task) {
	struct stet_workspace *ws = NULL;
	struct stet_session *session = NULL;
	struct stet_answer *answer = NULL;
	int64_t id;
	dir_write(dir, "a.c", "one\n");
	assert_int_equal(stet_workspace_open(dir->path, &ws, NULL), 0);
	assert_int_equal(stet_session_open(ws, "agent", &session, NULL), 0);
	assert_int_equal(stet_session_read(session, "a.c", 0, 0, &answer, NULL), 0);
	assert_int_equal(stet_task_add(ws, task, strlen(task), 0, &id, NULL), 0);
	stet_answer_free(answer);
	stet_session_close(session);
	stet_workspace_close(ws);
}

/* Whether the state has a task with these words; what was said meanwhile is in `notice`. */
static bool has_task(const struct dir *dir, const char *task, char notice[600]) {
	struct stet_workspace *ws = NULL;
	struct stet_session *session = NULL;
	char *tasks = NULL;
	assert_int_equal(stet_workspace_open(dir->path, &ws, NULL), 0);
	assert_int_equal(stet_session_open(ws, NULL, &session, NULL), 0);
	assert_int_equal(stet_state_json(session, &tasks, NULL, NULL), 0);
	stet_session_close(session);
	bool has = strstr(tasks, task) != NULL;
	char *said = stet_workspace_notice(ws);
	snprintf(notice, 600, "%s", said ? said : "");
	stet_free(said);
	stet_free(tasks);
	stet_workspace_close(ws);
	return has;
}

/* ---- beside it ---- */

#define MAGIC "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"

static void add_number(struct st_buf *out, uint32_t number) {
	for (int shift = 24; shift >= 0; shift -= 8)
		st_buf_addc(out, (char)(number >> shift));
}

static void write_journal(const struct dir *dir, const char *super) {
	st_auto(st_buf) journal = ST_BUF_INIT;
	uint32_t sum = 0;
	st_buf_add(&journal, st_strn(MAGIC "\0\0\0\0\0\0\0\7\0\0\0\1\0\0\2\0\0\0\x10\0", 28));
	while (journal.len < 512)
		st_buf_addc(&journal, '\0');
	add_number(&journal, 0x40000000 / 4096 + 1);
	st_buf_adds(&journal, super);
	for (const char *c = super; *c; c++)
		sum += (unsigned char)*c;
	add_number(&journal, (uint32_t)strlen(super));
	add_number(&journal, sum);
	st_buf_add(&journal, st_strn(MAGIC, 8));
	dir_write_bytes(dir, ".stet/stet.db-journal", journal.ptr, journal.len);
}

static void a_journal_that_names_a_file_is_set_aside(void **state) {
	const struct dir *dir = *state;
	char notice[600];
	keep_something(dir, "the task");
	dir_write(dir, "precious", "precious\n");
	write_journal(dir, dir_at(dir, "precious"));
	assert_true(has_task(dir, "the task", notice));
	assert_non_null(strstr(notice, "stet.db-journal.foreign-1"));
	assert_string_equal(dir_read(dir, "precious"), "precious\n");
	assert_true(dir_has(dir, ".stet/stet.db-journal.foreign-1"));
}

/* It comes to lie there while the database is open: SQLite sees no such file. */
static void a_journal_that_comes_later_removes_nothing(void **state) {
	const struct dir *dir = *state;
	struct stet_workspace *ws = NULL;
	int64_t id;
	keep_something(dir, "the task");
	dir_write(dir, "precious", "precious\n");
	assert_int_equal(stet_workspace_open(dir->path, &ws, NULL), 0);
	assert_int_equal(stet_task_add(ws, "two", 3, 0, &id, NULL), 0);
	write_journal(dir, dir_at(dir, "precious"));
	assert_int_equal(stet_task_add(ws, "three", 5, 0, &id, NULL), 0);
	stet_workspace_close(ws);
	assert_string_equal(dir_read(dir, "precious"), "precious\n");
}

static void nobody_waits_for_a_fifo(void **state) {
	const struct dir *dir = *state;
	static const char *const names[] = {".stet/stet.db-journal", ".stet/stet.db-wal",
	                                    ".stet/stet.db-shm"};
	char notice[600];
	keep_something(dir, "the task");
	alarm(60);
	for (size_t i = 0; i < 3; i++) {
		(void)unlinkat(dir->fd, names[i], 0);
		assert_int_equal(mkfifoat(dir->fd, names[i], 0600), 0);
		assert_true(has_task(dir, "the task", notice));
		assert_non_null(strstr(notice, "is not a regular file"));
	}
	assert_int_equal(unlinkat(dir->fd, ".stet/stet.db", 0), 0);
	assert_int_equal(mkfifoat(dir->fd, ".stet/stet.db", 0600), 0);
	assert_false(has_task(dir, "the task", notice));
	assert_non_null(strstr(notice, "stet.db is not a regular file"));
	/* And doctor, which changes nothing. */
	struct stet_workspace *ws = NULL;
	char *text = NULL;
	assert_int_equal(stet_workspace_open(dir->path, &ws, NULL), 0);
	assert_int_equal(stet_state_check(ws, &text, NULL), 0);
	assert_non_null(strstr(text, "problem"));
	stet_free(text);
	stet_workspace_close(ws);
	alarm(0);
}

/* A copy of the tree by links: each goes its own way, and nothing is lost. */
static void files_with_another_link_are_replaced(void **state) {
	const struct dir *dir = *state;
	char notice[600];
	static const char *const names[] = {"stet.db", "stet.db-wal", "stet.db-shm", "stet.db-journal"};
	keep_something(dir, "the task");
	for (size_t i = 0; i < 4; i++) {
		char name[64];
		snprintf(name, sizeof name, ".stet/%s", names[i]);
		if (i > 0) {
			dir_write(dir, "victim", "something else\n");
			(void)unlinkat(dir->fd, name, 0);
			assert_int_equal(linkat(dir->fd, "victim", dir->fd, name, 0), 0);
		} else {
			assert_int_equal(linkat(dir->fd, name, dir->fd, "copy.db", 0), 0);
		}
		struct stat before, after;
		assert_int_equal(fstatat(dir->fd, i ? "victim" : "copy.db", &before, 0), 0);
		assert_true(has_task(dir, "the task", notice));
		keep_something(dir, "another");
		assert_int_equal(fstatat(dir->fd, i ? "victim" : "copy.db", &after, 0), 0);
		assert_int_equal(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
		assert_int_equal(after.st_nlink, 1);
		if (i > 0)
			assert_string_equal(dir_read(dir, "victim"), "something else\n");
	}
}

static void another_root_of_the_same_name_is_not_written(void **state) {
	const struct dir *dir = *state;
	struct stet_workspace *ws = NULL;
	struct dir root = *dir, old = *dir;
	int64_t id;
	char notice[600];
	assert_int_equal(mkdirat(dir->fd, "root", 0755), 0);
	snprintf(root.path, sizeof root.path, "%s", dir_at(dir, "root"));
	snprintf(old.path, sizeof old.path, "%s", dir_at(dir, "old"));
	assert_int_equal(stet_workspace_open(root.path, &ws, NULL), 0);
	assert_int_equal(renameat(dir->fd, "root", dir->fd, "old"), 0);
	assert_int_equal(mkdirat(dir->fd, "root", 0755), 0);
	assert_int_equal(mkdirat(dir->fd, "root/.stet", 0700), 0);
	assert_int_equal(stet_task_add(ws, "the task", 8, 0, &id, NULL), 0);
	stet_workspace_close(ws);
	assert_int_equal(dir_count(dir, "root/.stet"), 0);
	assert_true(has_task(&old, "the task", notice));
}

/* ---- in it ---- */

static void sql(const struct dir *dir, const char *text) {
	st_auto(st_buf) output = ST_BUF_INIT;
	assert_int_equal(run(dir, &output, (const char *[]){"sqlite3", ".stet/stet.db", text, NULL}),
	                 0);
}

static void tables_of_others_are_set_aside(void **state) {
	const struct dir *dir = *state;
	static const char *const poisons[] = {
		"CREATE TRIGGER t AFTER INSERT ON tasks BEGIN DELETE FROM tasks; END",
		"CREATE VIEW v AS SELECT 1",
		"CREATE TABLE more (x)",
		"DROP TABLE said; CREATE TABLE said (session_id, notice)",
		"DROP INDEX tasks_order",
	};
	for (size_t i = 0; i < sizeof poisons / sizeof *poisons; i++) {
		char notice[600];
		keep_something(dir, "the task");
		sql(dir, poisons[i]);
		/* What repostate.json says of tasks is taken over. */
		(void)has_task(dir, "the task", notice);
		assert_non_null(strstr(notice, "damaged"));
	}
}

static void a_number_out_of_range_is_no_overflow(void **state) {
	const struct dir *dir = *state;
	struct stet_workspace *ws = NULL;
	struct stet_session *session = NULL;
	keep_something(dir, "the task");
	sql(dir, "INSERT OR REPLACE INTO meta VALUES ('epoch', 9223372036854775807)");
	assert_int_equal(stet_workspace_open(dir->path, &ws, NULL), 0);
	assert_int_equal(stet_workspace_set(ws, STET_OPTION_STATE, 2, NULL), 0);
	assert_int_equal(stet_session_open(ws, "agent", &session, NULL), 0);
	assert_int_equal(stet_session_write(session, "new.c", "x", 1, NULL, NULL, NULL), 0);
	stet_session_close(session);
	stet_workspace_close(ws);
	assert_true(dir_has(dir, ".stet/stet.db.damaged-1"));
}

/* A copy of the directory knows what was done, but not what anybody has seen. */
static void what_was_seen_counts_only_where_it_was_stored(void **state) {
	const struct dir *dir = *state;
	struct stet_workspace *ws = NULL;
	struct stet_session *session = NULL;
	char notice[600];
	keep_something(dir, "the task");
	assert_int_equal(run(dir, NULL, (const char *[]){"mv", ".stet", "state", NULL}), 0);
	assert_int_equal(run(dir, NULL, (const char *[]){"cp", "-a", "state", ".stet", NULL}), 0);
	assert_int_equal(stet_workspace_open(dir->path, &ws, NULL), 0);
	assert_int_equal(stet_session_open(ws, "agent", &session, NULL), 0);
	assert_int_equal(stet_session_write(session, "a.c", "two\n", 4, NULL, NULL, NULL),
	                 STET_E_CONFLICT);
	stet_session_close(session);
	stet_workspace_close(ws);
	assert_true(has_task(dir, "the task", notice));
	/* The directory itself, under its name again, does. */
	assert_int_equal(run(dir, NULL, (const char *[]){"rm", "-rf", ".stet", NULL}), 0);
	assert_int_equal(run(dir, NULL, (const char *[]){"mv", "state", ".stet", NULL}), 0);
	assert_int_equal(stet_workspace_open(dir->path, &ws, NULL), 0);
	assert_int_equal(stet_session_open(ws, "agent", &session, NULL), 0);
	assert_int_equal(stet_session_write(session, "a.c", "two\n", 4, NULL, NULL, NULL), 0);
	stet_session_close(session);
	stet_workspace_close(ws);
}

static int add_sessions(struct st_store *store, void *data, struct stet_error *err) {
	static const char insert[] =
		"WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)"
		" INSERT INTO seen SELECT ?, printf('%d', i) || zeroblob(4000), zeroblob(32), 1, 1, 1, 1, "
		"1,"
		" 0, 1, 0, '1-1', i FROM n";
	int64_t id, version;
	int code = st_store_session(store, data, true, &id, &version, err);
	if (code == 0)
		code = st_db_run(store->db, insert, err, "i", id);
	return code == 0 ? st_store_session_touch(store, id, &version, err) : code;
}

static void sessions_are_bounded_by_bytes(void **state) {
	const struct dir *dir = *state;
	struct stet_workspace *ws = NULL;
	struct stat st;
	assert_int_equal(stet_workspace_open(dir->path, &ws, NULL), 0);
	for (int i = 0; i < 19; i++) {
		char name[32];
		snprintf(name, sizeof name, "session-%d", i);
		assert_int_equal(
			st_store_do(&st_state_of(ws)->store, ST_STORE_WRITE, add_sessions, name, NULL), 0);
		assert_int_equal(fstatat(dir->fd, ".stet/stet.db", &st, 0), 0);
		assert_true(st.st_size <= ST_STORE_MAX);
	}
	stet_workspace_close(ws);
	assert_int_equal(fstatat(dir->fd, ".stet/stet.db", &st, 0), 0);
	assert_in_range(st.st_size, ST_STORE_FULL / 2, ST_STORE_FULL + (16 << 20));
}

/* ---- long statements ---- */

static bool goes_on(struct st_cancel *cancel) {
	(void)cancel;
	return false;
}

/* 200,000 tracked files are renamed by one statement when their directory is moved. */
static void whoever_waits_for_a_long_statement_is_asked(void **state) {
	const struct dir *dir = *state;
	struct st_cancel cancel = {.cancelled = goes_on};
	struct st_db *db = NULL;
	int64_t count;
	assert_int_equal(mkdirat(dir->fd, ".stet", 0700), 0);
	int fd = open_state(dir);
	assert_int_equal(st_db_open(fd, true, &db, NULL), 0);
	st_cancel_set(&cancel);
	assert_int_equal(st_db_number(db,
	                              "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
	                              "WHERE i < 20000) SELECT count(*) FROM n",
	                              &count, NULL, ""),
	                 0);
	st_cancel_set(NULL);
	assert_int_equal(count, 20000);
	assert_true(cancel.asked >= 5);
	st_db_close(db);
	close(fd);
}

/* ---- kill -9 ---- */

enum { BATCH = 200 };

/* Whole batches in transactions, with so little memory that pages go to the file meanwhile. */
static _Noreturn void fill(const struct dir *dir, bool wal, int done) {
	struct st_db *db = NULL;
	if (st_db_open(open_state(dir), wal, &db, NULL) < 0 ||
	    st_db_exec(db, "PRAGMA cache_size = 4; CREATE TABLE IF NOT EXISTS t (x)", NULL) < 0)
		_exit(1);
	for (;;) {
		if (st_db_exec(db,
		               "BEGIN IMMEDIATE; WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1"
		               " FROM n WHERE i < 200) INSERT INTO t SELECT randomblob(900) FROM n;"
		               "UPDATE t SET x = randomblob(900) WHERE rowid % 7 = 0; COMMIT",
		               NULL) < 0 ||
		    write(done, "x", 1) != 1)
			_exit(2);
	}
}

/* Kill a process that fills the database in the midst of it; how many batches it acknowledged. */
static int64_t fill_and_kill(const struct dir *dir, bool wal, int round) {
	int done[2], status;
	char byte;
	int64_t count = 0;
	assert_int_equal(pipe(done), 0);
	pid_t child = fork();
	if (child == 0)
		fill(dir, wal, done[1]);
	close(done[1]);
	/* After some batches, and a little later each time. */
	while (count < 3 && read(done[0], &byte, 1) == 1)
		count++;
	nanosleep(&(struct timespec){.tv_nsec = round * 317000}, NULL);
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	while (read(done[0], &byte, 1) == 1)
		count++;
	close(done[0]);
	return count;
}

static void a_killed_process_loses_nothing(const struct dir *dir, bool wal) {
	int64_t least = 0, hot = 0;
	assert_int_equal(mkdirat(dir->fd, ".stet", 0700), 0);
	for (int round = 0; round < 6; round++) {
		int64_t rows = 0;
		struct st_db *db = NULL;
		struct st_db_tidied tidied;
		struct stat st;
		least += fill_and_kill(dir, wal, round) * BATCH;
		hot += fstatat(dir->fd, wal ? ".stet/stet.db-wal" : ".stet/stet.db-journal", &st, 0) == 0 &&
		       st.st_size > 0;
		int fd = open_state(dir);
		assert_int_equal(st_db_files_tidy(fd, &tidied, NULL), 0);
		assert_null(tidied.why);
		assert_int_equal(st_db_open(fd, wal, &db, NULL), 0);
		assert_int_equal(st_db_number(db, "SELECT count(*) FROM t", &rows, NULL, ""), 0);
		assert_true(rows >= least && rows % BATCH == 0);
		least = rows;
		assert_int_equal(st_db_number(db,
		                              "SELECT integrity_check <> 'ok' FROM pragma_integrity_check",
		                              &rows, NULL, ""),
		                 0);
		assert_int_equal(rows, 0);
		st_db_close(db);
		close(fd);
	}
	/* Or nothing was shown. */
	assert_true(hot > 0);
}

static void a_killed_process_loses_nothing_with_a_wal(void **state) {
	a_killed_process_loses_nothing(*state, true);
}

static void a_killed_process_loses_nothing_with_a_journal(void **state) {
	a_killed_process_loses_nothing(*state, false);
}

/* ---- the log ---- */

/* A process that writes a little and leaves the log. Returns the log's size after it. */
static int64_t write_briefly(const struct dir *dir, int writes) {
	struct st_db *db = NULL;
	struct stat st = {0};
	int fd = open_state(dir);
	assert_int_equal(st_db_open(fd, true, &db, NULL), 0);
	st_db_leave_log(db);
	assert_int_equal(st_db_exec(db, "CREATE TABLE IF NOT EXISTS t (n BIGINT)", NULL), 0);
	while (writes-- > 0)
		assert_int_equal(st_db_exec(db, "INSERT INTO t VALUES (1)", NULL), 0);
	st_db_close(db);
	close(fd);
	assert_true(fstatat(dir->fd, ".stet/stet.db-wal", &st, 0) == 0 || errno == ENOENT);
	return st.st_size;
}

static void a_log_that_is_left_stays_short(void **state) {
	const struct dir *dir = *state;
	enum { FRAME = 4096 + 24 };
	int64_t most = 0;
	assert_int_equal(mkdirat(dir->fd, ".stet", 0700), 0);
	for (int i = 0; i < 200; i++) {
		int64_t size = write_briefly(dir, 1);
		most = size > most ? size : most;
	}
	/* It was left, but not for long. */
	assert_true(most > 8 * FRAME && most < 40 * FRAME);
	/* So it is while another process has the database open, which then still needs it. */
	struct st_db *other = NULL;
	int64_t rows = 0;
	int fd = open_state(dir);
	assert_int_equal(st_db_open(fd, true, &other, NULL), 0);
	assert_int_equal(st_db_number(other, "SELECT count(*) FROM t", &rows, NULL, ""), 0);
	for (int i = 0; i < 60; i++)
		most = write_briefly(dir, 50);
	assert_true(most < 1200 * FRAME);
	assert_int_equal(st_db_number(other, "SELECT count(*) FROM t", &rows, NULL, ""), 0);
	assert_int_equal(rows, 3200);
	st_db_close(other);
	close(fd);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		claim(a_journal_that_names_a_file_is_set_aside),
		claim(a_journal_that_comes_later_removes_nothing),
		claim(nobody_waits_for_a_fifo),
		claim(files_with_another_link_are_replaced),
		claim(another_root_of_the_same_name_is_not_written),
		claim(tables_of_others_are_set_aside),
		claim(a_number_out_of_range_is_no_overflow),
		claim(what_was_seen_counts_only_where_it_was_stored),
		claim(sessions_are_bounded_by_bytes),
		claim(whoever_waits_for_a_long_statement_is_asked),
		claim(a_killed_process_loses_nothing_with_a_wal),
		claim(a_killed_process_loses_nothing_with_a_journal),
		claim(a_log_that_is_left_stays_short),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
