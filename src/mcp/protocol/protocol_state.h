/**
 * What a server knows of its peers, and a peer of its work: the inside of the
 * core.
 *
 * Locks: a server's (which peers there are) before a peer's (everything in
 * it). Sinks are called under the peer's lock, so that their calls come one
 * at a time and nothing follows a cancellation; of a service only enter() is.
 */
#ifndef STET_MCP_PROTOCOL_PROTOCOL_STATE_H
#define STET_MCP_PROTOCOL_PROTOCOL_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "mcp/protocol/meta.h"
#include "mcp/protocol/service.h"

/** What is said of a message that was mended. */
#define ST_MCP_HALF_A_PAIR \
	"The arguments hold half a surrogate pair (\\uD800 to \\uDFFF without its other half), which " \
	"is " \
	"not a character. Send the whole character, or leave it out. Nothing was changed."

enum { ST_MCP_KEY_SIZE = 32, ST_MCP_SUBSCRIPTIONS_MAX = 1024 };

struct st_mcp_server {
	struct st_mcp_service *service;
	struct st_mcp_executor *executor;
	/** Signs what clients carry for us. */
	unsigned char key[ST_MCP_KEY_SIZE];
	pthread_mutex_t lock;
	struct st_mcp_peer *peers;
};

/** URIs, each owned. */
struct st_mcp_uris {
	char **list;
	size_t count;
};

bool st_mcp_uris_has(const struct st_mcp_uris *uris, struct st_str uri);
/** Add a copy. False without memory. */
[[nodiscard]] bool st_mcp_uris_add(struct st_mcp_uris *uris, struct st_str uri);
/** True if it was there. */
bool st_mcp_uris_remove(struct st_mcp_uris *uris, struct st_str uri);
void st_mcp_uris_release(struct st_mcp_uris *uris);

/** A request of ours that the client has not answered; on the stack of the thread that waits. */
struct st_mcp_question {
	struct st_mcp_question *next;
	uint64_t id;
	/** The whole response, when it has come. */
	struct st_mcp_message *response;
};

/** What is known of a client's roots. */
struct st_mcp_roots {
	enum {
		ST_MCP_ROOTS_UNASKED,
		/** Requests that need files wait for the answer. */
		ST_MCP_ROOTS_ASKED,
		/** The service was told, if only that there is no answer. */
		ST_MCP_ROOTS_KNOWN,
	} state;
	/** The id of the question; 0 if it is answered. */
	uint64_t question;
	int64_t deadline_ms;
	/** They changed since they were asked for. */
	bool changed;
	/** The requests that wait, the oldest first. */
	struct st_mcp_pending *held;
};

struct st_mcp_peer {
	struct st_mcp_server *server;
	struct st_mcp_peer *next, *previous;
	enum st_mcp_peer_kind kind;
	char *owner;
	pthread_mutex_t lock;
	/** A question was answered, or there is no point in waiting any more. */
	pthread_cond_t changed;
	/** The handle, each request, and whoever holds on to it for a moment. */
	size_t references;
	bool closed;
	struct st_mcp_sink *sink;
	/** What `initialize` brought. */
	enum st_mcp_version version;
	enum st_mcp_level level;
	yyjson_doc *client;
	char client_name[ST_MCP_CLIENT_MAX];
	/** What the service keeps for it. */
	bool entered;
	void *user;
	struct st_mcp_pending *pendings;
	struct st_mcp_uris subscriptions;
	struct st_mcp_question *questions;
	uint64_t last_question;
	struct st_mcp_roots roots;
};

/** The name in a clientInfo, cut and without characters that are not printed. */
void st_mcp_copy_client(char name[ST_MCP_CLIENT_MAX], yyjson_val *info);

struct st_mcp_method;

/** A request, from its arrival to the end of its answer. */
struct st_mcp_pending {
	struct st_mcp_task task;
	struct st_mcp_request request;
	struct st_mcp_pending *next, *previous;
	/** The next one that waits for the client's roots. */
	struct st_mcp_pending *held_next;
	struct st_mcp_peer *peer;
	const struct st_mcp_method *method;
	struct st_mcp_message *message;
	/** Where its messages go; and the transport's own, which is another in a batch. */
	struct st_mcp_sink *sink, *outer;
	_Atomic bool cancelled;
	/** Answered long after its handler returned: a subscription. */
	bool listening;
	unsigned lists;
	struct st_mcp_uris uris;
	enum st_mcp_level level;
	/** As it goes out, and where the result begins in it. */
	struct st_buf answer;
	size_t result_start;
	bool input_required;
	/** Set if it failed. */
	int code;
	struct st_buf problem, data;
	/** Wrong as such, before anything was done. */
	bool malformed;
};

static inline struct st_mcp_pending *st_mcp_pending_of(struct st_mcp_request *request) {
	return (struct st_mcp_pending *)((char *)request - offsetof(struct st_mcp_pending, request));
}

/* ---- peer.c ---- */

/** Hold on to a peer, and let go of it. The lock must not be held. */
void st_mcp_peer_ref(struct st_mcp_peer *peer);
void st_mcp_peer_unref(struct st_mcp_peer *peer);

/* ---- work.c ---- */

/** Serve a request; the message is taken. `outer` is the transport's sink. */
void st_mcp_pending_begin(struct st_mcp_peer *peer, struct st_mcp_message *message,
                          struct st_mcp_sink *sink, struct st_mcp_sink *outer);

/** Go on with a request that was held. */
void st_mcp_pending_start(struct st_mcp_pending *pending);

/** Answer, unless it was cancelled, and free it. */
void st_mcp_pending_end(struct st_mcp_pending *pending);

/** Nobody wants the answer any more. With the peer's lock held; a listening one is to be ended then. */
void st_mcp_pending_cancel(struct st_mcp_pending *pending);

/* ---- request.c ---- */

/** Send a notification that belongs to a request; params is a JSON object. */
void st_mcp_notify(struct st_mcp_request *request, const char *method, struct st_buf *params);

/* ---- methods.c ---- */

enum st_mcp_traits {
	ST_MCP_LEGACY = 1,
	ST_MCP_MODERN = 2,
	/** The result says how long it may be kept. */
	ST_MCP_CACHED = 4,
	/** Answered by the service, and by the executor's threads. */
	ST_MCP_SERVED = 8,
	/** Same for everybody until told otherwise. */
	ST_MCP_STABLE = 16,
	/** Needs files, and so the client's roots. */
	ST_MCP_ROOTED = 32,
};

struct st_mcp_method {
	const char *name;
	unsigned traits;
	st_mcp_handler *(*served)(const struct st_mcp_service *service);
	st_mcp_handler *run;
};

/** The method of a name in an era; NULL if there is none, or the service does not offer it. */
const struct st_mcp_method *st_mcp_method_find(const struct st_mcp_service *service,
                                               struct st_str name, bool modern);

/** The level of a name; -1 if there is none. */
int st_mcp_level_find(struct st_str name);

/* ---- subscribe.c ---- */

/** What a handler returns whose request is not over when it returns. */
enum { ST_MCP_STAYS = 1 };

int st_mcp_subscribe(struct st_mcp_request *request);
int st_mcp_unsubscribe(struct st_mcp_request *request);
int st_mcp_listen(struct st_mcp_request *request);

/** The service need not watch these any more, which are freed. Without locks. */
void st_mcp_unwatch_all(struct st_mcp_service *service, struct st_mcp_uris *uris);

/* ---- roots.c ---- */

/** A notification came that may be about roots. */
void st_mcp_roots_notice(struct st_mcp_peer *peer, struct st_str method);

/** True if a request has to wait for the roots of a legacy client: it is started when they are known. */
bool st_mcp_roots_hold(struct st_mcp_pending *pending);

/** True if a response was the answer to the question for the roots. */
bool st_mcp_roots_answer(struct st_mcp_peer *peer, const struct st_mcp_message *message);

/** Before a modern request is handled: true if it is answered already, with the question for the roots. */
bool st_mcp_roots_need(struct st_mcp_pending *pending);

/** The peer goes: requests that wait are started, which are cancelled by now. */
void st_mcp_roots_close(struct st_mcp_peer *peer);

/* ---- batch.c ---- */

/** Serve the messages of a batch; it is taken. */
void st_mcp_batch(struct st_mcp_peer *peer, struct st_mcp_message *message,
                  struct st_mcp_sink *sink);

#endif
