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

/** Whom the state tells of sessions, after their transactions; core/open.c sets it. */
struct st_state_observer {
	void *data;
	/** The session's events are stored now, and still listed in it. */
	void (*stored)(void *data, const struct stet_session *session);
	/** A call on the session ended. */
	void (*called)(void *data, const struct stet_session *session);
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

#endif
