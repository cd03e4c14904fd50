/**
 * The store: what must outlive a process, and what several processes share.
 *
 * Named sessions and what they saw, the story, tracked files, tasks, bytes
 * that diffs and undo start from, and the log of writes, in one SQLite
 * database below the state directory. All SQL is behind this header, in
 * store*.c, and close to what PostgreSQL takes.
 *
 * Work is done in transactions: a function is handed to st_store_do(), and
 * everything it stores is there afterwards, or nothing.
 *
 *     static int save(struct st_store *store, void *data, struct stet_error *err) {
 *             return st_store_put_base(store, hash, bytes, err);
 *     }
 *     int code = st_store_do(&ws->store, ST_STORE_WRITE, save, data, err);
 *
 * The database is opened by the first of them. Where it may not be kept (a
 * read-only workspace, a state directory that is not to be trusted, a file of
 * a newer stet), it lives in memory and goes with the process, and a notice
 * says so. A damaged one is set aside under a name that a notice tells, and
 * made anew from what `import` finds.
 *
 * Safe to use from several threads and processes.
 */
#ifndef STET_CORE_STORE_H
#define STET_CORE_STORE_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/db.h"
#include "core/repo_state.h"
#include "core/tracker.h"
#include "fs/guard.h"

/** Its name in the state directory. */
#define ST_STORE_NAME "stet.db"

/** The version of the schema that this code writes. */
enum { ST_STORE_SCHEMA = 1 };

struct st_agents_given;
struct st_store;
typedef int st_store_fn(struct st_store *store, void *data, struct stet_error *err);

struct st_store {
	const struct st_root *root;
	/** Where notices go, and who knows the name of the state directory. */
	struct st_guard *guard;
	/** Fills a database that was just made, in its first transaction; may be NULL. */
	st_store_fn *import;
	void *import_data;
	/** How many bytes of bases are kept. */
	_Atomic size_t max_bases;
	/** Held during a transaction; guards everything below. */
	pthread_mutex_t lock;
	struct st_db *db;
	/** The file behind db, to see whether it is still the one of that name. */
	dev_t dev;
	ino_t ino;
	/** It is in memory; `why` says so, for answers. */
	bool in_memory;
	char why[600];
	/** Moves whenever the database is opened: what was read before may be of another one. */
	int64_t opened;
};

void st_store_init(struct st_store *store, const struct st_root *root, struct st_guard *guard);
void st_store_release(struct st_store *store);

/** Whether there is anything to be read: a store that is open, or something on the disk to open. */
bool st_store_is_there(struct st_store *store);

enum st_store_mode {
	ST_STORE_READ,
	ST_STORE_WRITE,
};

/**
 * Run a function in a transaction. It may run a second time, on a database
 * made anew, if the first turned out to be damaged.
 *
 * @return What the function returned, with what it stored gone if negative;
 *         or STET_E_BUSY, STET_E_ACCESS, STET_E_NO_SPACE, STET_E_LIMIT,
 *         STET_E_NOMEM, STET_E_IO.
 */
[[nodiscard]] int st_store_do(struct st_store *store, enum st_store_mode mode, st_store_fn *fn,
                              void *data, struct stet_error *err);

/** Why nothing is kept beyond this process, as a sentence in out; empty if it is kept. */
void st_store_why(struct st_store *store, char out[600]);

/*
 * What follows is called from within a transaction only.
 */

/** A counter that never goes back: the next number. */
[[nodiscard]] int st_store_next(struct st_store *store, int64_t *number, struct stet_error *err);

/** A named number; 0 if it was never set. */
[[nodiscard]] int st_store_get(struct st_store *store, const char *name, int64_t *value,
                               struct stet_error *err);
[[nodiscard]] int st_store_set(struct st_store *store, const char *name, int64_t value,
                               struct stet_error *err);

/* ---- bases ---- */

/** The largest text that is kept, whatever the limit on all of them. */
#define ST_STORE_BASE_MAX ((size_t)16 << 20)

/** Keep bytes under their hash; the least recently used go when there are too many. */
[[nodiscard]] int st_store_put_base(struct st_store *store, const struct st_hash *hash,
                                    struct st_str bytes, struct stet_error *err);

/** The bytes of a hash, appended to out. Returns 1, 0 if they are not there, or a code. */
[[nodiscard]] int st_store_get_base(struct st_store *store, const struct st_hash *hash,
                                    struct st_buf *out, struct stet_error *err);

/* ---- sessions ---- */

/**
 * The record of a named session.
 *
 * @make     Make it if there is none.
 * @id       Receives its number, 0 if there is none.
 * @version  Receives how often it was saved.
 */
[[nodiscard]] int st_store_session(struct st_store *store, const char *name, bool make, int64_t *id,
                                   int64_t *version, struct stet_error *err);

/** A session is about to be saved: its version moves. */
[[nodiscard]] int st_store_session_touch(struct st_store *store, int64_t id, int64_t *version,
                                         struct stet_error *err);

/** What a session saw of a file; and that it no longer counts as having seen it. */
[[nodiscard]] int st_store_put_seen(struct st_store *store, int64_t session, const char *path,
                                    const struct st_seen *seen, struct stet_error *err);
[[nodiscard]] int st_store_drop_seen(struct st_store *store, int64_t session, const char *path,
                                     struct stet_error *err);

/** Forget all that a session saw. */
[[nodiscard]] int st_store_drop_session(struct st_store *store, int64_t session,
                                        struct stet_error *err);

/** Fill an empty tracker with what a session saw. */
[[nodiscard]] int st_store_load_seen(struct st_store *store, int64_t session,
                                     struct st_tracker *tracker, struct stet_error *err);

/** Which instructions a session was given: all of them, in place of what was stored. */
[[nodiscard]] int st_store_put_given(struct st_store *store, int64_t session,
                                     const struct st_agents_given *given, struct stet_error *err);

/** Fill an empty record of instructions. */
[[nodiscard]] int st_store_load_given(struct st_store *store, int64_t session,
                                      struct st_agents_given *given, struct stet_error *err);

#endif
