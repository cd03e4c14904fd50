/**
 * One HTTP/1.1 connection, and the request that is under way on it.
 *
 * The head alone decides: when it is complete, `judge` answers the request or
 * lets its body come, and only then is anything of the body kept. A request
 * that was answered before its body had come ends the connection, since what
 * follows could be taken for another request.
 *
 *     static bool judge(void *arg, struct st_request *request) {
 *             if (st_head_field(&request->head, "Authorization"))
 *                     return true;            // handle() follows, with the body
 *             st_request_answer(request, 401, ST_STR("Who are you?\n"));
 *             return false;
 *     }
 *
 * There is one request at a time; the next waits in the socket. All of it
 * belongs to the loop's thread.
 */
#ifndef STET_NET_CONNECTION_H
#define STET_NET_CONNECTION_H

#include "base/buf.h"
#include "net/chunks.h"
#include "net/gate.h"
#include "net/head.h"
#include "net/loop.h"

struct st_request {
	struct st_head head;
	struct st_buf body;
	/** Who asks; see st_gate_token(). */
	char owner[ST_GATE_OWNER + 1];

	/* The answer. */
	struct st_buf fields;
	int status;
	bool streaming;
	void (*gone)(void *arg);
	void *arg;
};

/** What connections of one server have in common. */
struct st_connection_rules {
	struct event_base *base;
	size_t max_body;
	/** The head has come. True to have the body too; otherwise the request was answered. */
	bool (*judge)(void *arg, struct st_request *request);
	/** All of it has come. */
	void (*handle)(void *arg, struct st_request *request);
	/** It was answered. */
	void (*answered)(void *arg, int status);
	void *arg;
};

enum st_connection_state {
	/** Waiting for a head; `begun` once there is something of it. */
	ST_CONNECTION_HEAD,
	ST_CONNECTION_BODY,
	/** A request is being worked on. */
	ST_CONNECTION_ANSWERING,
	/** Only to send what is left, and to be closed. */
	ST_CONNECTION_CLOSING,
};

struct st_connection {
	struct st_connection *next;
	const struct st_connection_rules *rules;
	/** NULL once it is closed. */
	struct bufferevent *bev;
	enum st_connection_state state;
	/** When the state began; the first byte of a head is the beginning of a request. */
	int64_t since_ms;
	/** Whose latest request it carries is known; see st_request_trust(). */
	bool trusted;
	bool begun, processing, unread_body, lingers, ended;
	size_t scanned, discarded;
	struct st_chunks chunks;
	struct st_request request;
};

/**
 * Serve a socket, which it closes.
 *
 * @return NULL if there is no memory; the socket is then the caller's.
 */
struct st_connection *st_connection_new(const struct st_connection_rules *rules, int fd);

/** Close it. Tells the holder of its request. */
void st_connection_close(struct st_connection *connection);

/** Free it, closed or not; never from a function that it calls. */
void st_connection_free(struct st_connection *connection);

/** Note, in `judge`, that it is known who asks: the connection is no stranger's any more. */
void st_request_trust(struct st_request *request);

/** Add a field to the answer. */
void st_request_field(struct st_request *request, const char *name, const char *value);

/** Answer it, for good. */
void st_request_answer(struct st_request *request, int status, struct st_str body);

/** Begin an answer that comes in pieces, with status 200. */
void st_request_start(struct st_request *request);

/** Send a piece of it, not empty. */
void st_request_send(struct st_request *request, struct st_str bytes);

/** End it, for good. */
void st_request_end(struct st_request *request);

/** Close the connection instead of answering. Calls `gone`. */
void st_request_drop(struct st_request *request);

/** Be told once if the client goes before it is answered; NULL for nobody. */
void st_request_watch(struct st_request *request, void (*gone)(void *arg), void *arg);

/** How many bytes the client has not taken yet. */
size_t st_request_unsent(const struct st_request *request);

/** What a status is called. */
const char *st_http_reason(int status);

#endif
