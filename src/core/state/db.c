#include "core/state/db.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "core/state/db_vfs.h"
#include "fs/path/sys.h"

enum { STATEMENTS_MAX = 96, WAIT_MS = 5000 };

/* Far more than any text or blob that stet stores. */
#define VALUE_MAX (256 << 20)

struct cached {
	const char *sql;
	sqlite3_stmt *statement;
};

struct st_db {
	sqlite3 *handle;
	/* Its path in the VFS; empty for a database in memory. */
	char path[ST_DB_PATH_SIZE];
	bool damaged;
	/* The log is left when the connection closes; how many pages it had after the last commit. */
	bool leaves_log;
	int log_pages;
	/* How long to wait for other processes, and since when it waits. */
	int wait_ms;
	int64_t since_ms;
	struct cached cached[STATEMENTS_MAX];
	size_t cached_count;
};

/* ---- failures ---- */

static int code_of(int result) {
	switch (result & 0xff) {
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return STET_E_BUSY;
	case SQLITE_NOMEM:
		return STET_E_NOMEM;
	case SQLITE_FULL:
		return STET_E_NO_SPACE;
	case SQLITE_CANTOPEN:
	case SQLITE_READONLY:
	case SQLITE_PERM:
	case SQLITE_AUTH:
		return STET_E_ACCESS;
	case SQLITE_TOOBIG:
		return STET_E_TOO_BIG;
	default:
		return STET_E_IO;
	}
}

static int failed(struct st_db *db, int result, struct stet_error *err) {
	if ((result & 0xff) == SQLITE_CORRUPT || (result & 0xff) == SQLITE_NOTADB)
		db->damaged = true;
	int code = code_of(result);
	if (code == STET_E_NOMEM)
		return st_fail_nomem(err);
	if (code == STET_E_BUSY)
		return st_fail(err, code,
		               "The state database is locked by another process. Try again, or find out "
		               "who holds stet.db open.");
	return st_fail(err, code, "The state database failed: %s.", sqlite3_errmsg(db->handle));
}

/* ---- opening and closing ---- */

/* Harden SQLite against a hostile file: its schema must not run anything, and nothing may be unbounded. */
static void harden(sqlite3 *handle) {
	static const struct {
		int what, value;
	} settings[] = {
		{SQLITE_DBCONFIG_DEFENSIVE, 1},      {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
		{SQLITE_DBCONFIG_ENABLE_TRIGGER, 0}, {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
		{SQLITE_DBCONFIG_DQS_DML, 0},        {SQLITE_DBCONFIG_DQS_DDL, 0},
	};
	static const struct {
		int what, most;
	} limits[] = {
		{SQLITE_LIMIT_LENGTH, VALUE_MAX},   {SQLITE_LIMIT_SQL_LENGTH, 100000},
		{SQLITE_LIMIT_COLUMN, 64},          {SQLITE_LIMIT_EXPR_DEPTH, 32},
		{SQLITE_LIMIT_COMPOUND_SELECT, 8},  {SQLITE_LIMIT_FUNCTION_ARG, 8},
		{SQLITE_LIMIT_ATTACHED, 0},         {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 64},
		{SQLITE_LIMIT_VARIABLE_NUMBER, 64}, {SQLITE_LIMIT_TRIGGER_DEPTH, 1},
		{SQLITE_LIMIT_WORKER_THREADS, 0},
	};
	for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
		sqlite3_db_config(handle, settings[i].what, settings[i].value, NULL);
	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
		sqlite3_limit(handle, limits[i].what, limits[i].most);
}

static int configure(struct st_db *db, bool wal, struct stet_error *err) {
	/* Without WAL a reader would block every writer. The mode is stored in the file. */
	int code =
		st_db_exec(db, wal ? "PRAGMA journal_mode = WAL" : "PRAGMA journal_mode = TRUNCATE", err);
	/* A call must not wait for a second flush: a crash of the machine may lose the last entries. */
	if (code == 0)
		code = st_db_exec(db,
		                  "PRAGMA synchronous = NORMAL; PRAGMA cell_size_check = ON;"
		                  "PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 0;"
		                  "PRAGMA journal_size_limit = 4194304",
		                  err);
	return code;
}

/* Allocate a connection that is not open yet. NULL with the reason in *code. */
static struct st_db *db_new(int dirfd, int *code, struct stet_error *err) {
	struct st_db *db = calloc(1, sizeof *db);
	if (!db) {
		*code = st_fail_nomem(err);
		return NULL;
	}
	if (dirfd < 0 || st_db_vfs_acquire(dirfd, db->path) == 0)
		return db;
	*code = st_fail_errno(err, errno, "The state database cannot be opened");
	free(db);
	return NULL;
}

static int open_handle(struct st_db *db, int flags) {
	if (!*db->path)
		return sqlite3_open_v2(":memory:", &db->handle, flags, NULL);
	const char *vfs = st_db_vfs();
	if (!vfs)
		return SQLITE_NOMEM;
	return sqlite3_open_v2(db->path, &db->handle, flags | SQLITE_OPEN_NOFOLLOW, vfs);
}

/* SQLite's busy handler: wait a little longer, until the time is up or the caller cancels. */
static int wait_for_others(void *data, int times) {
	enum { NAP_MAX_MS = 10 };
	struct st_db *db = data;
	int64_t now = st_now_ms();
	if (times == 0)
		db->since_ms = now;
	return now - db->since_ms < db->wait_ms &&
	       st_cancel_sleep(times < NAP_MAX_MS ? times + 1 : NAP_MAX_MS, NULL) == 0;
}

/* After so many steps of SQLite's machine it reports work, in the unit of st_cancel_progress(). */
enum { PROGRESS_STEPS = 4096, PROGRESS_WORK = ST_CANCEL_STEP / 4 };

/* A statement runs to its end, but meanwhile a ping is answered. */
static int report_progress(void *data) {
	(void)data;
	st_cancel_progress(PROGRESS_WORK);
	return 0;
}

/* Open a connection. NULL with the reason in *code. */
static struct st_db *connect(int dirfd, int flags, int wait_ms, int *code, struct stet_error *err) {
	struct st_db *db = db_new(dirfd, code, err);
	if (!db)
		return NULL;
	int result = open_handle(db, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE);
	*code = result == SQLITE_OK ? 0 : failed(db, result, err);
	if (*code < 0) {
		st_db_close(db);
		return NULL;
	}
	sqlite3_extended_result_codes(db->handle, 1);
	db->wait_ms = wait_ms;
	sqlite3_progress_handler(db->handle, PROGRESS_STEPS, report_progress, NULL);
	sqlite3_busy_handler(db->handle, wait_for_others, db);
	harden(db->handle);
	return db;
}

int st_db_open(int dirfd, bool wal, struct st_db **out, struct stet_error *err) {
	int code;
	struct st_db *db =
		connect(dirfd, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, WAIT_MS, &code, err);
	if (db)
		code = configure(db, wal, err);
	/* A damaged file keeps its connection, so that the caller can ask st_db_is_damaged(). */
	if (db && code < 0 && !db->damaged) {
		st_db_close(db);
		db = NULL;
	}
	*out = db;
	return code;
}

int st_db_open_read_only(int dirfd, int wait_ms, struct st_db **out, struct stet_error *err) {
	int code;
	*out = connect(dirfd, SQLITE_OPEN_READONLY, wait_ms, &code, err);
	return code;
}

/* SQLite's hook after a commit, in place of the one that writes the log into the database. */
static int note_log(void *data, sqlite3 *handle, const char *name, int pages) {
	enum { LONG_LOG_PAGES = 1000 };
	struct st_db *db = data;
	db->log_pages = pages;
	/* While another process has the database open, nobody ends the log. A failure is harmless. */
	if (pages >= LONG_LOG_PAGES)
		(void)sqlite3_wal_checkpoint_v2(handle, name, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
	return SQLITE_OK;
}

void st_db_leave_log(struct st_db *db) {
	db->leaves_log = true;
	sqlite3_wal_hook(db->handle, note_log, db);
}

/*
 * The first connection reads the whole log again, so it must not grow long. A checkpoint alone does not end it: the
 * next process would append to it all the same, since the last connection takes the index along.
 */
static void leave_or_end_log(struct st_db *db) {
	enum { LOG_PAGES = 32 };
	sqlite3_db_config(db->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, db->log_pages < LOG_PAGES,
	                  NULL);
}

void st_db_close(struct st_db *db) {
	if (!db)
		return;
	for (size_t i = 0; i < db->cached_count; i++)
		sqlite3_finalize(db->cached[i].statement);
	if (db->leaves_log)
		leave_or_end_log(db);
	sqlite3_close_v2(db->handle);
	if (*db->path)
		st_db_vfs_release(db->path);
	free(db);
}

bool st_db_is_damaged(const struct st_db *db) {
	return db->damaged;
}

int st_db_mark_damaged(struct st_db *db, const char *why, struct stet_error *err) {
	db->damaged = true;
	return st_fail(err, STET_E_IO, "The state database is damaged: %s.", why);
}

int st_db_limit(struct st_db *db, int64_t bytes, struct stet_error *err) {
	int64_t page;
	char sql[64];
	int code = st_db_number(db, "PRAGMA page_size", &page, err, "");
	if (code < 0 || page <= 0)
		return code;
	snprintf(sql, sizeof sql, "PRAGMA max_page_count = %lld", (long long)(bytes / page));
	return st_db_exec(db, sql, err);
}

void st_db_wait(struct st_db *db, int ms) {
	db->wait_ms = ms;
}

/* ---- statements ---- */

int st_db_exec(struct st_db *db, const char *sql, struct stet_error *err) {
	int result = sqlite3_exec(db->handle, sql, NULL, NULL, NULL);
	return result == SQLITE_OK ? 0 : failed(db, result, err);
}

static int prepare_cached(struct st_db *db, const char *sql, sqlite3_stmt **out,
                          struct stet_error *err) {
	for (size_t i = 0; i < db->cached_count; i++) {
		if (db->cached[i].sql == sql) {
			*out = db->cached[i].statement;
			return 0;
		}
	}
	if (db->cached_count == STATEMENTS_MAX)
		return st_fail(err, STET_E_LIMIT, "Too many kinds of statements are in use.");
	int result = sqlite3_prepare_v3(db->handle, sql, -1, SQLITE_PREPARE_PERSISTENT, out, NULL);
	if (result != SQLITE_OK)
		return failed(db, result, err);
	db->cached[db->cached_count++] = (struct cached){sql, *out};
	return 0;
}

static int bind_view(sqlite3_stmt *statement, int i, struct st_str bytes, bool text) {
	if (text)
		return sqlite3_bind_text64(statement, i, bytes.ptr, bytes.len, SQLITE_STATIC, SQLITE_UTF8);
	return sqlite3_bind_blob64(statement, i, bytes.ptr, bytes.len, SQLITE_STATIC);
}

static int bind(sqlite3_stmt *statement, const char *types, va_list args) {
	int result = SQLITE_OK;
	for (int i = 1; *types && result == SQLITE_OK; i++, types++) {
		int64_t number;
		const char *text;
		const struct st_hash *hash;
		switch (*types) {
		case 'i':
			result = sqlite3_bind_int64(statement, i, va_arg(args, int64_t));
			break;
		case 'n':
			number = va_arg(args, int64_t);
			result =
				number ? sqlite3_bind_int64(statement, i, number) : sqlite3_bind_null(statement, i);
			break;
		case 's':
		case 'b':
			result = bind_view(statement, i, va_arg(args, struct st_str), *types == 's');
			break;
		case 't':
			text = va_arg(args, const char *);
			result = text ? bind_view(statement, i, st_str(text), true)
			              : sqlite3_bind_null(statement, i);
			break;
		default:
			hash = va_arg(args, const struct st_hash *);
			result = hash ? bind_view(statement, i,
			                          st_strn((const char *)hash->bytes, ST_HASH_SIZE), false)
			              : sqlite3_bind_null(statement, i);
			break;
		}
	}
	return result;
}

static int start_query(struct st_db *db, struct st_rows *rows, const char *sql,
                       struct stet_error *err, const char *types, va_list args) {
	*rows = (struct st_rows){.db = db};
	int code = prepare_cached(db, sql, &rows->statement, err);
	if (code < 0)
		return code;
	assert((size_t)sqlite3_bind_parameter_count(rows->statement) == strlen(types));
	int result = bind(rows->statement, types, args);
	if (result == SQLITE_OK)
		return 0;
	st_rows_end(rows);
	return failed(db, result, err);
}

int st_db_query(struct st_db *db, struct st_rows *rows, const char *sql, struct stet_error *err,
                const char *types, ...) {
	va_list args;
	va_start(args, types);
	int code = start_query(db, rows, sql, err, types, args);
	va_end(args);
	return code;
}

int st_db_run(struct st_db *db, const char *sql, struct stet_error *err, const char *types, ...) {
	struct st_rows rows;
	va_list args;
	va_start(args, types);
	int code = start_query(db, &rows, sql, err, types, args);
	va_end(args);
	if (code == 0)
		code = st_rows_next(&rows, err);
	if (code > 0)
		st_rows_end(&rows);
	return code < 0 ? code : 0;
}

/* ---- rows ---- */

int st_rows_next(struct st_rows *rows, struct stet_error *err) {
	int result = sqlite3_step(rows->statement);
	if (result == SQLITE_ROW)
		return 1;
	int code = result == SQLITE_DONE ? 0 : failed(rows->db, result, err);
	st_rows_end(rows);
	return code;
}

void st_rows_end(struct st_rows *rows) {
	sqlite3_reset(rows->statement);
	/* The bound values are borrowed, and may be freed before the next use. */
	sqlite3_clear_bindings(rows->statement);
}

int64_t st_rows_int(const struct st_rows *rows, int column) {
	return sqlite3_column_int64(rows->statement, column);
}

struct st_str st_rows_str(const struct st_rows *rows, int column) {
	const char *bytes = sqlite3_column_blob(rows->statement, column);
	int len = sqlite3_column_bytes(rows->statement, column);
	return bytes ? st_strn(bytes, (size_t)len) : st_str("");
}

bool st_rows_hash(const struct st_rows *rows, int column, struct st_hash *hash) {
	struct st_str bytes = st_rows_str(rows, column);
	if (bytes.len != ST_HASH_SIZE)
		return false;
	memcpy(hash->bytes, bytes.ptr, ST_HASH_SIZE);
	return true;
}

bool st_rows_is_null(const struct st_rows *rows, int column) {
	return sqlite3_column_type(rows->statement, column) == SQLITE_NULL;
}

int st_db_number(struct st_db *db, const char *sql, int64_t *number, struct stet_error *err,
                 const char *types, ...) {
	struct st_rows rows;
	va_list args;
	*number = 0;
	va_start(args, types);
	int code = start_query(db, &rows, sql, err, types, args);
	va_end(args);
	if (code == 0)
		code = st_rows_next(&rows, err);
	if (code > 0) {
		*number = st_rows_int(&rows, 0);
		st_rows_end(&rows);
	}
	return code < 0 ? code : 0;
}

int64_t st_db_changes(const struct st_db *db) {
	return sqlite3_changes64(db->handle);
}

int64_t st_db_last_id(const struct st_db *db) {
	return sqlite3_last_insert_rowid(db->handle);
}

int st_db_version(struct st_db *db, int64_t *version, struct stet_error *err) {
	static const char sql[] = "PRAGMA data_version";
	return st_db_number(db, sql, version, err, "");
}
