/**
 * The state of the work: which files sessions read or wrote since the story
 * began, and how they differ from its beginning.
 *
 * The store has the truth; struct st_repo is a copy in memory, which every call
 * first brings up to date with what other processes stored. st_repo_get_status()
 * returns a status, for which it has just compared every file with the disk: by
 * its stamp, and if that differs, by its bytes.
 *
 *     st_auto(st_repo_status) status = {0};
 *     int code = st_repo_get_status(&st_state_of(ws)->repo, session, 0, &status, err);
 *     use(&status.state);
 */
#ifndef STET_CORE_STATE_REPO_TRACK_H
#define STET_CORE_STATE_REPO_TRACK_H

#include "base/arena.h"
#include "core/session/session.h"
#include "core/state/store.h"

/** The most tracked files. */
enum { ST_REPO_FILES_MAX = 200000 };

/** Used only within transactions of the store, whose lock protects it. */
struct st_repo {
	/** Borrowed. */
	struct stet_workspace *ws;
	struct st_store *store;
	/** Files by path: struct st_tracked, followed by its path. */
	struct st_lru files;
	/** The same files sorted by path, if `sorted` is set. */
	struct st_tracked **order;
	size_t order_cap;
	bool sorted;
	/** Which state of the store it is a copy of. */
	int64_t opened, generation, rolled_back, epoch, change;
	/** The names of sessions that st_tracked.who points to. */
	char **names;
	size_t name_count;
	/** It is full, and a notice has said so. */
	bool full;
};

void st_repo_init(struct st_repo *repo, struct stet_workspace *ws, struct st_store *store);
void st_repo_release(struct st_repo *repo);

/**
 * Apply a file event to the state, within a writing transaction. Takes constant
 * time, however many files there are.
 *
 * @return 1 if the state changed, 0 if not, or a negative code.
 */
[[nodiscard]] int st_repo_apply(struct st_repo *repo, const struct st_file_event *event,
                                struct stet_error *err);

/** Whether applying an event would change nothing: 1, 0, or a negative code. Within any transaction. */
[[nodiscard]] int st_repo_has(struct st_repo *repo, const struct st_file_event *event,
                              struct stet_error *err);

/**
 * As st_repo_apply(), for a directory that was moved or removed: rename or
 * delete each tracked file below it, without reading any. Returns 0 if no file
 * below it was ever tracked.
 */
[[nodiscard]] int st_repo_apply_dir(struct st_repo *repo, const struct st_file_event *event,
                                    struct stet_error *err);

/**
 * As st_repo_apply(), for a file that was renamed.
 *
 * @old    Its record under the old name.
 * @path   Its new name.
 * @stamp  Its stamp under the new name.
 */
[[nodiscard]] int st_repo_apply_move(struct st_repo *repo, const struct st_tracked *old,
                                     const char *path, const struct st_stamp *stamp,
                                     struct stet_error *err);

/** As st_repo_apply(), for a file that a scan found. */
[[nodiscard]] int st_repo_add_found(struct st_repo *repo, const char *path,
                                    const struct st_version *version, struct stet_error *err);

/** The state at one moment. */
struct st_repo_status {
	struct st_repo_state state;
	/** Owns everything in it. */
	struct st_arena arena;
	/** Why the state does not outlive this process; empty if it does. */
	char why[600];
	/** The files as they are stored, in the order of state.files. */
	struct st_tracked *files;
	/** The comparison with the disk stored a change. */
	bool changed;
};

void st_repo_status_release(struct st_repo_status *status);

enum st_repo_status_flags {
	/** As it is stored, without comparing with the disk. */
	ST_REPO_STORED = 1 << 0,
	/** Compare with the disk, but do not store what differs: for the background worker, which must not wait. */
	ST_REPO_UNSTORED = 1 << 1,
};

/**
 * Get the state.
 *
 * @session  Its reads decide which changes are `external`; may be NULL.
 * @status   Zeroed; receives the state, to be released.
 * @return   0, or the codes of st_store_do().
 */
[[nodiscard]] int st_repo_get_status(struct st_repo *repo, struct stet_session *session,
                                     unsigned flags, struct st_repo_status *status,
                                     struct stet_error *err);

/** Track every file of the tree that is not ignored. The first scan makes the story's baseline if it has none. */
[[nodiscard]] int st_repo_scan(struct st_repo *repo, struct stet_error *err);

/**
 * Search the tree for files that vanished, by inode, size, mtime and bytes, and
 * track them under their new names. Ignored directories are not searched, and of
 * a very large tree only the beginning.
 *
 * @lost   The records of the missing files; sorted in place.
 * @return 1 if any was found and stored, 0 if not, or STET_E_NOMEM.
 */
[[nodiscard]] int st_repo_find_moved(struct st_repo *repo, struct st_tracked *lost, size_t count,
                                     struct stet_error *err);

#endif
