/**
 * The protocol, without a socket: messages in, messages out.
 *
 * A *server* is one service (mcp/protocol/service.h) and all who use it. A *peer* is
 * one of them: a stdio connection, a legacy HTTP session, or the modern HTTP
 * side of one caller, which has no state. A message that comes in brings a
 * *sink* along, where everything goes that belongs to it: its answer, its
 * progress and log, the events of a subscription it opened. What belongs to
 * no message (legacy notifications) goes to the peer's own sink.
 *
 *     struct st_mcp_peer *peer = NULL;
 *     if (st_mcp_peer_new(server, ST_MCP_STDIO, NULL, &events, &peer, err) < 0)
 *             ...
 *     st_mcp_receive(peer, line, &sink);   // answers through sink, now or later
 *     st_mcp_peer_close(peer);
 *
 * Everything here may be called from any thread, but from within the calls of
 * a sink.
 */
#ifndef STET_MCP_PROTOCOL_PEER_H
#define STET_MCP_PROTOCOL_PEER_H

#include <stdint.h>

#include "mcp/protocol/message.h"

struct st_mcp_service;
struct st_mcp_server;
struct st_mcp_peer;

/**
 * Where the messages go that belong to one that came in. Embed it.
 *
 * The calls may come from any thread, one at a time, before st_mcp_dispatch()
 * returns or long after. They must not block and must not call the core. A
 * message is JSON without a line end; the callee may take the buffer's memory
 * (st_buf_move()).
 */
struct st_mcp_sink {
	/** A notification, or a request to the client. */
	void (*event)(struct st_mcp_sink *sink, struct st_buf *message);
	/**
	 * The answer; at most once, and no event after it.
	 *
	 * @status  As HTTP says it: 200, 400 (the message as such is wrong), 404
	 *          (no such method), 500. A tool's failure is a 200.
	 */
	void (*answer)(struct st_mcp_sink *sink, struct st_buf *message, int status);
	/**
	 * Nothing more will come: the sink may be freed. Without an answer before,
	 * none was due (HTTP: 202) or the request was cancelled. Never called for
	 * a peer's own sink.
	 */
	void (*done)(struct st_mcp_sink *sink);
};

/** Work to be done somewhere, once. It frees itself. */
struct st_mcp_task {
	/**
	 * Work that shares a key must not run at the same time and has to keep
	 * its order; unused ones are 0. The first is the session, the second the file.
	 */
	uint64_t keys[2];
	void (*run)(struct st_mcp_task *task);
};

/** Who does the work. Embed it. */
struct st_mcp_executor {
	/**
	 * Have it run, on any thread. False if it cannot be: the request is then
	 * answered with an error. NULL to run it at once, on the thread that
	 * brought it.
	 */
	bool (*submit)(struct st_mcp_executor *executor, struct st_mcp_task *task);
	/**
	 * Called now and then by long work, so that where it runs on the thread
	 * that receives messages, a cancellation can be received. May be NULL.
	 */
	void (*look)(struct st_mcp_executor *executor);
};

/**
 * A server.
 *
 * @service   What is offered; lives longer.
 * @executor  NULL to do all work at once, on the thread that brings it.
 * @return    0, STET_E_NOMEM or STET_E_IO (no random bytes).
 */
[[nodiscard]] int st_mcp_server_new(struct st_mcp_service *service,
                                    struct st_mcp_executor *executor, struct st_mcp_server **out,
                                    struct stet_error *err);

/** Free a server whose peers are all closed and done; NULL is fine. */
void st_mcp_server_free(struct st_mcp_server *server);

/** How peers differ. */
enum st_mcp_peer_kind {
	/** One connection, one session, both eras. */
	ST_MCP_STDIO,
	/** A session that `initialize` began over HTTP. */
	ST_MCP_SESSION,
	/** Modern requests over HTTP. Ids mean nothing beyond their own sink. */
	ST_MCP_STATELESS,
};

/**
 * A peer.
 *
 * @owner   Whose session names it may use: a digest of its token; NULL for everybody's. Copied.
 * @sink    Where messages go that belong to no other; NULL to drop them. It
 *          lives until st_mcp_peer_close() has returned.
 * @return  0 or STET_E_NOMEM.
 */
[[nodiscard]] int st_mcp_peer_new(struct st_mcp_server *server, enum st_mcp_peer_kind kind,
                                  const char *owner, struct st_mcp_sink *sink,
                                  struct st_mcp_peer **out, struct stet_error *err);

/**
 * The peer goes: its work is cancelled, its subscriptions end (each listening
 * request is answered). The handle must not be used any more; the memory goes
 * when the last sink is done.
 */
void st_mcp_peer_close(struct st_mcp_peer *peer);

/** The legacy version that was negotiated; ST_MCP_NONE before `initialize` succeeded. */
enum st_mcp_version st_mcp_peer_version(struct st_mcp_peer *peer);

/** After how many milliseconds st_mcp_peer_give_up() is due; -1 for never. */
int st_mcp_peer_timeout(struct st_mcp_peer *peer);

/** Wait no longer for what the client was asked: requests that need its answer go on without. */
void st_mcp_peer_give_up(struct st_mcp_peer *peer);

/** How many requests are not done yet, listening ones not counted. */
size_t st_mcp_peer_busy(struct st_mcp_peer *peer);

/** Replace the peer's own sink (a GET stream comes or goes); NULL to drop what would go there. */
void st_mcp_peer_listen(struct st_mcp_peer *peer, struct st_mcp_sink *sink);

/** Handle a message, which is freed. All that comes of it goes to the sink. */
void st_mcp_dispatch(struct st_mcp_peer *peer, struct st_mcp_message *message,
                     struct st_mcp_sink *sink);

/** st_mcp_message_new() and st_mcp_dispatch(). */
void st_mcp_receive(struct st_mcp_peer *peer, struct st_str bytes, struct st_mcp_sink *sink);

/**
 * Cancel whatever belongs to a sink, because nobody reads it any more. Work
 * that is running is asked to stop; done() comes when it has, perhaps at once.
 * Nothing happens if the sink is done already.
 */
void st_mcp_cancel(struct st_mcp_peer *peer, struct st_mcp_sink *sink);

#endif
