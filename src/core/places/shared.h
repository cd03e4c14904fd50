/**
 * Shared tasks: brings the tasks of a workspace and those of its hub together. Only
 * the thread of the uplink uses it.
 *
 * After each connect all tasks of the hub are received, and what it has forgotten is
 * sent again: it may have been restored from a backup.
 */
#ifndef STET_CORE_PLACES_SHARED_H
#define STET_CORE_PLACES_SHARED_H

#include "core/state/state.h"
#include "hub/tasks.h"

/** How long a claim holds after its owner's last call. */
enum { ST_CLAIM_MS = 10 * 60 * 1000 };

struct st_shared {
	struct stet_workspace *ws;
	/** Up to where tasks were received; 0 after a connect. */
	int64_t since;
	/** How far back finished tasks are received since the last connect. */
	int64_t past_ns;
};

/** Send what was changed here, and receive what others changed. Returns 0 or a code. */
[[nodiscard]] int st_shared_sync(struct st_shared *shared, struct st_hub *hub,
                                 struct stet_error *err);

/**
 * Fulfil what a call wants beyond st_shared_sync().
 *
 * @return 0, 1 (the task is not shared), STET_E_CONFLICT (it is not free), or the
 *         codes of the hub and the store.
 */
[[nodiscard]] int st_shared_fulfil(struct st_shared *shared, struct st_hub *hub,
                                   struct st_task_request *request, struct stet_error *err);

#endif
