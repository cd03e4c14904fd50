/**
 * The registry and a hub: which events of this checkout are still to be sent, and
 * where the checkouts and events of other machines are stored.
 *
 * These functions check everything that a hub sends. They store only paths
 * below a root, hashes, line numbers and short texts.
 */
#ifndef STET_CORE_PLACES_REGISTRY_REMOTE_H
#define STET_CORE_PLACES_REGISTRY_REMOTE_H

#include "core/places/registry.h"
#include "hub/hub.h"

/** The number of the last event of this checkout. */
[[nodiscard]] int st_registry_own_number(struct st_registry *registry, int64_t *number,
                                         struct stet_error *err);

/** Add to the numbers of all events of this checkout, and to the next one. */
[[nodiscard]] int st_registry_renumber(struct st_registry *registry, int64_t add,
                                       struct stet_error *err);

/** Call a function for the next events of this checkout, by number, ST_HUB_BATCH at most. */
typedef int st_registry_unsent_fn(void *data, const struct st_hub_event *event,
                                  struct stet_error *err);
[[nodiscard]] int st_registry_unsent(struct st_registry *registry, int64_t after, int64_t now,
                                     st_registry_unsent_fn *each, void *data,
                                     struct stet_error *err);

/** Register the checkout of another machine. `id` receives its number here; 0 if it is refused. */
[[nodiscard]] int st_registry_put_place(struct st_registry *registry,
                                        const struct st_hub_place *place, int64_t now, int64_t *id,
                                        struct stet_error *err);

/** Note that an agent was active in a checkout of another machine. */
[[nodiscard]] int st_registry_put_agent(struct st_registry *registry, int64_t place,
                                        struct st_str label, int64_t seen, struct stet_error *err);

/** Store an event of another machine, unless it is known or refused. */
[[nodiscard]] int st_registry_put_event(struct st_registry *registry, int64_t place,
                                        const struct st_hub_event *event, int64_t now,
                                        struct stet_error *err);

/** Up to where the events of the hub were received. */
[[nodiscard]] int st_registry_position(struct st_registry *registry,
                                       struct st_hub_position *position, struct stet_error *err);
[[nodiscard]] int st_registry_set_position(struct st_registry *registry,
                                           const struct st_hub_position *position,
                                           struct stet_error *err);

#endif
