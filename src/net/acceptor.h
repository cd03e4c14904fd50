/**
 * The acceptor: accepts connections, so that clients without a valid token
 * cannot lock out those that have one.
 *
 * A connection is untrusted until a request on it has a valid token. Untrusted
 * connections may use half of the slots; then a new connection replaces the
 * oldest of them. They have ten seconds for a first request. When descriptors
 * run out, the acceptor closes an untrusted connection; if there is none, it
 * pauses until the next tick instead of failing again and again.
 */
#ifndef STET_NET_ACCEPTOR_H
#define STET_NET_ACCEPTOR_H

#include "net/connection.h"

struct st_acceptor_options {
	/** The most connections. */
	size_t max_connections;
	/** Time limits in seconds: for an idle connection, and for the arrival of a request. */
	int64_t connection_idle, request_time;
	/** A Unix socket: only this user and root may connect. */
	bool checks_user;
};

struct st_acceptor;

/**
 * Make an acceptor for a listening socket. The socket and the rules must outlive
 * it.
 *
 * @return 0 or STET_E_NOMEM.
 */
[[nodiscard]] int st_acceptor_new(int fd, const struct st_acceptor_options *options,
                                  const struct st_connection_rules *rules, struct st_acceptor **out,
                                  struct stet_error *err);

/** Apply time limits and free closed connections; to be called several times a second. */
void st_acceptor_tick(struct st_acceptor *acceptor);

/** Accept no more connections. */
void st_acceptor_stop(struct st_acceptor *acceptor);

/** The number of connections. */
size_t st_acceptor_count(const struct st_acceptor *acceptor);

/** Whether all answers were sent. */
bool st_acceptor_is_flushed(const struct st_acceptor *acceptor);

/** Free the acceptor and its connections, calling `gone` of their requests. */
void st_acceptor_free(struct st_acceptor *acceptor);

#endif
