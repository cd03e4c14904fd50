/**
 * src/mcp/protocol implements the Model Context Protocol without a socket:
 * messages in, messages out. It knows JSON-RPC, versions, sessions and
 * subscriptions, but no tools and no files.
 *
 * A *server* offers one service (mcp/protocol/service.h) to its peers. A *peer*
 * is a stdio connection, a legacy HTTP session, or the stateless modern requests
 * of one HTTP client. Each incoming message has a *sink*, which receives its
 * answer, progress, log messages, and the events of its subscription. Messages
 * that belong to no request (legacy notifications) go to the peer's own sink.
 *
 *     struct st_mcp_peer *peer = NULL;
 *     if (st_mcp_peer_new(server, ST_MCP_STDIO, NULL, &events, &peer, err) < 0)
 *             return 1;
 *     st_mcp_receive(peer, line, &sink);   // calls sink, now or later
 *     st_mcp_peer_close(peer);
 *
 * All functions may be called from any thread, but not from the functions of a
 * sink.
 */
#ifndef STET_MCP_PROTOCOL_PEER_H
#define STET_MCP_PROTOCOL_PEER_H

#include <stdint.h>

#include "mcp/protocol/message.h"

struct st_mcp_service;
struct st_mcp_server;
struct st_mcp_peer;

/**
 * Receives the messages that belong to one incoming message; to be embedded in a
 * struct.
 *
 * The functions are called from any thread, one at a time, before
 * st_mcp_dispatch() returns or long after. They must not block, and must not
 * call the functions of this header. A message is JSON without a line end; the
 * callee may take the buffer's memory with st_buf_move().
 */
struct st_mcp_sink {
	/** Called for a notification, or a request to the client. */
	void (*event)(struct st_mcp_sink *sink, struct st_buf *message);
	/**
	 * Called for the answer, at most once; no event follows.
	 *
	 * @status  The HTTP status: 200, 400 (invalid message), 404 (unknown
	 *          method), 500. The failure of a tool is a 200.
	 */
	void (*answer)(struct st_mcp_sink *sink, struct st_buf *message, int status);
	/**
	 * Called last: the sink may be freed. If there was no answer, the message
	 * needed none (HTTP: 202) or was cancelled. Never called for a peer's own
	 * sink.
	 */
	void (*done)(struct st_mcp_sink *sink);
};

/** A task to run once. It frees itself. */
struct st_mcp_task {
	/**
	 * Tasks with a common key run one after the other, in order. The first key
	 * is the session, the second the file; 0 if unused.
	 */
	uint64_t keys[2];
	void (*run)(struct st_mcp_task *task);
};

/** Runs tasks; to be embedded in a struct. */
struct st_mcp_executor {
	/**
	 * Run a task later, on any thread. False if that is not possible: the
	 * request then fails. NULL to run tasks at once, on the receiving thread.
	 */
	bool (*submit)(struct st_mcp_executor *executor, struct st_mcp_task *task);
	/**
	 * Called now and then by long tasks: receives further messages, such as a
	 * cancellation, if tasks run on the receiving thread. May be NULL.
	 */
	void (*poll)(struct st_mcp_executor *executor);
};

/**
 * Make a server.
 *
 * @service   The service to offer; it must outlive the server.
 * @executor  NULL to run all tasks at once, on the receiving thread.
 * @return    0, STET_E_NOMEM or STET_E_IO (no random bytes).
 */
[[nodiscard]] int st_mcp_server_new(struct st_mcp_service *service,
                                    struct st_mcp_executor *executor, struct st_mcp_server **out,
                                    struct stet_error *err);

/** Free a server, after all peers are closed and their sinks done; NULL is fine. */
void st_mcp_server_free(struct st_mcp_server *server);

/** The kinds of peers. */
enum st_mcp_peer_kind {
	/** A connection with one session, for legacy and modern requests. */
	ST_MCP_STDIO,
	/** A legacy session over HTTP, begun with `initialize`. */
	ST_MCP_SESSION,
	/** Modern requests over HTTP. Their ids are not unique. */
	ST_MCP_STATELESS,
};

/**
 * Make a peer.
 *
 * @owner   The namespace of its session names, a digest of its token; NULL for
 *          the common one. Copied.
 * @sink    Receives messages that belong to no request; NULL to drop them. It
 *          must exist until st_mcp_peer_close() returns.
 * @return  0 or STET_E_NOMEM.
 */
[[nodiscard]] int st_mcp_peer_new(struct st_mcp_server *server, enum st_mcp_peer_kind kind,
                                  const char *owner, struct st_mcp_sink *sink,
                                  struct st_mcp_peer **out, struct stet_error *err);

/**
 * Close a peer: cancel its requests and end its subscriptions, answering each
 * listening request. The peer must not be used any more; it is freed when its
 * last sink is done.
 */
void st_mcp_peer_close(struct st_mcp_peer *peer);

/** The negotiated legacy version; ST_MCP_NONE before a successful `initialize`. */
enum st_mcp_version st_mcp_peer_version(struct st_mcp_peer *peer);

/** The milliseconds until st_mcp_peer_give_up() must be called; -1 for never. */
int st_mcp_peer_timeout(struct st_mcp_peer *peer);

/** Stop waiting for the client's roots: requests that wait for them continue without. */
void st_mcp_peer_give_up(struct st_mcp_peer *peer);

/** Handle a message and free it. The sink receives everything that results from it. */
void st_mcp_dispatch(struct st_mcp_peer *peer, struct st_mcp_message *message,
                     struct st_mcp_sink *sink);

/** st_mcp_message_new() and st_mcp_dispatch(). */
void st_mcp_receive(struct st_mcp_peer *peer, struct st_str bytes, struct st_mcp_sink *sink);

/**
 * Cancel the requests of a sink, because its client is gone. Running tasks are
 * asked to stop; done() is called when they have, perhaps at once. Does nothing
 * if the sink is done already.
 */
void st_mcp_cancel(struct st_mcp_peer *peer, struct st_mcp_sink *sink);

#endif
