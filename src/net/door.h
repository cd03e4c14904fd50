/**
 * The door: accepts connections, and sees to it that strangers do not keep
 * others out.
 *
 * A connection is a stranger's until a request on it was accepted. Strangers
 * have at most half of the places; beyond that the oldest of them has to go.
 * They have ten seconds to say who they are. Where descriptors run out, a
 * stranger goes too; if there is none, accepting rests until the next tick
 * instead of failing over and over.
 */
#ifndef STET_NET_DOOR_H
#define STET_NET_DOOR_H

#include "net/connection.h"

struct st_door_options {
	/** How many connections there may be. */
	size_t max_connections;
	/** In seconds: a connection nobody uses, a request that does not come to its end. */
	int64_t connection_idle, request_time;
	/** A Unix socket: only this user and root may come in. */
	bool checks_user;
};

struct st_door;

/**
 * Accept connections at a listening socket, which lives longer.
 *
 * @rules  Live longer.
 * @return 0 or STET_E_NOMEM.
 */
[[nodiscard]] int st_door_new(int fd, const struct st_door_options *options,
                              const struct st_connection_rules *rules, struct st_door **out,
                              struct stet_error *err);

/** To be called several times a second: time-outs, and what was closed. */
void st_door_tend(struct st_door *door);

/** Accept no more. */
void st_door_shut(struct st_door *door);

/** How many connections there are. */
size_t st_door_count(const struct st_door *door);

/** Whether every answer was sent. */
bool st_door_is_flushed(const struct st_door *door);

/** Free it with its connections; whoever holds a request is told. */
void st_door_free(struct st_door *door);

#endif
