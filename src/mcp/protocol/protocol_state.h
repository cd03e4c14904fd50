/**
 * The internal state of the protocol: servers, peers and their requests.
 *
 * Locks: take a server's lock, which protects its list of peers, before a
 * peer's, which protects everything in the peer. Sinks are called with the
 * peer's lock held, so that calls come one at a time and none follows a
 * cancellation. Of a service, only open_peer() is.
 */
#ifndef STET_MCP_PROTOCOL_PROTOCOL_STATE_H
#define STET_MCP_PROTOCOL_PROTOCOL_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "mcp/protocol/service.h"

/** The error for a message that was repaired. */
#define ST_MCP_HALF_A_PAIR \
	"The arguments hold half a surrogate pair (\\uD800 to \\uDFFF without its other half), which " \
	"is " \
	"not a character. Send the whole character, or leave it out. Nothing was changed."

enum { ST_MCP_KEY_SIZE = 32, ST_MCP_SUBSCRIPTIONS_MAX = 1024 };

struct st_mcp_server {
	struct st_mcp_service *service;
	struct st_mcp_executor *executor;
	/** Signs the state that clients store for the server. */
	unsigned char key[ST_MCP_KEY_SIZE];
	pthread_mutex_t lock;
	struct st_mcp_peer *peers;
};

/** A set of URIs. */
struct st_mcp_uris {
	char **list;
	size_t count;
};

bool st_mcp_uris_has(const struct st_mcp_uris *uris, struct st_str uri);
/** Add a copy. False if out of memory. */
[[nodiscard]] bool st_mcp_uris_add(struct st_mcp_uris *uris, struct st_str uri);
void st_mcp_uris_release(struct st_mcp_uris *uris);

/** A request to the client, on the stack of the thread that waits for the response. */
struct st_mcp_question {
	struct st_mcp_question *next;
	uint64_t id;
	/** NULL until the response arrives. */
	struct st_mcp_message *response;
};

/** The state of the question for a client's roots. */
struct st_mcp_roots {
	enum {
		ST_MCP_ROOTS_UNASKED,
		/** Requests that need files wait for the response. */
		ST_MCP_ROOTS_ASKED,
		/** The service knows them, or knows that the client did not answer. */
		ST_MCP_ROOTS_KNOWN,
	} state;
	/** The id of the request; 0 after the response. */
	uint64_t question;
	int64_t deadline_ms;
	/** They changed while the question was open. */
	bool changed;
	/** The waiting requests, the oldest first. */
	struct st_mcp_pending *held;
};

struct st_mcp_peer {
	struct st_mcp_server *server;
	struct st_mcp_peer *next, *previous;
	enum st_mcp_peer_kind kind;
	char *owner;
	pthread_mutex_t lock;
	/** Signalled when a response arrives, and when a request is cancelled. */
	pthread_cond_t changed;
	/** One for the handle, one for each request. */
	size_t references;
	bool closed;
	struct st_mcp_sink *sink;
	/** From `initialize`. */
	enum st_mcp_version version;
	enum st_mcp_level level;
	yyjson_doc *client;
	char client_name[ST_MCP_CLIENT_MAX];
	/** What open_peer() returned, after it was called. */
	bool opened;
	void *user;
	struct st_mcp_pending *pendings;
	struct st_mcp_uris subscriptions;
	struct st_mcp_question *questions;
	uint64_t last_question;
	struct st_mcp_roots roots;
};

/** Copy the name in a clientInfo: printable ASCII, truncated. */
void st_mcp_copy_client(char name[ST_MCP_CLIENT_MAX], yyjson_val *info);

struct st_mcp_method;

/** A request, from its arrival to its answer. */
struct st_mcp_pending {
	struct st_mcp_task task;
	struct st_mcp_request request;
	struct st_mcp_pending *next, *previous;
	/** The next request that waits for the client's roots. */
	struct st_mcp_pending *held_next;
	struct st_mcp_peer *peer;
	const struct st_mcp_method *method;
	struct st_mcp_message *message;
	/** Its own sink, and the transport's, which differs in a batch. */
	struct st_mcp_sink *sink, *outer;
	_Atomic bool cancelled;
	/** It may have to wait for the client's roots. */
	bool needs_roots;
	/** A subscription: answered long after its handler returned. */
	bool listening;
	unsigned lists;
	struct st_mcp_uris uris;
	enum st_mcp_level level;
	/** The outgoing message, and the start of the result in it. */
	struct st_buf answer;
	size_t result_start;
	bool input_required;
	/** Set if the request failed. */
	int code;
	struct st_buf problem, data;
	/** Refused before its handler ran. */
	bool malformed;
};

static inline struct st_mcp_pending *st_mcp_pending_of(struct st_mcp_request *request) {
	return (struct st_mcp_pending *)((char *)request - offsetof(struct st_mcp_pending, request));
}

/* ---- peer.c ---- */

/** Drop a reference. The peer's lock must not be held. */
void st_mcp_peer_unref(struct st_mcp_peer *peer);

/** Answer a message with an error and end its sink. */
void st_mcp_fail_message(struct st_mcp_peer *peer, struct st_mcp_sink *sink, struct st_str id,
                         int code, struct st_str problem);

/* ---- request.c ---- */

/** Handle a request and free the message. `outer` is the transport's sink. */
void st_mcp_pending_begin(struct st_mcp_peer *peer, struct st_mcp_message *message,
                          struct st_mcp_sink *sink, struct st_mcp_sink *outer);

/** Continue with a request that waited for roots. */
void st_mcp_pending_start(struct st_mcp_pending *pending);

/** Answer a request, unless it is cancelled, and free it. */
void st_mcp_pending_end(struct st_mcp_pending *pending);

/** Cancel a request, with the peer's lock held. The caller must then end it if it listens. */
void st_mcp_pending_cancel(struct st_mcp_pending *pending);

enum st_mcp_traits {
	ST_MCP_LEGACY = 1,
	ST_MCP_MODERN = 2,
	/** The result says how long the client may cache it. */
	ST_MCP_CACHED = 4,
	/** A handler of the service answers, on the executor's threads. */
	ST_MCP_SERVED = 8,
	/** The result is the same for all clients until a list changes. */
	ST_MCP_STABLE = 16,
	/** Needs files, and therefore the client's roots. */
	ST_MCP_ROOTED = 32,
};

struct st_mcp_method {
	const char *name;
	unsigned traits;
	/** The offset of the service's function that the method needs; 0 for none. */
	size_t member;
	/** The protocol's own handler; NULL if that function is the handler. */
	st_mcp_handler *run;
};

/** The names of the log levels, for messages. */
#define ST_MCP_LEVELS "debug, info, notice, warning, error, critical, alert, emergency"

/** The log level of a name; -1 if unknown. */
int st_mcp_level_find(struct st_str name);

/* ---- methods.c ---- */

int st_mcp_initialize(struct st_mcp_request *request);
int st_mcp_discover(struct st_mcp_request *request);
int st_mcp_ping(struct st_mcp_request *request);
int st_mcp_set_level(struct st_mcp_request *request);

/* ---- subscribe.c ---- */

/** Returned by a handler whose request stays open. */
enum { ST_MCP_STAYS = 1 };

int st_mcp_subscribe(struct st_mcp_request *request);
int st_mcp_unsubscribe(struct st_mcp_request *request);
int st_mcp_listen(struct st_mcp_request *request);

/** Unwatch and free URIs. No lock may be held. */
void st_mcp_unwatch_all(struct st_mcp_service *service, struct st_mcp_uris *uris);

/* ---- roots.c ---- */

/** Whether the server can ask a legacy client for its roots. With the lock. */
bool st_mcp_roots_can_ask(const struct st_mcp_peer *peer);

/** Handle a notification, which may concern roots. */
void st_mcp_roots_notified(struct st_mcp_peer *peer, struct st_str method);

/** True if a legacy request must wait for the client's roots; it is started when they arrive. */
bool st_mcp_roots_hold(struct st_mcp_pending *pending);

/** Handle a response. True if it contained the client's roots. */
bool st_mcp_roots_answer(struct st_mcp_peer *peer, const struct st_mcp_message *message);

/** Before a modern request runs: true if it was answered with a question for the roots. */
bool st_mcp_roots_need(struct st_mcp_pending *pending);

/** When a peer closes: start its waiting requests, which are cancelled, so that they end. */
void st_mcp_roots_close(struct st_mcp_peer *peer);

/* ---- batch.c ---- */

/** Handle the messages of a batch and free it. */
void st_mcp_batch(struct st_mcp_peer *peer, struct st_mcp_message *message,
                  struct st_mcp_sink *sink);

#endif
