/**
 * The MCP endpoint: turns HTTP requests into messages and answers into responses,
 * for legacy and modern clients.
 *
 * Modern requests are independent; each owner of a token has one peer for them.
 * A legacy client begins a session with `initialize`. A session has its own
 * peer, an id in the header `Mcp-Session-Id`, and a stream (GET) for messages
 * that belong to no request. It ends with DELETE, or when it has been idle too
 * long.
 *
 * All functions must be called on the loop's thread.
 */
#ifndef STET_NET_ENDPOINT_H
#define STET_NET_ENDPOINT_H

#include "mcp/protocol/peer.h"
#include "net/stream.h"

struct st_endpoint;

/** The numbers of open requests, sessions and streams. */
struct st_endpoint_load {
	/** Unanswered requests, without and with a subscription. */
	size_t requests, listening;
	size_t sessions, streams;
};

/**
 * Make an endpoint.
 *
 * @server          Handles the messages.
 * @sessions_max    The most sessions.
 * @session_idle_s  The seconds after which an idle session ends.
 * @return          0 or STET_E_NOMEM.
 */
[[nodiscard]] int st_endpoint_new(struct st_loop *loop, struct st_mcp_server *server,
                                  size_t sessions_max, int64_t session_idle_s,
                                  struct st_endpoint **out, struct stet_error *err);

/** Free an endpoint that is closed and has no open requests. */
void st_endpoint_free(struct st_endpoint *endpoint);

/** Check the head of a request. True to read its body; false if the request was answered. */
bool st_endpoint_check_head(struct st_endpoint *endpoint, struct st_request *request);

/** Handle a request whose head was accepted. */
void st_endpoint_handle(struct st_endpoint *endpoint, struct st_request *request);

/** End the sessions and drop the requests of whose token the gate no longer accepts. */
void st_endpoint_revoke(struct st_endpoint *endpoint, const struct st_gate *gate);

/** Keep streams alive and end idle sessions; to be called once a second. */
void st_endpoint_tick(struct st_endpoint *endpoint);

/** End all sessions and subscriptions, and cancel open requests. */
void st_endpoint_close(struct st_endpoint *endpoint);

struct st_endpoint_load st_endpoint_load(const struct st_endpoint *endpoint);

#endif
