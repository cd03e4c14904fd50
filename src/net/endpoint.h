/**
 * The MCP endpoint: HTTP requests to messages and back, for both eras.
 *
 * Modern requests stand alone and go to one peer per caller. Legacy ones
 * belong to a session, which `initialize` begins: it has a peer of its own, an
 * id that travels in `Mcp-Session-Id`, and a stream (GET) for what belongs to
 * no request. A session ends with DELETE or when nobody used it for long.
 *
 * Everything is called from the loop's thread.
 */
#ifndef STET_NET_ENDPOINT_H
#define STET_NET_ENDPOINT_H

#include "mcp/protocol/peer.h"
#include "net/stream.h"

struct st_endpoint;

/** What it has open. */
struct st_endpoint_load {
	/** Requests that are not answered yet, those that listen apart. */
	size_t requests, listening;
	size_t sessions, streams;
};

/**
 * An endpoint.
 *
 * @server          Whose messages these are.
 * @sessions_max    How many sessions there may be.
 * @session_idle_s  After how long an unused session ends.
 * @return          0 or STET_E_NOMEM.
 */
[[nodiscard]] int st_endpoint_new(struct st_loop *loop, struct st_mcp_server *server,
                                  size_t sessions_max, int64_t session_idle_s,
                                  struct st_endpoint **out, struct stet_error *err);

/** Free an endpoint that was closed and has become idle. */
void st_endpoint_free(struct st_endpoint *endpoint);

/** Whether a request, of which only the head has come, is worth its body; else it was answered. */
bool st_endpoint_judge(struct st_endpoint *endpoint, struct st_request *request);

/** Take over a request that was judged, by its method. */
void st_endpoint_handle(struct st_endpoint *endpoint, struct st_request *request);

/** End the sessions and drop the requests of callers that the gate does not know any more. */
void st_endpoint_revoke(struct st_endpoint *endpoint, const struct st_gate *gate);

/** Once a second: keep streams alive, end sessions that nobody uses. */
void st_endpoint_tend(struct st_endpoint *endpoint);

/** End all sessions and subscriptions; what was going on is cancelled. */
void st_endpoint_close(struct st_endpoint *endpoint);

struct st_endpoint_load st_endpoint_load(const struct st_endpoint *endpoint);

#endif
