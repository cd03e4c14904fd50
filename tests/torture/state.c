/*
 * Eight processes write one state, and some of them are killed in the middle:
 * the database passes its check, no update that was acknowledged is lost, none
 * is there twice, and repostate.json is whole at every moment. The same for the
 * log of writes.
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/json.h"
#include "core/state/state.h"
#include "lib/run.h"
#include "lib/test.h"
#include "stet/state.h"

enum { WORKERS = 8, VERSIONS = 1000 };

/* The workers' records, in memory that outlives a kill. */
struct tally {
	/* Per worker: begun and acknowledged updates. */
	_Atomic int64_t begun[WORKERS], done[WORKERS];
	_Atomic int64_t claimed[WORKERS];
	/* Which writes were acknowledged. */
	_Atomic bool known[WORKERS][VERSIONS];
	_Atomic bool stop;
};

static int updates(void) {
	return getenv("STET_TORTURE") ? 10000 : 400;
}

/* One update: a number that only ever grows by one, in a transaction. */
static int grow(struct st_store *store, void *data, struct stet_error *err) {
	int64_t value;
	int code = st_store_get(store, data, &value, err);
	return code == 0 ? st_store_set(store, data, value + 1, err) : code;
}

/* On a slow machine others may hold the database for longer than a call waits: then again. */
static bool go_on(int code, int status) {
	if (code < 0 && code != STET_E_BUSY)
		_exit(status);
	return code < 0;
}

static void work(const struct dir *dir, struct tally *tally, int worker) {
	struct stet_workspace *ws = NULL;
	struct stet_session *session = NULL;
	char name[32], text[64];
	snprintf(name, sizeof name, "worker-%d", worker);
	if (stet_workspace_open(dir->path, &ws, NULL) < 0 ||
	    stet_workspace_set(ws, STET_OPTION_STATE, 2, NULL) < 0 ||
	    stet_workspace_set(ws, STET_OPTION_DURABLE, 0, NULL) < 0)
		_exit(1);
	while (go_on(stet_session_open(ws, name, &session, NULL), 1))
		;
	while (tally->done[worker] < updates() / WORKERS && !tally->stop) {
		int64_t turn = ++tally->begun[worker], id = 0;
		while (go_on(st_store_do(&st_state_of(ws)->store, ST_STORE_WRITE, grow, name, NULL), 2))
			;
		tally->done[worker]++;
		/* And what agents do, so that every table is in use. */
		snprintf(text, sizeof text, "%lld\n", (long long)turn);
		if (turn % 4 == 0 &&
		    stet_session_write(session, name, text, strlen(text), NULL, NULL, NULL) < 0)
			stet_session_invalidate(session, name);
		if (turn % 8 == 0 && stet_task_claim(session, &id, NULL) == 0 && id)
			tally->claimed[worker]++;
		while (turn % 16 == 0 && go_on(stet_state_flush(ws, NULL), 3))
			;
	}
	stet_session_close(session);
	stet_workspace_close(ws);
	_exit(0);
}

/* The state file, if there is one, is whole. */
static bool is_whole(const struct dir *dir) {
	int fd = openat(dir->fd, ".stet/repostate.json", O_RDONLY);
	if (fd < 0)
		return errno == ENOENT;
	st_auto(st_buf) text = ST_BUF_INIT;
	char part[65536];
	for (ssize_t len; (len = read(fd, part, sizeof part)) > 0;)
		st_buf_add(&text, st_strn(part, (size_t)len));
	close(fd);
	yyjson_doc *doc = yyjson_read(st_buf_cstr(&text), text.len, 0);
	bool whole = doc && yyjson_is_arr(yyjson_obj_get(yyjson_doc_get_root(doc), "files"));
	yyjson_doc_free(doc);
	return whole;
}

typedef void work_fn(const struct dir *dir, struct tally *tally, int worker);

static pid_t begin(const struct dir *dir, struct tally *tally, int worker, work_fn *fn) {
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		fn(dir, tally, worker);
	return pid;
}

/* Let them run, kill one after the other, and start each anew. */
static void supervise(const struct dir *dir, struct tally *tally, work_fn *fn) {
	pid_t pids[WORKERS];
	int left = WORKERS, kills = 0;
	for (int i = 0; i < WORKERS; i++)
		pids[i] = begin(dir, tally, i, fn);
	int64_t until = st_now_ms() + 300000;
	for (int turn = 0; left > 0; turn++) {
		assert_true(st_now_ms() < until);
		sleep_ms(20);
		assert_true(is_whole(dir));
		int victim = turn % WORKERS;
		if (pids[victim] > 0 && kills < 2 * WORKERS && turn % 3 == 0) {
			kill(pids[victim], SIGKILL);
			kills++;
		}
		for (int i = 0; i < WORKERS; i++) {
			int status;
			if (pids[i] <= 0 || waitpid(pids[i], &status, WNOHANG) != pids[i])
				continue;
			if (WIFSIGNALED(status)) {
				pids[i] = begin(dir, tally, i, fn);
				continue;
			}
			assert_int_equal(WEXITSTATUS(status), 0);
			pids[i] = 0;
			left--;
		}
	}
	assert_true(kills > 0);
}

static int sum_up(struct st_store *store, void *data, struct stet_error *err) {
	int64_t *values = data;
	int code = 0;
	for (int i = 0; i < WORKERS && code == 0; i++) {
		char name[32];
		snprintf(name, sizeof name, "worker-%d", i);
		code = st_store_get(store, name, &values[i], err);
	}
	return code;
}

static void check(const struct dir *dir, const struct tally *tally) {
	st_auto(st_buf) verdict = ST_BUF_INIT;
	assert_int_equal(run(dir, &verdict,
	                     (const char *[]){"sqlite3", ".stet/stet.db",
	                                      "PRAGMA integrity_check; SELECT count(*) FROM tasks "
	                                      "WHERE status = 1 AND owner IS NULL",
	                                      NULL}),
	                 0);
	assert_string_equal(st_buf_cstr(&verdict), "ok\n0\n");
	struct stet_workspace *ws = NULL;
	int64_t values[WORKERS] = {0};
	assert_int_equal(stet_workspace_open(dir->path, &ws, NULL), 0);
	assert_int_equal(st_store_do(&st_state_of(ws)->store, ST_STORE_READ, sum_up, values, NULL), 0);
	for (int i = 0; i < WORKERS; i++) {
		/* An update that a kill interrupted may have been made without being acknowledged. */
		if (values[i] < tally->done[i] || values[i] > tally->begun[i])
			fail_msg("worker %d: %lld acknowledged, %lld begun, %lld stored", i,
			         (long long)tally->done[i], (long long)tally->begun[i], (long long)values[i]);
	}
	stet_workspace_close(ws);
}

static void add_tasks(const struct dir *dir) {
	struct stet_workspace *ws = NULL;
	int64_t id;
	assert_int_equal(stet_workspace_open(dir->path, &ws, NULL), 0);
	for (int i = 0; i < 500; i++)
		assert_int_equal(stet_task_add(ws, "Something", 9, 0, &id, NULL), 0);
	stet_workspace_close(ws);
}

static struct tally *make_tally(void) {
	struct tally *tally =
		mmap(NULL, sizeof *tally, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(tally != MAP_FAILED);
	return tally;
}

static void killed_processes_leave_the_state_whole(void **state) {
	const struct dir *dir = *state;
	struct tally *tally = make_tally();
	add_tasks(dir);
	supervise(dir, tally, work);
	assert_true(is_whole(dir));
	check(dir, tally);
	munmap(tally, sizeof *tally);
}

/* ---- the log ---- */

/* Fewer than the log holds. */
static int writes(void) {
	return updates() / WORKERS / 2;
}

/* Count in a file, from where it stands: each write is a version of its own. */
static void write_on(const struct dir *dir, struct tally *tally, int worker) {
	struct stet_workspace *ws = NULL;
	struct stet_session *session = NULL;
	char name[32], text[64];
	snprintf(name, sizeof name, "count-%d", worker);
	if (stet_workspace_open(dir->path, &ws, NULL) < 0 ||
	    stet_workspace_set(ws, STET_OPTION_STATE, 2, NULL) < 0 ||
	    stet_workspace_set(ws, STET_OPTION_DURABLE, 0, NULL) < 0 ||
	    stet_session_open(ws, NULL, &session, NULL) < 0)
		_exit(1);
	struct stet_answer *answer = NULL;
	int code = stet_session_read(session, name, 0, 0, &answer, NULL);
	if (code < 0 && code != STET_E_NOT_FOUND)
		_exit(2);
	while (tally->done[worker] < writes() && !tally->stop) {
		int64_t turn = ++tally->begun[worker];
		int len = snprintf(text, sizeof text, "%s: %lld\n", name, (long long)turn);
		if (stet_session_write(session, name, text, (size_t)len, NULL, NULL, NULL) < 0)
			_exit(3);
		/* A notice would say that it could not be stored. */
		char *notice = stet_workspace_notice(ws);
		tally->known[worker][turn] = !notice;
		tally->done[worker]++;
		stet_free(notice);
		/* Somebody reads the log meanwhile. */
		char *log = NULL;
		if (turn % 8 == worker && stet_log(ws, name, 1, &log, NULL) == 0)
			stet_free(log);
	}
	stet_answer_free(answer);
	stet_session_close(session);
	stet_workspace_close(ws);
	_exit(0);
}

struct account {
	const struct tally *tally;
	/* How often each version is in the log. */
	unsigned char times[WORKERS][VERSIONS];
};

static int book(void *data, const struct st_log_entry *entry, struct stet_error *err) {
	struct account *account = data;
	const struct st_file_event *write = &entry->event;
	(void)err;
	for (int i = 0; i < WORKERS; i++) {
		char name[32];
		snprintf(name, sizeof name, "count-%d", i);
		for (int64_t turn = 1; strcmp(name, write->path) == 0 && turn < VERSIONS; turn++) {
			char text[64];
			struct st_hash hash;
			snprintf(text, sizeof text, "%s: %lld\n", name, (long long)turn);
			assert_int_equal(st_hash_of(st_str(text), &hash, NULL), 0);
			account->times[i][turn] += st_hash_eq(&hash, &write->after.hash);
		}
	}
	return 0;
}

static int balance(struct st_store *store, void *data, struct stet_error *err) {
	const struct st_log_query query = {.limit = ST_LOG_MAX};
	return st_store_log_list(store, &query, book, data, err);
}

static void killed_processes_leave_the_log_whole(void **state) {
	const struct dir *dir = *state;
	struct tally *tally = make_tally();
	struct account *account = calloc(1, sizeof *account);
	struct stet_workspace *ws = NULL;
	supervise(dir, tally, write_on);
	assert_int_equal(stet_workspace_open(dir->path, &ws, NULL), 0);
	assert_int_equal(st_store_do(&st_state_of(ws)->store, ST_STORE_READ, balance, account, NULL),
	                 0);
	for (int i = 0; i < WORKERS; i++) {
		for (int turn = 1; turn < VERSIONS; turn++) {
			int times = account->times[i][turn];
			/* A write that a kill interrupted may be in the log. */
			if (times > 1 || (times == 0 && tally->known[i][turn]))
				fail_msg("worker %d, write %d: %d times in the log", i, turn, times);
		}
	}
	stet_workspace_close(ws);
	free(account);
	munmap(tally, sizeof *tally);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		claim(killed_processes_leave_the_state_whole),
		claim(killed_processes_leave_the_log_whole),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
