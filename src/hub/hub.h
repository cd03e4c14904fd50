/**
 * src/hub is the client of a hub: a PostgreSQL database in which several machines
 * tell each other what agents change. It knows SQL and no files; core/places
 * decides what is sent and what received events mean.
 *
 * The place that an event belongs to numbers its own events, and the hub stores
 * each number once, so that sending again is harmless. Each repository counts its
 * events without gaps, in the order in which they become visible: a reader that
 * asks for "after N" misses none.
 *
 * A hub can forget: a backup was restored, or a late standby took over. So a
 * writer asks after each connect which of its numbers the hub has, and a reader
 * checks that its last event still has the same mark.
 *
 * Other machines wrote the rows of a hub. So they are untrusted data, which the
 * caller checks.
 */
#ifndef STET_HUB_HUB_H
#define STET_HUB_HUB_H

#include "hub/pq.h"

struct st_hub;

/** The most events that are sent or received at once. */
enum { ST_HUB_BATCH = 500 };

/** An event, with texts in the form of the registry. Views are borrowed. */
struct st_hub_event {
	int64_t number;
	/** Nanoseconds between the event and now. */
	int64_t age_ns;
	struct st_str agent, path, moved_from, ranges;
	/** Hashes: 32 bytes, or empty if the file did not exist. */
	struct st_str before, after, base;
	bool based;
};

/** A place as the hub has it. Texts are borrowed for a call. */
struct st_hub_place {
	int64_t id;
	struct st_str machine, path, branch, head;
	int64_t age_ns;
};

/** Up to where a reader has read: the last event and its mark; zeros for none. */
struct st_hub_position {
	int64_t seq, mark;
};

/** Refuse a connection string with a password in it. Returns 0 or STET_E_INVALID. */
[[nodiscard]] int st_hub_check(const char *conninfo, struct stet_error *err);

/**
 * Connect, create or update the tables, and join as a place of a repository.
 *
 * @conninfo  Any connection string of libpq.
 * @stop      A descriptor that is readable when the caller wants to end.
 * @key       The repository, the same on all machines.
 * @return    0; the codes of st_pq_open() and st_pq_query(); STET_E_ACCESS (a
 *            newer stet made the tables, or they are not stet's).
 */
[[nodiscard]] int st_hub_open(const char *conninfo, int stop, const char *key,
                              const struct st_hub_place *own, struct st_hub **out,
                              struct stet_error *err);

/** Disconnect; NULL is fine. */
void st_hub_close(struct st_hub *hub);

/** The last number of this place that the hub has; 0 for none. */
[[nodiscard]] int st_hub_last(struct st_hub *hub, int64_t *number, struct stet_error *err);

/**
 * Send events of this place, by ascending number, ST_HUB_BATCH at most. The hub
 * drops those that it has.
 */
[[nodiscard]] int st_hub_send(struct st_hub *hub, const struct st_hub_event *events, size_t count,
                              struct stet_error *err);

/** Say where this place stands and who was active, each with how long ago. */
[[nodiscard]] int st_hub_touch(struct st_hub *hub, const struct st_hub_place *own,
                               const struct st_str *agents, const int64_t *ages_ns, size_t count,
                               struct stet_error *err);

/**
 * Receive the next events of other machines, ST_HUB_BATCH at most.
 *
 * @position  From where on; moved to the last event that was received. If the hub
 *            has forgotten it, reading starts again from the first event.
 * @each      Called with the id of the event's place; returns 0 or a code.
 * @return    The number of events that were looked at, 0 at the end, or a code.
 */
typedef int st_hub_event_fn(void *data, int64_t place, const struct st_hub_event *event,
                            struct stet_error *err);
[[nodiscard]] int st_hub_receive(struct st_hub *hub, struct st_hub_position *position,
                                 st_hub_event_fn *each, void *data, struct stet_error *err);

/** Call a function for each place of other machines that was active in the last 30 days. */
typedef int st_hub_place_fn(void *data, const struct st_hub_place *place, struct stet_error *err);
[[nodiscard]] int st_hub_places(struct st_hub *hub, st_hub_place_fn *each, void *data,
                                struct stet_error *err);

/** Call a function for each agent of a place, the one active last first. */
typedef int st_hub_agent_fn(void *data, struct st_str label, int64_t age_ns,
                            struct stet_error *err);
[[nodiscard]] int st_hub_agents(struct st_hub *hub, int64_t place, st_hub_agent_fn *each,
                                void *data, struct stet_error *err);

/** A descriptor that is readable when other machines have sent something, or the connection is lost. */
int st_hub_fd(const struct st_hub *hub);

/** Drop what made it readable. Returns as st_pq_drain(); call it before waiting, too. */
[[nodiscard]] int st_hub_drain(struct st_hub *hub, struct stet_error *err);

#endif
