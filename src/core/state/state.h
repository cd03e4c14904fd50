/**
 * The state of a workspace: what outlives its sessions and processes.
 *
 * Workspaces and sessions know nothing of it but struct st_state_hooks
 * (core/workspace/workspace.h), which stet_workspace_open() (core/open.c) fills in.
 */
#ifndef STET_CORE_STATE_STATE_H
#define STET_CORE_STATE_STATE_H

#include "core/state/repo_json.h"
#include "core/session/session.h"

struct st_state {
	struct st_store store;
	struct st_repo repo;
	struct st_repo_export repo_export;
};

static inline struct st_state *st_state_of(const struct stet_workspace *ws) {
	return ws->hooks.data;
}

/** Fill in all hooks, and how the store takes over what stet 0.1.0 left. */
void st_state_connect(struct st_state *state, struct stet_workspace *ws);

/** Store what a session did and saw now, in the middle of a call. Returns as st_store_do(). */
[[nodiscard]] int st_state_save(struct stet_session *session, struct stet_error *err);

/**
 * The same, before the state is listed: if the disk is full or another process
 * holds the database, a notice says what is missing.
 */
[[nodiscard]] int st_state_save_or_say(struct stet_session *session, struct stet_error *err);

#endif
