/**
 * The store: named sessions and what they saw, the story, tracked files, tasks
 * and the log of writes, in one SQLite database below the state directory. The
 * processes of a workspace share it. All SQL is behind this header, in store*.c,
 * and close to PostgreSQL's.
 *
 * Callers pass a function to st_store_do(), which runs it in a transaction.
 *
 *     static int save(struct st_store *store, void *data, struct stet_error *err) {
 *             return st_store_set(store, "epoch", 7, err);
 *     }
 *     int code = st_store_do(&ws->store, ST_STORE_WRITE, save, data, err);
 *
 * The first transaction opens the database, and the first one that writes
 * creates it: reading never creates a state directory. If the database cannot be
 * used (a read-only workspace, a state directory that is not trusted, a file of
 * a newer stet), the store lives in memory, and a notice says so. A damaged
 * database is renamed, a notice names the new name, and `import` fills a new one.
 *
 * Thread-safe, and safe to use from several processes.
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
enum { ST_STORE_SCHEMA = 7 };

/** A damaged file is renamed to NAME.damaged-1, and so on, up to this number, which is overwritten. */
enum { ST_ASIDE_MAX = 4 };

/** Beyond how many used bytes the oldest sessions are deleted, and the most bytes of the database. */
#define ST_STORE_FULL ((int64_t)128 << 20)
#define ST_STORE_MAX ((int64_t)256 << 20)

struct st_delivered;
struct st_links;
struct st_store;
typedef int st_store_fn(struct st_store *store, void *data, struct stet_error *err);

struct st_store {
	const struct st_root *root;
	/** Receives notices, and has the name of the state directory. */
	struct st_write_context *writes;
	/** Fills a new database, in its first transaction; may be NULL. */
	st_store_fn *import;
	/** Imports an event of stet 0.1.0, in a transaction; may be NULL. */
	int (*adopt)(struct st_store *store, void *data, const struct st_file_event *event,
	             struct stet_error *err);
	/** The argument of these two. */
	void *data;
	/** How long a transaction waits for other processes: five seconds, less in tests. */
	int wait_ms;
	/** Held during a transaction; protects everything below. */
	pthread_mutex_t lock;
	struct st_db *db;
	/** This process does little: st_db_leave_log(). */
	bool brief;
	/** The database file, to notice when another process replaces it. */
	dev_t dev;
	ino_t ino;
	/** The database is in memory. If that is a problem, `why` is a sentence for the user. */
	bool in_memory;
	/** It is in memory and empty because there is no state directory; the first write creates both. */
	bool blank;
	char why[600];
	/** Incremented when the database is opened: copies may be of another database. */
	int64_t opened;
	/** Incremented when copies in memory may be out of date: another process wrote, or a rollback. */
	int64_t generation;
	/** How many transactions were rolled back: copies may have data that is not stored. */
	int64_t rolled_back;
	/** SQLite's data_version, which changes when another process has written. */
	int64_t version;
	/** Counts the transactions of this process that wrote. */
	int64_t commits;
	/** The last number that st_store_next() returned, and for which generation that holds. */
	int64_t counter, counter_generation;
};

void st_store_init(struct st_store *store, const struct st_root *root,
                   struct st_write_context *writes);
void st_store_release(struct st_store *store);

/** A number that changes with each change of the store, by any process; 0 if there is nothing to read. */
int64_t st_store_changes(struct st_store *store);

/** Whether there is a state directory with a store, to which a write adds: writing makes none. */
bool st_store_is_made(struct st_store *store);

/** Whether there is anything to read: the store is open, or the disk has a file to open. */
bool st_store_exists(struct st_store *store);

enum st_store_mode {
	ST_STORE_READ,
	ST_STORE_WRITE,
	/** As ST_STORE_WRITE after a failure: wait only briefly for other processes; the next call tries again. */
	ST_STORE_RETRY,
};

/**
 * Run a function in a transaction. If the database turns out to be damaged, the
 * function runs a second time, on a new one.
 *
 * @return What the function returned; a negative code rolls back. Or
 *         STET_E_BUSY, STET_E_ACCESS, STET_E_NO_SPACE, STET_E_LIMIT,
 *         STET_E_NOMEM, STET_E_IO.
 */
[[nodiscard]] int st_store_do(struct st_store *store, enum st_store_mode mode, st_store_fn *fn,
                              void *data, struct stet_error *err);

/**
 * Check that the store outlives this process: 0, or STET_E_ACCESS and why not.
 * If the store was not used yet, check whether the state directory can be used.
 */
[[nodiscard]] int st_store_is_stored(struct st_store *store, struct stet_error *err);

/*
 * The functions below must be called within a transaction.
 */

/** Take the next number of the counter: larger than any stored as a file's change or the epoch. */
[[nodiscard]] int st_store_next(struct st_store *store, int64_t *number, struct stet_error *err);

/** A named number; 0 if it was never set. */
[[nodiscard]] int st_store_get(struct st_store *store, const char *name, int64_t *value,
                               struct stet_error *err);
[[nodiscard]] int st_store_set(struct st_store *store, const char *name, int64_t value,
                               struct stet_error *err);

/* ---- sessions ---- */

/**
 * Find the record of a named session.
 *
 * @make     Create it if there is none.
 * @id       Receives its number, 0 if there is none.
 * @version  Receives how often it was saved.
 */
[[nodiscard]] int st_store_session(struct st_store *store, const char *name, bool make, int64_t *id,
                                   int64_t *version, struct stet_error *err);

/** Increment the version of a session that is about to be saved. */
[[nodiscard]] int st_store_session_touch(struct st_store *store, int64_t id, int64_t *version,
                                         struct stet_error *err);

/** Store what a session saw of a file, or delete that. */
[[nodiscard]] int st_store_put_seen(struct st_store *store, int64_t session, const char *path,
                                    const struct st_seen *seen, struct stet_error *err);
[[nodiscard]] int st_store_drop_seen(struct st_store *store, int64_t session, const char *path,
                                     struct stet_error *err);

/** Delete all that a session saw. */
[[nodiscard]] int st_store_drop_session(struct st_store *store, int64_t session,
                                        struct stet_error *err);

/** Load what a session saw into an empty tracker. */
[[nodiscard]] int st_store_load_seen(struct st_store *store, int64_t session,
                                     struct st_tracker *tracker, struct stet_error *err);

/** Store the links that a session followed, replacing the stored ones. */
[[nodiscard]] int st_store_put_links(struct st_store *store, int64_t session,
                                     const struct st_links *links, struct stet_error *err);

[[nodiscard]] int st_store_load_links(struct st_store *store, int64_t session,
                                      struct st_links *links, struct stet_error *err);

/** Store which instructions a session has received, replacing what is stored. */
[[nodiscard]] int st_store_put_delivered(struct st_store *store, int64_t session,
                                         const struct st_delivered *delivered,
                                         struct stet_error *err);

/** Load them into an empty struct. */
[[nodiscard]] int st_store_load_delivered(struct st_store *store, int64_t session,
                                          struct st_delivered *delivered, struct stet_error *err);

/* ---- tracked files ---- */

/** A tracked file: part of the state of the work. */
struct st_tracked {
	/** Below the root, links resolved. */
	const char *path;
	/** The current version, and the one when the story began, which has no stamp. */
	struct st_version version, base;
	/** The version that a session last read or wrote, without a stamp. */
	struct st_version known;
	/** Another program changed it, and no session has read it since: it is not the known version. */
	bool external;
	/** The session that wrote the known version; NULL if none did. Borrowed. */
	const char *who;
	/** The number of its last change (st_store_next()). */
	int64_t changed;
};

/** A version that may or may not have existed; it equals no other. */
static inline struct st_version st_version_unknown(void) {
	struct st_version version = {.exists = true};
	memset(&version.hash, 0xff, sizeof version.hash);
	return version;
}

/**
 * A version of which only the size is known: a scan saw its stamp, and others changed
 * the file before anyone read it. The size is in the hash, which is what the store has.
 */
static inline struct st_version st_version_of_size(uint64_t size) {
	struct st_version version = {.exists = true};
	memset(version.hash.bytes, 0xfe, sizeof version.hash.bytes - sizeof size);
	memcpy(version.hash.bytes + sizeof version.hash.bytes - sizeof size, &size, sizeof size);
	return version;
}

/** Whether it is one, and of which size. */
static inline bool st_version_has_size_only(const struct st_version *version, uint64_t *size) {
	memcpy(size, version->hash.bytes + sizeof version->hash.bytes - sizeof *size, sizeof *size);
	const struct st_version same = st_version_of_size(*size);
	return version->exists && st_hash_eq(&same.hash, &version->hash);
}

/** Store a file, with the number of this change. */
[[nodiscard]] int st_store_put_file(struct st_store *store, const struct st_tracked *file,
                                    int64_t change, struct stet_error *err);

/** Call a function for each file stored after a change. The file is borrowed for the call. */
[[nodiscard]] int st_store_files_since(struct st_store *store, int64_t change,
                                       int (*each)(void *data, const struct st_tracked *file,
                                                   struct stet_error *err),
                                       void *data, struct stet_error *err);

/**
 * The baseline: the files that the story's scan found (core/state/baseline.h).
 * Get returns 1 with the stamp, and the hash if the scan read the file; 0 if the
 * scan did not find it; or a code.
 */
[[nodiscard]] int st_store_baseline_clear(struct st_store *store, struct stet_error *err);
[[nodiscard]] int st_store_baseline_add(struct st_store *store, const struct st_tracked *file,
                                        struct stet_error *err);
[[nodiscard]] int st_store_baseline_get(struct st_store *store, const char *path,
                                        struct st_version *version, struct stet_error *err);

/* ---- the story ---- */

/** The longest name of a story. */
enum { ST_STORY_BYTES_MAX = 200 };

/** Append the name of the current story; nothing if there is none. */
[[nodiscard]] int st_store_story(struct st_store *store, struct st_buf *name,
                                 struct stet_error *err);

/** Whether prompts of the current story use the snapshot: 1, 0, or -1 for the configured default. */
[[nodiscard]] int st_store_story_choice(struct st_store *store, int *use, struct stet_error *err);
[[nodiscard]] int st_store_story_choose(struct st_store *store, int use, struct stet_error *err);

/** End the current story, and begin another unless name is NULL. Its baseline is the current files. */
[[nodiscard]] int st_store_story_begin(struct st_store *store, const char *name,
                                       struct stet_error *err);

/* ---- tasks ---- */

enum {
	/** Limits: bytes of a description, unfinished tasks, all tasks. */
	ST_TASK_BYTES_MAX = 4096,
	ST_TASKS_OPEN_MAX = 1000,
	ST_TASKS_MAX = 10000,
};

/**
 * Add a task with its former number and priority. It gets another number if that one is
 * taken or 0; a priority of 0 puts it after all others.
 */
[[nodiscard]] int st_store_task_restore(struct st_store *store, int64_t wanted,
                                        struct st_str description, int64_t priority, int64_t *id,
                                        struct stet_error *err);

/**
 * Set the status and owner of a task (NULL for no owner).
 *
 * @return 0, STET_E_NOT_FOUND, STET_E_CONFLICT (another session works on it).
 */
[[nodiscard]] int st_store_task_set(struct st_store *store, int64_t id, enum st_task_status status,
                                    const char *owner, struct stet_error *err);

/** Whether a task is done: 0, STET_E_NOT_FOUND, or STET_E_CONFLICT (others work on it). */
[[nodiscard]] int st_store_task_is_done(struct st_store *store, int64_t id, struct stet_error *err);

/** Make a task that the owner works on free again. Returns as st_store_task_set(). */
[[nodiscard]] int st_store_task_release(struct st_store *store, int64_t id, const char *owner,
                                        struct stet_error *err);
[[nodiscard]] int st_store_task_prioritise(struct st_store *store, int64_t id, int64_t priority,
                                           struct stet_error *err);
[[nodiscard]] int st_store_task_remove(struct st_store *store, int64_t id, struct stet_error *err);

/**
 * Start the first pending task, in one statement, so that no two sessions get
 * the same one.
 *
 * @id     Receives its number, 0 if none is left.
 */
[[nodiscard]] int st_store_task_claim(struct st_store *store, const char *owner, int64_t *id,
                                      struct stet_error *err);

/**
 * Replace the list of unfinished tasks: mark the old ones, call want for each
 * new one in order, and sweep away the old ones that are not in the new list. A
 * task in both lists keeps its number and status.
 */
[[nodiscard]] int st_store_tasks_mark(struct st_store *store, struct stet_error *err);
[[nodiscard]] int st_store_task_want(struct st_store *store, struct st_str description,
                                     int64_t priority, struct stet_error *err);
[[nodiscard]] int st_store_tasks_sweep(struct st_store *store, struct stet_error *err);

/**
 * Make a session's own list of tasks, such as its agent's to-do list, part of
 * the tasks: call mark, then follow for each item in order, then sweep. Only
 * tasks that came from this session's list before are swept away; those of
 * others stay, and an item with the text of one of them sets its status.
 *
 * @source  The session, by name or label.
 */
[[nodiscard]] int st_store_tasks_follow_mark(struct st_store *store, const char *source,
                                             struct stet_error *err);
[[nodiscard]] int st_store_task_follow(struct st_store *store, const char *source,
                                       struct st_str description, enum st_task_status status,
                                       int64_t priority, struct stet_error *err);

/**
 * Change one task of a session's own list, which numbers its tasks: each was
 * added by st_store_task_follow() with its number as the priority.
 *
 * @status       An enum st_task_status; -1 to leave it.
 * @description  The new text; empty to leave it.
 */
[[nodiscard]] int st_store_task_follow_number(struct st_store *store, const char *source,
                                              int64_t number, int status, struct st_str description,
                                              struct stet_error *err);

/** Remove an unfinished task of such a list. */
[[nodiscard]] int st_store_task_drop_number(struct st_store *store, const char *source,
                                            int64_t number, struct stet_error *err);

/** Call a function for each task, by priority, then id. The task is borrowed for the call. */
[[nodiscard]] int st_store_tasks(struct st_store *store,
                                 int (*each)(void *data, const struct st_repo_task *task,
                                             struct stet_error *err),
                                 void *data, struct stet_error *err);

/* ---- the log of writes ---- */

/** How many writes the log keeps. */
enum { ST_LOG_MAX = 10000 };

/** A write in the log; its versions have no stamps. */
struct st_log_entry {
	int64_t id;
	struct st_file_event event;
	/** The entry that undid this one; 0 for none. */
	int64_t undone_by;
	/** The story in which it was made, by its time; NULL for none. Borrowed. */
	const char *story;
};

/** When the state last changed: the last write in the log, or "updated_at" if that is later. */
[[nodiscard]] int st_store_updated(struct st_store *store, int64_t *at, struct stet_error *err);

/** Add a write. */
[[nodiscard]] int st_store_log(struct st_store *store, const struct st_file_event *event,
                               struct stet_error *err);

/** Which writes to list, the newest first. */
struct st_log_query {
	/** Only those of a path, only those of a session; NULL for all. */
	const char *path, *session;
	/** Only writes that can be undone: neither undone nor an undo. */
	bool undoable;
	/** Only those with a lower number; 0 for all. */
	int64_t before;
	int64_t limit;
};

/** Call a function for each write, until it fails or returns 1. The entry is borrowed for the call. */
[[nodiscard]] int st_store_log_list(struct st_store *store, const struct st_log_query *query,
                                    int (*each)(void *data, const struct st_log_entry *entry,
                                                struct stet_error *err),
                                    void *data, struct stet_error *err);

/** Find the session that last wrote a version. Returns 1, 0 if none is known, or a code. */
[[nodiscard]] int st_store_writer(struct st_store *store, const struct st_hash *hash,
                                  char name[128], struct stet_error *err);

/* ---- conflicts ---- */

/** How many conflicts are kept. */
enum { ST_CONFLICTS_MAX = 1000 };

/** A conflict; all pointers are borrowed. */
struct st_conflict_entry {
	int64_t id, at;
	const char *path, *reason;
	/** NULL for none. */
	const char *session, *other, *diff;
	bool cut;
	/** The version that the session saw, and the one that was there. */
	struct st_version saw, found;
	/** The session's next write of the file; 0 for none yet. */
	int64_t settled_by;
};

/** Add the conflict of an event; settled_by is the write that it became, 0 if it was refused. */
[[nodiscard]] int st_store_conflict(struct st_store *store, const struct st_file_event *event,
                                    int64_t settled_by, struct stet_error *err);

/** A write of a session settles its refusals for this file. */
[[nodiscard]] int st_store_settle(struct st_store *store, const struct st_file_event *write,
                                  int64_t id, struct stet_error *err);

/** Which conflicts to list, the newest first. */
struct st_conflict_query {
	/** Only this one; 0 for all. */
	int64_t id;
	/** Only those with a lower number; 0 for all. */
	int64_t before;
	/** Only those that are not settled. */
	bool open;
	int64_t limit;
};

/** Call a function for each conflict, until it fails or returns 1. */
[[nodiscard]] int st_store_conflicts(struct st_store *store, const struct st_conflict_query *query,
                                     int (*each)(void *data, const struct st_conflict_entry *entry,
                                                 struct stet_error *err),
                                     void *data, struct stet_error *err);

/* ---- usage: the calls of sessions, and their tokens ---- */

/** How many rows of usage are kept, one for each session and tool. */
enum { ST_USAGE_MAX = 2000 };

/** The calls of one session and tool; all pointers are borrowed. */
struct st_usage_entry {
	const char *session, *tool;
	/** The file of the last call; NULL for none. */
	const char *path;
	int64_t calls, failures;
	/** Tokens of the answers, and how many of these were instructions (AGENTS.md). */
	int64_t tokens, instructions;
	/** When it was called last. */
	int64_t at;
};

/** Add to the counts of a session and tool. */
[[nodiscard]] int st_store_usage_add(struct st_store *store, const struct st_usage_entry *entry,
                                     struct stet_error *err);

/** Forget the oldest rows beyond ST_USAGE_MAX. */
[[nodiscard]] int st_store_usage_trim(struct st_store *store, struct stet_error *err);

/** Call a function for each row used since then, the newest first, until it fails or returns 1. */
[[nodiscard]] int st_store_usage_list(struct st_store *store, int64_t since,
                                      int (*each)(void *data, const struct st_usage_entry *entry,
                                                  struct stet_error *err),
                                      void *data, struct stet_error *err);

/** Call a function for each instruction file that a session was sent, until it fails or returns 1. */
[[nodiscard]] int st_store_instructions_of(struct st_store *store, const char *session,
                                           int (*each)(void *data, const char *path,
                                                       struct stet_error *err),
                                           void *data, struct stet_error *err);

/* ---- shared by store.c and store_open.c; they need the lock ---- */

/**
 * Open the database, creating it if it is missing. If it cannot be used, open
 * one in memory and add a notice.
 *
 * @return 0, STET_E_BUSY, STET_E_NO_SPACE, STET_E_LIMIT, STET_E_NOMEM, STET_E_IO.
 */
[[nodiscard]] int st_store_connect(struct st_store *store, struct stet_error *err);

/** Open an empty database in memory, for reading where there is no state directory. */
[[nodiscard]] int st_store_connect_blank(struct st_store *store, struct stet_error *err);

/** Close the database. */
void st_store_disconnect(struct st_store *store);

/** Whether the name still leads to the open file: another process may have removed or replaced it. */
bool st_store_is_in_place(const struct st_store *store);

/** Close a damaged database and rename it, unless another process has already done so. */
[[nodiscard]] int st_store_replace_damaged(struct st_store *store, struct stet_error *err);

/** Run a transaction on the open database, as st_store_do(). */
[[nodiscard]] int st_store_run(struct st_store *store, enum st_store_mode mode, st_store_fn *fn,
                               void *data, struct stet_error *err);

#endif
