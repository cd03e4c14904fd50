/**
 * The state of the work: which files were read or written since the story
 * began, and how they stand against its beginning.
 *
 * The truth is in the store; what is here is a copy of it in memory, brought
 * up to date by what others stored since. Whoever looks at it gets a *view*,
 * in which every file was compared with the disk a moment ago: by its stamp,
 * and where that differs, by its bytes.
 *
 *     st_auto(st_repo_status) view = {0};
 *     int code = st_repo_look(&st_state_of(ws)->repo, session, 0, &view, err);
 *     use(&view.state);
 */
#ifndef STET_CORE_STATE_REPO_TRACK_H
#define STET_CORE_STATE_REPO_TRACK_H

#include "base/arena.h"
#include "core/session/session.h"
#include "core/state/store.h"

/** The most files that are tracked. */
enum { ST_REPO_FILES_MAX = 200000 };

/** Used within transactions of the store only, whose lock guards it. */
struct st_repo {
	/** Borrowed. */
	struct stet_workspace *ws;
	struct st_store *store;
	/** Files by path: struct st_tracked with its path behind it. */
	struct st_lru files;
	/** The same in the order of their paths; rebuilt if it is not `sorted`. */
	struct st_tracked **order;
	size_t order_cap;
	bool sorted;
	/** Up to where it has followed the store. */
	int64_t opened, generation, taken_back, epoch, change;
	/** There were more files than are tracked, and it was said. */
	bool full;
};

void st_repo_init(struct st_repo *repo, struct stet_workspace *ws, struct st_store *store);
void st_repo_release(struct st_repo *repo);

/**
 * Within a writing transaction: take over what a call did. The time it takes
 * does not depend on how many files there are.
 *
 * @return 1 if the state is another one now, 0 if not, or a negative code.
 */
[[nodiscard]] int st_repo_note(struct st_repo *repo, const struct st_file_event *event,
                               struct stet_error *err);

/** Whether that would change nothing: 1, 0, or a negative code. Within any transaction. */
[[nodiscard]] int st_repo_knows(struct st_repo *repo, const struct st_file_event *event,
                                struct stet_error *err);

/**
 * The same for a directory that was moved or removed: each file below it that
 * is tracked has another name now, or is gone. Nothing is read. Returns 0 if no
 * file below it was ever tracked.
 */
[[nodiscard]] int st_repo_note_below(struct st_repo *repo, const struct st_file_event *event,
                                     struct stet_error *err);

/**
 * The same for a file that has another name now.
 *
 * @old    What was known of it.
 * @path   Where it is.
 * @stamp  Of what is there.
 */
[[nodiscard]] int st_repo_note_moved(struct st_repo *repo, const struct st_tracked *old,
                                     const char *path, const struct st_stamp *stamp,
                                     struct stet_error *err);

/**
 * The same for a file that nobody touched but that was found.
 *
 * @new    It was not there when the story began.
 */
[[nodiscard]] int st_repo_note_found(struct st_repo *repo, const char *path,
                                     const struct st_version *version, bool new,
                                     struct stet_error *err);

/** The state at a moment. */
struct st_repo_status {
	struct st_repo_state state;
	/** Everything in it. */
	struct st_arena arena;
	/** Why it is not kept beyond this process; empty if it is. */
	char why[600];
	/** The files as they are stored, in the order of state.files. */
	struct st_tracked *files;
};

void st_repo_status_release(struct st_repo_status *status);

enum st_repo_look_flags {
	/** As it is stored, without a look at the disk. */
	ST_REPO_STORED = 1 << 0,
};

/**
 * Look at the state.
 *
 * @session  Whose reads decide which changes are `external`; may be NULL.
 * @view     Zeroed; receives the state, to be released.
 * @return   0, or the codes of st_store_do().
 */
[[nodiscard]] int st_repo_look(struct st_repo *repo, struct stet_session *session, unsigned flags,
                               struct st_repo_status *status, struct stet_error *err);

/** Track every file of the tree that is not ignored. What came since the last scan of the story is created. */
[[nodiscard]] int st_repo_scan(struct st_repo *repo, struct stet_error *err);

/**
 * Look for files that vanished under other names, by what stat and their bytes
 * say, and track those that are found there. Ignored directories are not
 * searched, and of a very large tree only the beginning.
 *
 * @lost   What was known of them; sorted in place.
 * @return 1 if any was found and stored, 0 if not, or STET_E_NOMEM.
 */
[[nodiscard]] int st_repo_find_moved(struct st_repo *repo, struct st_tracked *lost, size_t count,
                                     struct stet_error *err);

#endif
