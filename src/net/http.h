/**
 * The HTTP server: listening, connections, limits, and who is asked for what.
 *
 *     /mcp       the MCP endpoint (net/endpoint.h)
 *     /healthz   "ok", for whoever watches the process
 *     /metrics   Prometheus text (net/metrics.h)
 *
 * Everything but /healthz needs a token, unless the gate is open. Everything is
 * called from the loop's thread.
 */
#ifndef STET_NET_HTTP_H
#define STET_NET_HTTP_H

#include "mcp/protocol/peer.h"
#include "net/gate.h"
#include "net/metrics.h"
#include "net/pool.h"

struct st_http;

struct st_http_options {
	/** Where; see st_listen_resolve(). */
	const char *listen;
	/** Who may come in; lives longer. Its `loopback` is set by listening, and `open` at a Unix socket. */
	struct st_gate *gate;
	/** What a caller without a token is told to look at; NULL for nothing. Lives longer. */
	const char *token_file;
	/** Counts what it answers; lives longer. */
	struct st_metrics *metrics;
	/** Appends further metrics; may be NULL. */
	void (*more_metrics)(void *arg, struct st_buf *out);
	void *arg;
	/** Limits; 0 for the usual. */
	size_t max_body, max_connections, max_sessions;
	/** In seconds: a session nobody uses, a connection nobody uses, a request that does not come to its end. */
	int64_t session_idle, connection_idle, request_time;
};

/**
 * Listen and serve.
 *
 * @server  Whom the messages are for; its executor is the same pool (net/executor.h).
 * @pool    Where its work is done; looked after by this.
 * @return  0; STET_E_INVALID (the address is none; there is no token; the
 *          gate is open and other machines can reach it), STET_E_EXISTS,
 *          STET_E_ACCESS, STET_E_IO, STET_E_NOMEM.
 */
[[nodiscard]] int st_http_new(struct st_loop *loop, struct st_pool *pool,
                              struct st_mcp_server *server, const struct st_http_options *options,
                              struct st_http **out, struct stet_error *err);

/** Where it can be reached: "http://127.0.0.1:8080/mcp", or "unix:/path". */
const char *st_http_url(const struct st_http *http);

/** End the sessions of callers whose tokens the gate does not accept any more. */
void st_http_revoke(struct st_http *http);

/**
 * Come to an end: no new connections and requests; what is going on is
 * finished, for so many seconds, then sessions and subscriptions end.
 *
 * @ended  Called when nothing is left to do; st_http_free() is then allowed.
 */
void st_http_end(struct st_http *http, int64_t grace_s, void (*ended)(void *arg), void *arg);

void st_http_free(struct st_http *http);

#endif
