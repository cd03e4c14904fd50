/**
 * The store: what must outlive a process, and what several processes share.
 *
 * Named sessions and what they saw, the story, tracked files, tasks and the
 * log of writes, in one SQLite database below the state directory. All SQL is
 * behind this header, in store*.c, and close to what PostgreSQL takes.
 *
 * Work is done in transactions: a function is handed to st_store_do(), and
 * everything it stores is there afterwards, or nothing.
 *
 *     static int save(struct st_store *store, void *data, struct stet_error *err) {
 *             return st_store_set(store, "epoch", 7, err);
 *     }
 *     int code = st_store_do(&ws->store, ST_STORE_WRITE, save, data, err);
 *
 * The database is opened by the first of them, and made by the first that
 * writes: to read where there is no state directory makes none. Where it may not be kept (a
 * read-only workspace, a state directory that is not to be trusted, a file of
 * a newer stet), it lives in memory and goes with the process, and a notice
 * says so. A damaged one is set aside under a name that a notice tells, and
 * made anew from what `import` finds.
 *
 * Safe to use from several threads and processes.
 */
#ifndef STET_CORE_STATE_STORE_H
#define STET_CORE_STATE_STORE_H

#include <pthread.h>

#include "core/session/file_event.h"
#include "core/state/db.h"
#include "core/state/db_files.h"
#include "core/state/repo_state.h"
#include "core/session/tracker.h"
#include "fs/write/write_context.h"

/** The version of the schema that this code writes. */
enum { ST_STORE_SCHEMA = 3 };

/** What is damaged is set aside as NAME.damaged-1, and so on, up to this; the last makes room for another. */
enum { ST_ASIDE_MAX = 4 };

/** How many bytes of the database are used before the oldest sessions go, and how many it may ever have. */
#define ST_STORE_FULL ((int64_t)128 << 20)
#define ST_STORE_MAX ((int64_t)256 << 20)

struct st_delivered;
struct st_links;
struct st_store;
typedef int st_store_fn(struct st_store *store, void *data, struct stet_error *err);

struct st_store {
	const struct st_root *root;
	/** Where notices go, and who knows the name of the state directory. */
	struct st_write_context *writes;
	/** Fills a database that was just made, in its first transaction; may be NULL. */
	st_store_fn *import;
	/** Takes over an event of stet 0.1.0, in a transaction; may be NULL. */
	int (*adopt)(struct st_store *store, void *data, const struct st_file_event *event,
	             struct stet_error *err);
	/** For these two. */
	void *data;
	/** How long a transaction waits for other processes: five seconds, unless a test is in a hurry. */
	int wait_ms;
	/** Held during a transaction; guards everything below. */
	pthread_mutex_t lock;
	struct st_db *db;
	/** The file behind db, to see whether it is still the one of that name. */
	dev_t dev;
	ino_t ino;
	/** It is in memory; `why` says so, for answers. */
	bool in_memory;
	/** It is in memory and empty, since there is no state directory; the first write makes both. */
	bool blank;
	char why[600];
	/** Moves whenever the database is opened: what was read before may be of another one. */
	int64_t opened;
	/** Moves whenever what was read before may not be all there is: somebody else wrote, or it was taken back. */
	int64_t generation;
	/** How many transactions were taken back: what they wrote, and copies have of it, is not there. */
	int64_t taken_back;
	/** By which SQLite tells that somebody else wrote. */
	int64_t version;
	/** The counter, as of a generation. */
	int64_t counter, counter_generation;
};

void st_store_init(struct st_store *store, const struct st_root *root,
                   struct st_write_context *writes);
void st_store_release(struct st_store *store);

/** Whether there is anything to be read: a store that is open, or something on the disk to open. */
bool st_store_is_there(struct st_store *store);

enum st_store_mode {
	ST_STORE_READ,
	ST_STORE_WRITE,
	/** As ST_STORE_WRITE, after a failure: wait for other processes only briefly, since the next call tries again. */
	ST_STORE_RETRY,
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

/**
 * Whether everything is kept beyond this process: 0, or STET_E_ACCESS and why
 * not. Where nobody used the store yet, whether a state directory that is
 * there could be used.
 */
[[nodiscard]] int st_store_is_stored(struct st_store *store, struct stet_error *err);

/*
 * What follows is called from within a transaction only.
 */

/** The next number: larger than any that was stored as a file's change or the epoch. */
[[nodiscard]] int st_store_next(struct st_store *store, int64_t *number, struct stet_error *err);

/** A named number; 0 if it was never set. */
[[nodiscard]] int st_store_get(struct st_store *store, const char *name, int64_t *value,
                               struct stet_error *err);
[[nodiscard]] int st_store_set(struct st_store *store, const char *name, int64_t value,
                               struct stet_error *err);

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

/** Where a session's spellings led: all of them, in place of what was stored. */
[[nodiscard]] int st_store_put_links(struct st_store *store, int64_t session,
                                     const struct st_links *links, struct stet_error *err);

[[nodiscard]] int st_store_load_links(struct st_store *store, int64_t session,
                                      struct st_links *links, struct stet_error *err);

/** Which instructions a session was given: all of them, in place of what was stored. */
[[nodiscard]] int st_store_put_delivered(struct st_store *store, int64_t session,
                                         const struct st_delivered *delivered,
                                         struct stet_error *err);

/** Fill an empty record of instructions. */
[[nodiscard]] int st_store_load_delivered(struct st_store *store, int64_t session,
                                          struct st_delivered *delivered, struct stet_error *err);

/* ---- tracked files ---- */

/** A file as the state of the work knows it. */
struct st_tracked {
	/** Below the root, links resolved. */
	const char *path;
	/** What is there, and what was there when the story began, of which there is no stamp. */
	struct st_version version, base;
	/** It changed without any of our tools, and nobody has read it since. */
	bool external;
	/** When it was stored last, by the counter. */
	int64_t changed;
};

/** Store a file, with the number of this change (st_store_next()). */
[[nodiscard]] int st_store_put_file(struct st_store *store, const struct st_tracked *file,
                                    int64_t change, struct stet_error *err);

/** Call for each file stored after a change. What it is given is borrowed for the call. */
[[nodiscard]] int st_store_files_since(struct st_store *store, int64_t change,
                                       int (*each)(void *data, const struct st_tracked *file,
                                                   struct stet_error *err),
                                       void *data, struct stet_error *err);

/* ---- the story ---- */

/** The longest name of a story. */
enum { ST_STORY_BYTES_MAX = 200 };

/** The name of the current story, appended to name; nothing if there is none. */
[[nodiscard]] int st_store_story(struct st_store *store, struct st_buf *name,
                                 struct stet_error *err);

/** Whether the current story has prompts use the snapshot: 1, 0, or -1 if it does not say. */
[[nodiscard]] int st_store_story_choice(struct st_store *store, int *use, struct stet_error *err);
[[nodiscard]] int st_store_story_choose(struct st_store *store, int use, struct stet_error *err);

/** End the current story, and begin another unless name is NULL: what is there is its baseline. */
[[nodiscard]] int st_store_story_begin(struct st_store *store, const char *name,
                                       struct stet_error *err);

/* ---- tasks ---- */

enum {
	/** Limits: bytes of a description, unfinished tasks, all tasks. */
	ST_TASK_BYTES_MAX = 4096,
	ST_TASKS_OPEN_MAX = 1000,
	ST_TASKS_MAX = 10000,
};

/** Add a task; a priority of 0 puts it after all others. */
[[nodiscard]] int st_store_task_add(struct st_store *store, struct st_str description,
                                    int64_t priority, int64_t *id, struct stet_error *err);

/** The same with its number and priority as they were; another number if that is taken, or 0. */
[[nodiscard]] int st_store_task_restore(struct st_store *store, int64_t wanted,
                                        struct st_str description, int64_t priority, int64_t *id,
                                        struct stet_error *err);

/**
 * Set the status of a task, and who works on it (NULL for nobody).
 *
 * @return 0, STET_E_NOT_FOUND, STET_E_CONFLICT (another session works on it).
 */
[[nodiscard]] int st_store_task_set(struct st_store *store, int64_t id, enum st_task_status status,
                                    const char *owner, struct stet_error *err);
[[nodiscard]] int st_store_task_prioritise(struct st_store *store, int64_t id, int64_t priority,
                                           struct stet_error *err);
[[nodiscard]] int st_store_task_remove(struct st_store *store, int64_t id, struct stet_error *err);

/**
 * Start the first task that nobody works on, in one statement: no two sessions
 * get the same.
 *
 * @id     Receives its number, 0 if none is left.
 */
[[nodiscard]] int st_store_task_claim(struct st_store *store, const char *owner, int64_t *id,
                                      struct stet_error *err);

/**
 * A new list of unfinished tasks: mark the old ones, want the new ones in
 * order, and sweep away those that nobody wanted. One that is wanted and there
 * stays what it is.
 */
[[nodiscard]] int st_store_tasks_mark(struct st_store *store, struct stet_error *err);
[[nodiscard]] int st_store_task_want(struct st_store *store, struct st_str description,
                                     int64_t priority, struct stet_error *err);
[[nodiscard]] int st_store_tasks_sweep(struct st_store *store, struct stet_error *err);

/** Call for each task, by priority, then id. What it is given is borrowed for the call. */
[[nodiscard]] int st_store_tasks(struct st_store *store,
                                 int (*each)(void *data, const struct st_repo_task *task,
                                             struct stet_error *err),
                                 void *data, struct stet_error *err);

/* ---- the log of writes ---- */

/** How many writes are remembered. */
enum { ST_LOG_MAX = 10000 };

/** A write in the log; its versions have no stamps. */
struct st_log_entry {
	int64_t id;
	struct st_file_event event;
	/** The entry that took this one back; 0 for none. */
	int64_t undone_by;
};

/** When anything of the state changed last: by a write in the log, or as "updated_at" says. */
[[nodiscard]] int st_store_updated(struct st_store *store, int64_t *at, struct stet_error *err);

/** Add a write. */
[[nodiscard]] int st_store_log(struct st_store *store, const struct st_file_event *event,
                               struct stet_error *err);

/** Which writes to list, the newest first. */
struct st_log_query {
	/** Of one path or all; of one session (name) or all. NULL for all. */
	const char *path, *session;
	/** Only what can be taken back: neither undone nor an undo. */
	bool undoable;
	int64_t limit;
};

/** Call for each write. What it is given is borrowed for the call. */
[[nodiscard]] int st_store_log_list(struct st_store *store, const struct st_log_query *query,
                                    int (*each)(void *data, const struct st_log_entry *entry,
                                                struct stet_error *err),
                                    void *data, struct stet_error *err);

/** The session that last wrote a version, into name. Returns 1, 0 if none is known, or a code. */
[[nodiscard]] int st_store_writer(struct st_store *store, const struct st_hash *hash,
                                  char name[128], struct stet_error *err);

/* ---- between core/state/store.c and core/state/store_open.c, with the lock held ---- */

/**
 * Open the database, making it if it is missing. Where it may not be used it is
 * one in memory, which a notice says.
 *
 * @return 0, STET_E_BUSY, STET_E_NO_SPACE, STET_E_LIMIT, STET_E_NOMEM, STET_E_IO.
 */
[[nodiscard]] int st_store_connect(struct st_store *store, struct stet_error *err);

/** Open an empty one in memory: nothing was ever stored, and to look at that is no reason to make a directory. */
[[nodiscard]] int st_store_connect_blank(struct st_store *store, struct stet_error *err);

/** Close it. */
void st_store_disconnect(struct st_store *store);

/** Whether the file is still where it was: somebody may have removed or replaced it. */
bool st_store_is_in_place(const struct st_store *store);

/** Set the database aside, which is damaged, unless another process has done so; then it is closed. */
[[nodiscard]] int st_store_replace_damaged(struct st_store *store, struct stet_error *err);

/** A transaction on the open database, as st_store_do(). */
[[nodiscard]] int st_store_run(struct st_store *store, enum st_store_mode mode, st_store_fn *fn,
                               void *data, struct stet_error *err);

#endif
