/**
 * One HTTP/1.1 connection, and its current request.
 *
 * When the head of a request is complete, `check_head` either answers it or
 * accepts its body; nothing of the body is stored before. If a request is
 * answered before its body has arrived, the connection ends, since the rest of
 * the body could be mistaken for another request.
 *
 *     static bool check_head(void *arg, struct st_request *request) {
 *             if (st_head_field(&request->head, "Authorization"))
 *                     return true;            // handle() follows, with the body
 *             st_request_answer(request, 401, ST_STR("Send a token.\n"));
 *             return false;
 *     }
 *
 * A connection handles one request at a time; the next one waits in the socket.
 * All functions must be called on the loop's thread.
 */
#ifndef STET_NET_CONNECTION_H
#define STET_NET_CONNECTION_H

#include "base/buf.h"
#include "net/chunks.h"
#include "net/gate.h"
#include "net/head.h"
#include "net/loop.h"
#include "net/tls.h"

struct st_request {
	struct st_head head;
	struct st_buf body;
	struct st_caller caller;
	/** For the access log: what it calls ("tools/call edit_file"), and when it began. */
	char call[64];
	int64_t begun_ms;

	/* The answer. */
	struct st_buf fields;
	int status;
	bool streaming;
	void (*gone)(void *arg);
	void *arg;
};

/** The settings and callbacks of all connections of a server. */
struct st_connection_rules {
	struct event_base *base;
	/** NULL for connections without TLS. */
	struct st_tls *tls;
	size_t max_body;
	/** Called for a complete head. True to read the body; false if it answered the request. */
	bool (*check_head)(void *arg, struct st_request *request);
	/** Called for a complete request, which it answers now or later. */
	void (*handle)(void *arg, struct st_request *request);
	/** Called after each answer, also one that the client did not wait for. */
	void (*answered)(void *arg, const struct st_request *request);
	void *arg;
};

enum st_connection_state {
	/** Waiting for a head; `begun` after its first byte. */
	ST_CONNECTION_HEAD,
	ST_CONNECTION_BODY,
	/** A request is being handled. */
	ST_CONNECTION_ANSWERING,
	/** Sending the last answer before closing. */
	ST_CONNECTION_CLOSING,
};

struct st_connection {
	struct st_connection *next;
	const struct st_connection_rules *rules;
	/** NULL after it is closed. */
	struct bufferevent *bev;
	enum st_connection_state state;
	/** When the state began; for a head, when its first byte arrived. */
	int64_t since_ms;
	/** The latest request had a valid token; see st_request_trust(). */
	bool trusted;
	bool begun, processing, unread_body, lingers, ended;
	size_t scanned, discarded;
	struct st_chunks chunks;
	struct st_request request;
};

/**
 * Make a connection for a socket, which it will close.
 *
 * @return NULL if out of memory; the caller must then close the socket.
 */
struct st_connection *st_connection_new(const struct st_connection_rules *rules, int fd);

/** Close a connection. Calls `gone` of its request. */
void st_connection_close(struct st_connection *connection);

/** Free a connection, closed or not. Must not be called from its callbacks. */
void st_connection_free(struct st_connection *connection);

/** Called by `check_head` for a request with a valid token: the connection is trusted from now on. */
void st_request_trust(struct st_request *request);

/** Add a header field to the answer. */
void st_request_field(struct st_request *request, const char *name, const char *value);

/** Send a complete answer. The request must not be used afterwards. */
void st_request_answer(struct st_request *request, int status, struct st_str body);

/** Begin a streamed answer with status 200. */
void st_request_start(struct st_request *request);

/** Send a piece of a streamed answer, not empty. */
void st_request_send(struct st_request *request, struct st_str piece);

/** End a streamed answer. The request must not be used afterwards. */
void st_request_end(struct st_request *request);

/** Close the connection without an answer. Calls `gone`. */
void st_request_drop(struct st_request *request);

/** Set a callback for a client that disconnects before the answer; NULL for none. */
void st_request_watch(struct st_request *request, void (*gone)(void *arg), void *arg);

/** Write the address of the client: "10.0.0.7:40123", "[::1]:40123" or "unix". */
void st_request_peer(const struct st_request *request, char *out, size_t size);

/** The number of bytes that the client has not received yet. */
size_t st_request_unsent(const struct st_request *request);

#endif
