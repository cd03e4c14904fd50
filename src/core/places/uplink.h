/**
 * The uplink of a workspace's places: sends what agents change here to a hub, and
 * stores what agents change on other machines in the registry.
 *
 * It has a thread of its own, which starts with the first event and is the only
 * one that waits for the network. Events are in the registry first; this process, or
 * another one of the same checkout, sends later what it cannot send now. A
 * hub that cannot be used is one notice, and then silence until it can be.
 */
#ifndef STET_CORE_PLACES_UPLINK_H
#define STET_CORE_PLACES_UPLINK_H

#include "core/places/places.h"
#include "core/state/state.h"

struct st_uplink;

/**
 * Make an uplink, which does not connect yet.
 *
 * @conninfo  Any connection string of libpq.
 * @return    0, STET_E_NOMEM or STET_E_IO.
 */
[[nodiscard]] int st_uplink_new(struct st_places *places, const char *conninfo,
                                struct st_uplink **out, struct stet_error *err);

/** Something was stored in the registry: send it soon. Thread-safe; NULL is fine. */
void st_uplink_wake(struct st_uplink *uplink);

/** Wait until everything was sent and received once, or that failed; ms at most. NULL is fine. */
void st_uplink_await_first(struct st_uplink *uplink, int64_t ms);

/**
 * Ask the hub about tasks. If it was away, it is tried again at once.
 *
 * @return 0, 1 (the task is not shared), STET_E_NOT_FOUND (the hub cannot be reached,
 *         and why), STET_E_BUSY (it has not answered in time), STET_E_CONFLICT,
 *         STET_E_CANCELLED, STET_E_NOMEM.
 */
[[nodiscard]] int st_uplink_ask(struct st_uplink *uplink, struct st_task_request *request,
                                int64_t ms, struct stet_error *err);

/** End the thread, also if it waits for the network, and free. NULL is fine. */
void st_uplink_free(struct st_uplink *uplink);

#endif
