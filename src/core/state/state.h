/**
 * core/state keeps what outlives a session and its process: the database
 * (db, store), the state of the work (repo_*), saved sessions (saving), undo.
 *
 * Workspaces and sessions reach it only through struct st_state_hooks
 * (core/workspace/workspace.h), which stet_workspace_open() (core/open.c) sets.
 */
#ifndef STET_CORE_STATE_STATE_H
#define STET_CORE_STATE_STATE_H

#include "core/state/repo_json.h"
#include "core/state/usage.h"
#include "core/session/session.h"

/** The wish of a call about tasks. */
enum st_task_wish {
	/** To have seen the tasks of others once. */
	ST_TASKS_SEEN,
	/** To have sent what was changed here, and received what others changed. */
	ST_TASKS_SENT,
	/** To claim a task, or the first one that is free. */
	ST_TASKS_CLAIMED,
	/** A number for a new task that is the same in all places. */
	ST_TASKS_NUMBERED,
};

struct st_task_request {
	enum st_task_wish wish;
	/** Who claims. */
	const char *owner;
	/** The task to claim, 0 for any. Receives its number; 0 if none is free. */
	int64_t task;
};

/** Whom the state tells of sessions, after their transactions; core/open.c sets it. */
struct st_state_observer {
	void *data;
	/** The session's events are stored now, and still listed in it. */
	void (*stored)(void *data, const struct stet_session *session);
	/** A call on the session ended. */
	void (*called)(void *data, const struct stet_session *session);
	/**
	 * Ask the hub, for two seconds at most. Returns 0, 1 without a hub, STET_E_NOT_FOUND
	 * (the hub cannot be reached, and why), STET_E_BUSY (it has not answered in time),
	 * STET_E_CONFLICT (others have the task), STET_E_CANCELLED, STET_E_NOMEM.
	 */
	int (*tasks)(void *data, struct st_task_request *request, struct stet_error *err);
};

struct st_state {
	struct st_store store;
	struct st_repo repo;
	struct st_repo_export repo_export;
	struct st_usage usage;
	struct st_state_observer observer;
};

static inline struct st_state *st_state_of(const struct stet_workspace *ws) {
	return ws->hooks.data;
}

/** Set the workspace's hooks and the store's import functions. */
void st_state_connect(struct st_state *state, struct stet_workspace *ws);

/** Store a session now, in the middle of a call. Returns as st_store_do(). */
[[nodiscard]] int st_state_save(struct stet_session *session, struct stet_error *err);

/**
 * The same before the state is listed: if the disk is full or another process
 * locks the database, it adds a notice and returns 0.
 */
[[nodiscard]] int st_state_save_or_notice(struct stet_session *session, struct stet_error *err);

/**
 * Read the state of the work to show it to a session: after storing the session's own
 * events and, if there is a hub, receiving the tasks of other places. `scan` adds every
 * file that is not ignored.
 */
[[nodiscard]] int st_state_read(struct stet_session *session, bool scan,
                                struct st_repo_status *status, struct stet_error *err);

/**
 * Wait until the tasks of other places were received once, before tasks are listed: a
 * short command has not heard of them yet. Only a cancelled call fails.
 */
[[nodiscard]] int st_state_see_tasks(struct stet_workspace *ws, struct stet_error *err);

#endif
