/**
 * A database connection. Only db.c and db_vfs.c know SQLite.
 *
 * Statements are prepared once and cached by the address of their text, which
 * must therefore be a constant. A letter gives the type of each argument:
 *
 *     static const char find[] = "SELECT id, name FROM sessions WHERE name = ? AND used_at > ?";
 *     struct st_rows rows;
 *
 *     int code = st_db_query(db, &rows, find, err, "si", st_str(name), since);
 *     while (code == 0 && (code = st_rows_next(&rows, err)) > 0)
 *             use(st_rows_int(&rows, 0), st_rows_str(&rows, 1));
 *
 *     i  int64_t           s  struct st_str, as text
 *     n  int64_t, 0 = NULL b  struct st_str, as bytes
 *     t  const char *, as text, may be NULL
 *     h  const struct st_hash *, as bytes, may be NULL
 *
 * The file is not trusted: triggers, views and everything else in its schema
 * that could run code are disabled. A connection is for one thread at a time.
 */
#ifndef STET_CORE_STATE_DB_H
#define STET_CORE_STATE_DB_H

#include <stdint.h>

#include "base/error.h"
#include "fs/file/hash.h"

struct st_db;
struct sqlite3_stmt;

/** A running query. */
struct st_rows {
	struct st_db *db;
	struct sqlite3_stmt *statement;
};

/**
 * Open the database of a directory, creating it if it is missing. Call
 * st_db_files_tidy() before (core/state/db_files.h).
 *
 * @dirfd  The directory, even if it is renamed later. -1 for a database in
 *         memory that ends with the connection.
 * @wal    Let readers and a writer work at once; not on a network filesystem.
 * @return 0, STET_E_BUSY (others locked it for longer than the wait),
 *         STET_E_ACCESS, STET_E_NO_SPACE, STET_E_NOMEM, STET_E_IO.
 */
[[nodiscard]] int st_db_open(int dirfd, bool wal, struct st_db **out, struct stet_error *err);

/** Open an existing database for reading. Returns as st_db_open(). */
[[nodiscard]] int st_db_open_read_only(int dirfd, int wait_ms, struct st_db **out,
                                       struct stet_error *err);

/**
 * Let the last connection leave the log where it is, instead of writing it into
 * the database, which flushes four times: for a process that does little and
 * whose answer somebody waits for. The one that makes the log long does it, or
 * the next process of another kind.
 */
void st_db_leave_log(struct st_db *db);

/** Close a connection, which may be NULL. */
void st_db_close(struct st_db *db);

/** Whether a call found the file to be damaged, or no database at all. */
bool st_db_is_damaged(const struct st_db *db);

/** Mark it as damaged, for a reason that SQLite cannot know. Returns STET_E_IO. */
int st_db_mark_damaged(struct st_db *db, const char *why, struct stet_error *err);

/** Limit the size of the file: beyond it, calls fail as on a full disk. */
[[nodiscard]] int st_db_limit(struct st_db *db, int64_t bytes, struct stet_error *err);

/** Set how long a call waits for other processes; five seconds by default. */
void st_db_wait(struct st_db *db, int ms);

/** Run statements without arguments, and without caching them. */
[[nodiscard]] int st_db_exec(struct st_db *db, const char *sql, struct stet_error *err);

/** Run a statement to its end. */
[[nodiscard]] int st_db_run(struct st_db *db, const char *sql, struct stet_error *err,
                            const char *types, ...);

/** Begin a query. Its arguments must stay valid until the last st_rows_next(). */
[[nodiscard]] int st_db_query(struct st_db *db, struct st_rows *rows, const char *sql,
                              struct stet_error *err, const char *types, ...);

/** Step: 1 for a row, 0 at the end, or a negative code. The last two end the query. */
[[nodiscard]] int st_rows_next(struct st_rows *rows, struct stet_error *err);

/** End a query before its last row. */
void st_rows_end(struct st_rows *rows);

/** Columns, counted from 0 and valid until the next step. NULL reads as 0, an empty text, or false. */
int64_t st_rows_int(const struct st_rows *rows, int column);
struct st_str st_rows_str(const struct st_rows *rows, int column);
bool st_rows_hash(const struct st_rows *rows, int column, struct st_hash *hash);
bool st_rows_is_null(const struct st_rows *rows, int column);

/** Run a query for one number, the first column of its first row; 0 if there is no row. */
[[nodiscard]] int st_db_number(struct st_db *db, const char *sql, int64_t *number,
                               struct stet_error *err, const char *types, ...);

/** How many rows the last statement changed. */
int64_t st_db_changes(const struct st_db *db);

/** The id of the row inserted last. */
int64_t st_db_last_id(const struct st_db *db);

/** A number that changes when another connection has written. */
[[nodiscard]] int st_db_version(struct st_db *db, int64_t *version, struct stet_error *err);

#endif
