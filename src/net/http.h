/**
 * src/net connects the protocol of src/mcp with the outside: stdio, HTTP, threads
 * for tool calls. It knows sockets and libevent, but no tools and no files.
 *
 * The HTTP server: listening, limits, access control and routing.
 *
 *     /mcp       the MCP endpoint (net/endpoint.h)
 *     /healthz   "ok", for monitoring
 *     /metrics   Prometheus text (net/metrics.h)
 *     /, /api/   the page, if it is served (net/web.h)
 *
 * All paths except /healthz and the page's static files need a token, unless the gate is open. All functions
 * must be called on the loop's thread.
 */
#ifndef STET_NET_HTTP_H
#define STET_NET_HTTP_H

#include "mcp/protocol/peer.h"
#include "net/access_log.h"
#include "net/gate.h"
#include "net/metrics.h"
#include "net/pool.h"

struct st_http;

struct st_http_options {
	/** The address; see st_listen_resolve(). */
	const char *listen;
	/** Access control; must outlive the server, which sets `loopback`, and `open` for a Unix socket. */
	struct st_gate *gate;
	/** The token file to name in the answer to a request without a token; may be NULL. */
	const char *token_file;
	/** The certificate; NULL to do without TLS. It must outlive the server. */
	struct st_tls *tls;
	/** Other machines may connect without TLS. */
	bool insecure;
	/** Receives a line for each answer; must outlive the server; may be NULL. */
	struct st_access_log *access_log;
	/** Called with a sentence if the access log fails; may be NULL. */
	void (*notice)(void *arg, const char *message);
	/** Counts the answers; must outlive the server. */
	struct st_metrics *metrics;
	/** Serve the page of these workspaces; NULL for no page. */
	struct stet_host *page;
	/** With a page: clients may undo. Without MCP: /mcp does not exist. */
	bool allow_undo, no_mcp;
	/** Appends further metrics; may be NULL. */
	void (*more_metrics)(void *arg, struct st_buf *out);
	void *arg;
	/** Limits; 0 for the defaults. */
	size_t max_body, max_connections, max_sessions;
	/** Time limits in seconds: idle session, idle connection, arrival of a request; 0 for the defaults. */
	int64_t session_idle, connection_idle, request_time;
};

/**
 * Make a server that listens.
 *
 * @pool    Runs the tool calls. The HTTP server calls st_pool_tick().
 * @server  Handles the messages; its executor uses the same pool (net/pool.h).
 * @return  0; STET_E_INVALID (invalid address; no token; or other machines can
 *          reach it, and the gate is open or there is no TLS), STET_E_EXISTS, STET_E_ACCESS,
 *          STET_E_IO, STET_E_NOMEM.
 */
[[nodiscard]] int st_http_new(struct st_loop *loop, struct st_pool *pool,
                              struct st_mcp_server *server, const struct st_http_options *options,
                              struct st_http **out, struct stet_error *err);

/** The URL: "http://127.0.0.1:8080/mcp", "https://...", or "unix:/path". */
const char *st_http_url(const struct st_http *http);

/** End the sessions whose token the gate no longer accepts. */
void st_http_revoke(struct st_http *http);

/**
 * Shut down: accept no more connections and requests, wait at most grace_s
 * seconds for running requests, then end sessions and subscriptions.
 *
 * @ended  Called when all is done; st_http_free() is then allowed.
 */
void st_http_end(struct st_http *http, int64_t grace_s, void (*ended)(void *arg), void *arg);

void st_http_free(struct st_http *http);

#endif
