#include "net/endpoint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "net/gate.h"
#include "net/headers.h"

enum {
	SESSION_ID = 32,
	/* The most notifications that a session queues while it has no stream. */
	QUEUED_MAX = 64,
	/* A request that takes longer is answered with a stream, if the client accepts one. */
	STREAM_AFTER_MS = 10'000,
	KEEP_ALIVE_MS = 15'000,
};

/* The owner of a token. */
struct caller {
	struct caller *next;
	char owner[ST_GATE_OWNER + 1];
	/* For modern requests; NULL before the first one. */
	struct st_mcp_peer *peer;
	size_t session_count;
};

/* A legacy session. Its sink receives messages that belong to no request. */
struct session {
	struct st_mcp_sink sink;
	struct session *next, **place;
	struct st_endpoint *endpoint;
	struct st_mcp_peer *peer;
	char id[SESSION_ID + 1];
	struct caller *caller;
	/* The digest of the token that began it. */
	char token[ST_GATE_DIGEST + 1];
	/* initialize succeeded, so the client knows the id. */
	bool begun;
	/* It has made a request after initialize. */
	bool used;
	struct st_stream stream;
	struct session_message *queue, **queue_end;
	size_t queue_len, request_count;
	int64_t used_ms;
	struct st_task free_task;
};

/* A message for a session's stream. */
struct session_message {
	struct st_task task;
	struct session_message *next;
	struct session *session;
	struct st_buf text;
};

/* An unfinished POST. */
struct exchange {
	struct st_mcp_sink sink;
	struct exchange *next, **place;
	struct st_endpoint *endpoint;
	struct st_stream stream;
	/* NULL for a modern request, and after the session has ended. */
	struct session *session;
	/* NULL after the peer was closed. */
	struct st_mcp_peer *peer;
	struct st_caller caller;
	bool initializes, listens;
	/* A legacy request: errors are in the answer, and the status is always 200. */
	bool always_ok;
	int64_t since_ms;
	struct st_buf answer;
	int status;
	struct st_task answered, finished;
};

/* An event for the stream of an exchange. */
struct exchange_message {
	struct st_task task;
	struct exchange *exchange;
	struct st_buf text;
};

struct st_endpoint {
	struct st_loop *loop;
	struct st_mcp_server *server;
	size_t sessions_max;
	int64_t session_idle_ms;
	struct caller *callers;
	struct session *sessions;
	struct exchange *exchanges;
	size_t session_count;
	bool closed;
};

#define outer_of(type, member, pointer) \
	((struct type *)((char *)(pointer)-offsetof(struct type, member)))

/* Answer an HTTP request with an error that belongs to no message. */
static void refuse_stream(struct st_stream *stream, int status, const char *problem) {
	st_auto(st_buf) body = ST_BUF_INIT;
	st_buf_addf(&body, "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":%d,\"message\":",
	            ST_MCP_INVALID_REQUEST);
	st_json_quote(&body, st_str(problem));
	st_buf_adds(&body, "}}");
	st_stream_answer(stream, status, st_buf_str(&body));
}

static void refuse_request(struct st_request *request, int status, const char *problem) {
	struct st_stream stream;
	st_stream_begin(&stream, request, NULL);
	stream.takes_json = true;
	refuse_stream(&stream, status, problem);
}

/* Find a caller, or make it. NULL if out of memory. */
static struct caller *caller_of(struct st_endpoint *endpoint, const char *owner) {
	struct caller *caller = endpoint->callers;
	while (caller && strcmp(caller->owner, owner) != 0)
		caller = caller->next;
	if (caller)
		return caller;
	caller = calloc(1, sizeof *caller);
	if (!caller)
		return NULL;
	memcpy(caller->owner, owner, strlen(owner) + 1);
	caller->next = endpoint->callers;
	endpoint->callers = caller;
	return caller;
}

/* ---- sessions ---- */

/* Send a message to the session's stream, or queue it until there is one. */
static void deliver_message(struct st_task *task) {
	struct session_message *message = outer_of(session_message, task, task);
	struct session *session = message->session;
	if (st_stream_open(&session->stream))
		st_stream_event(&session->stream, st_buf_str(&message->text));
	else if (session->queue_len < QUEUED_MAX) {
		message->next = NULL;
		*session->queue_end = message;
		session->queue_end = &message->next;
		session->queue_len++;
		return;
	}
	st_buf_release(&message->text);
	free(message);
}

/* Without memory, the notification is lost, as if the client were disconnected. */
static void session_event(struct st_mcp_sink *sink, struct st_buf *text) {
	struct session *session = outer_of(session, sink, sink);
	struct session_message *message = calloc(1, sizeof *message);
	if (!message)
		return;
	message->task.run = deliver_message;
	message->session = session;
	st_buf_move(&message->text, text);
	st_loop_queue(session->endpoint->loop, &message->task);
}

static void deliver_queue(struct session *session) {
	struct session_message *message = session->queue;
	session->queue = NULL;
	session->queue_end = &session->queue;
	session->queue_len = 0;
	for (struct session_message *next; message; message = next) {
		next = message->next;
		deliver_message(&message->task);
	}
}

static void free_session(struct st_task *task) {
	struct session *session = outer_of(session, free_task, task);
	for (struct session_message *message = session->queue, *next; message; message = next) {
		next = message->next;
		st_buf_release(&message->text);
		free(message);
	}
	free(session);
}

static struct session *new_session(struct st_endpoint *endpoint, const struct st_caller *from) {
	unsigned char random[SESSION_ID / 2];
	struct session *session = calloc(1, sizeof *session);
	struct caller *caller = caller_of(endpoint, from->owner);
	if (!session || !caller || getrandom(random, sizeof random, 0) != sizeof random) {
		free(session);
		return NULL;
	}
	session->sink.event = session_event;
	session->endpoint = endpoint;
	session->queue_end = &session->queue;
	session->used_ms = st_now_ms();
	for (size_t i = 0; i < sizeof random; i++)
		snprintf(session->id + 2 * i, 3, "%02x", random[i]);
	session->caller = caller;
	memcpy(session->token, from->token, sizeof session->token);
	if (st_mcp_peer_new(endpoint->server, ST_MCP_SESSION, *caller->owner ? caller->owner : NULL,
	                    &session->sink, &session->peer, NULL) < 0) {
		free(session);
		return NULL;
	}
	session->next = endpoint->sessions;
	session->place = &endpoint->sessions;
	if (session->next)
		session->next->place = &session->next;
	endpoint->sessions = session;
	endpoint->session_count++;
	caller->session_count++;
	return session;
}

/* The loop's queue may contain messages for the session: queue free_session() after them. */
static void end_session(struct session *session) {
	struct st_endpoint *endpoint = session->endpoint;
	for (struct exchange *exchange = endpoint->exchanges; exchange; exchange = exchange->next) {
		if (exchange->session == session) {
			exchange->session = NULL;
			exchange->peer = NULL;
		}
	}
	st_mcp_peer_close(session->peer);
	st_stream_end(&session->stream, 404);
	*session->place = session->next;
	if (session->next)
		session->next->place = session->place;
	endpoint->session_count--;
	session->caller->session_count--;
	session->free_task.run = free_session;
	st_loop_queue(endpoint->loop, &session->free_task);
}

static bool is_idle(const struct session *session, int64_t now_ms, int64_t for_ms) {
	return session->request_count == 0 && !st_stream_open(&session->stream) &&
	       now_ms - session->used_ms > for_ms;
}

static struct caller *caller_with_most_sessions(const struct st_endpoint *endpoint) {
	struct caller *most = endpoint->callers;
	for (struct caller *caller = most; caller; caller = caller->next) {
		if (caller->session_count > most->session_count)
			most = caller;
	}
	return most;
}

/* How much a client would miss the session: more if it has made requests, or has a stream. */
static int session_value(const struct session *session) {
	return (session->used ? 2 : 0) + (st_stream_open(&session->stream) ? 1 : 0);
}

/*
 * Make room for a session. At the limit, end a session of the caller that has
 * the most: the least valuable one, and among those the one idle longest. So a
 * caller that begins too many sessions only loses its own.
 */
static bool make_session_room(struct st_endpoint *endpoint) {
	struct session *victim = NULL;
	if (endpoint->session_count < endpoint->sessions_max)
		return true;
	const struct caller *caller = caller_with_most_sessions(endpoint);
	for (struct session *session = endpoint->sessions; session; session = session->next) {
		if (session->request_count > 0 || session->caller != caller)
			continue;
		if (!victim || session_value(session) < session_value(victim) ||
		    (session_value(session) == session_value(victim) &&
		     session->used_ms <= victim->used_ms))
			victim = session;
	}
	if (victim)
		end_session(victim);
	return victim != NULL;
}

static struct session *find_session(struct st_endpoint *endpoint, const char *id,
                                    const char *owner) {
	struct session *session = endpoint->sessions;
	while (session && !(session->begun && strcmp(session->id, id) == 0 &&
	                    strcmp(session->caller->owner, owner) == 0))
		session = session->next;
	if (session)
		session->used_ms = st_now_ms();
	return session;
}

/* ---- exchanges ---- */

static void send_event(struct st_task *task) {
	struct exchange_message *message = outer_of(exchange_message, task, task);
	st_stream_event(&message->exchange->stream, st_buf_str(&message->text));
	st_buf_release(&message->text);
	free(message);
}

static void exchange_event(struct st_mcp_sink *sink, struct st_buf *text) {
	struct exchange *exchange = outer_of(exchange, sink, sink);
	struct exchange_message *message = calloc(1, sizeof *message);
	if (!message)
		return;
	message->task.run = send_event;
	message->exchange = exchange;
	st_buf_move(&message->text, text);
	st_loop_queue(exchange->endpoint->loop, &message->task);
}

/* After initialize: begin the session, or end it if initialize failed or the client is gone. */
static void begin_session(struct exchange *exchange) {
	struct session *session = exchange->session;
	if (!session || session->begun)
		return;
	if (st_mcp_peer_version(session->peer) == ST_MCP_NONE || !st_stream_open(&exchange->stream)) {
		end_session(session);
		return;
	}
	session->begun = true;
	st_stream_header(&exchange->stream, "Mcp-Session-Id", session->id);
}

static void send_answer(struct st_task *task) {
	struct exchange *exchange = outer_of(exchange, answered, task);
	if (exchange->initializes)
		begin_session(exchange);
	st_stream_answer(&exchange->stream, exchange->status, st_buf_str(&exchange->answer));
	st_buf_release(&exchange->answer);
}

static void exchange_answer(struct st_mcp_sink *sink, struct st_buf *message, int status) {
	struct exchange *exchange = outer_of(exchange, sink, sink);
	st_buf_move(&exchange->answer, message);
	exchange->status = exchange->always_ok ? 200 : status;
	exchange->answered.run = send_answer;
	st_loop_queue(exchange->endpoint->loop, &exchange->answered);
}

static void finish_exchange(struct st_task *task) {
	struct exchange *exchange = outer_of(exchange, finished, task);
	if (exchange->initializes)
		begin_session(exchange);
	st_stream_end(&exchange->stream, 202);
	if (exchange->session) {
		exchange->session->request_count--;
		exchange->session->used_ms = st_now_ms();
	}
	*exchange->place = exchange->next;
	if (exchange->next)
		exchange->next->place = exchange->place;
	free(exchange);
}

static void exchange_done(struct st_mcp_sink *sink) {
	struct exchange *exchange = outer_of(exchange, sink, sink);
	exchange->finished.run = finish_exchange;
	st_loop_queue(exchange->endpoint->loop, &exchange->finished);
}

/* A modern client cancels by disconnecting. For a legacy one, the request continues. */
static void exchange_gone(struct st_stream *stream) {
	struct exchange *exchange = outer_of(exchange, stream, stream);
	if (exchange->peer && !exchange->session)
		st_mcp_cancel(exchange->peer, &exchange->sink);
}

static struct exchange *new_exchange(struct st_endpoint *endpoint, struct st_request *request) {
	struct exchange *exchange = calloc(1, sizeof *exchange);
	if (!exchange)
		return NULL;
	exchange->sink = (struct st_mcp_sink){exchange_event, exchange_answer, exchange_done};
	exchange->endpoint = endpoint;
	exchange->since_ms = st_now_ms();
	exchange->caller = request->caller;
	st_stream_begin(&exchange->stream, request, exchange_gone);
	exchange->next = endpoint->exchanges;
	exchange->place = &endpoint->exchanges;
	if (exchange->next)
		exchange->next->place = &exchange->next;
	endpoint->exchanges = exchange;
	return exchange;
}

static struct st_mcp_peer *modern_peer(struct st_endpoint *endpoint, const char *owner) {
	struct caller *caller = caller_of(endpoint, owner);
	if (caller && !caller->peer &&
	    st_mcp_peer_new(endpoint->server, ST_MCP_STATELESS, *owner ? owner : NULL, NULL,
	                    &caller->peer, NULL) < 0)
		return NULL;
	return caller ? caller->peer : NULL;
}

/* ---- requests ---- */

static const char *header(struct st_request *request, const char *name) {
	return st_head_field(&request->head, name);
}

static bool is_modern(const struct st_mcp_message *message, struct st_request *request) {
	const char *version = header(request, "MCP-Protocol-Version");
	return message->claim != ST_MCP_CLAIM_NONE || message->kind == ST_MCP_BROKEN ||
	       (version && st_mcp_is_modern(st_mcp_version_find(st_str(version))));
}

/* The session that a legacy request names; NULL if the request was refused. */
static struct session *named_session(struct st_endpoint *endpoint, struct st_stream *stream,
                                     const char *owner) {
	const char *id = header(stream->request, "Mcp-Session-Id");
	const char *version = header(stream->request, "MCP-Protocol-Version");
	struct session *session = id ? find_session(endpoint, id, owner) : NULL;
	if (!id)
		refuse_stream(
			stream, 400,
			"The header Mcp-Session-Id is missing. Send initialize, and then this header with "
			"the value from its answer; or use 2026-07-28, which has no sessions.");
	else if (!session)
		refuse_stream(stream, 404, "Session not found; it may have ended. Send initialize again.");
	else if (version && st_mcp_version_find(st_str(version)) == ST_MCP_NONE) {
		refuse_stream(stream, 400, "This MCP-Protocol-Version is not supported.");
		return NULL;
	}
	return session;
}

static struct session *first_session(struct st_endpoint *endpoint, struct st_stream *stream,
                                     const struct st_caller *from) {
	struct session *session = make_session_room(endpoint) ? new_session(endpoint, from) : NULL;
	if (!session)
		refuse_stream(stream, 503, "Too many sessions. End some with DELETE, or try later.");
	return session;
}

/* For the access log: the method, and of a tool call the tool. */
static void note_call(struct st_request *request, const struct st_mcp_message *message) {
	bool names = st_str_eq(message->method, ST_STR("tools/call"));
	int len =
		snprintf(request->call, sizeof request->call, "%.*s%s%.*s",
	             (int)(message->method.len < 32 ? message->method.len : 32), message->method.ptr,
	             names ? " " : "", names && message->name.len < 64 ? (int)message->name.len : 0,
	             message->name.ptr);
	if (len < 0 || !st_utf8_valid(st_str(request->call)))
		request->call[0] = '\0';
}

static void dispatch_message(struct exchange *exchange, struct st_mcp_message *message) {
	const struct st_caller *from = &exchange->caller;
	struct st_endpoint *endpoint = exchange->endpoint;
	struct st_stream *stream = &exchange->stream;
	if (is_modern(message, stream->request)) {
		st_headers_compare(message, header(stream->request, "MCP-Protocol-Version"),
		                   header(stream->request, "Mcp-Method"),
		                   header(stream->request, "Mcp-Name"));
		exchange->peer = modern_peer(endpoint, from->owner);
		if (!exchange->peer)
			refuse_stream(stream, 503, "The server is out of memory. Try again later.");
	} else {
		exchange->initializes =
			message->kind == ST_MCP_REQUEST && st_str_eq(message->method, ST_STR("initialize"));
		exchange->session = exchange->initializes ? first_session(endpoint, stream, from)
		                                          : named_session(endpoint, stream, from->owner);
		exchange->always_ok = message->kind == ST_MCP_REQUEST;
		if (exchange->session) {
			exchange->session->used |= exchange->always_ok && !exchange->initializes;
			exchange->session->request_count++;
			exchange->peer = exchange->session->peer;
		}
	}
	exchange->listens = st_str_eq(message->method, ST_STR("subscriptions/listen"));
	if (stream->request)
		note_call(stream->request, message);
	if (!exchange->peer) {
		st_mcp_message_free(message);
		exchange_done(&exchange->sink);
		return;
	}
	st_mcp_dispatch(exchange->peer, message, &exchange->sink);
}

static bool is_json(const char *type) {
	static const char json[] = "application/json";
	return type && strncasecmp(type, json, sizeof json - 1) == 0 &&
	       strchr("; \t", type[sizeof json - 1]);
}

static void handle_post(struct st_endpoint *endpoint, struct st_request *request) {
	struct st_mcp_message *message = st_mcp_message_new(st_buf_str(&request->body));
	struct exchange *exchange = message ? new_exchange(endpoint, request) : NULL;
	if (!exchange) {
		st_mcp_message_free(message);
		refuse_request(request, 503, "The server is out of memory. Try again later.");
	} else if (!exchange->stream.takes_json && !exchange->stream.takes_events) {
		st_mcp_message_free(message);
		exchange->stream.takes_json = true;
		refuse_stream(&exchange->stream, 406, "Accept application/json and text/event-stream.");
		exchange_done(&exchange->sink);
	} else {
		dispatch_message(exchange, message);
	}
}

/* Open the stream of a session. It replaces an old one, whose connection may be dead. */
static void handle_get(struct st_endpoint *endpoint, struct st_request *request) {
	struct st_stream stream;
	st_stream_begin(&stream, request, NULL);
	bool takes_events = stream.takes_events && header(request, "Accept");
	stream.takes_json = true;
	if (!takes_events) {
		refuse_stream(&stream, 406, "Accept text/event-stream.");
		return;
	}
	struct session *session = named_session(endpoint, &stream, request->caller.owner);
	if (!session)
		return;
	st_stream_end(&session->stream, 200);
	st_stream_move(&session->stream, &stream);
	st_stream_start(&session->stream);
	deliver_queue(session);
}

static void handle_delete(struct st_endpoint *endpoint, struct st_request *request) {
	struct st_stream stream;
	st_stream_begin(&stream, request, NULL);
	stream.takes_json = true;
	struct session *session = named_session(endpoint, &stream, request->caller.owner);
	if (!session)
		return;
	end_session(session);
	st_stream_end(&stream, 204);
}

/* Modern requests use neither GET nor DELETE. */
static bool is_legacy(struct st_request *request) {
	const char *version = header(request, "MCP-Protocol-Version");
	return !version || !st_mcp_is_modern(st_mcp_version_find(st_str(version)));
}

int st_endpoint_new(struct st_loop *loop, struct st_mcp_server *server, size_t sessions_max,
                    int64_t session_idle_s, struct st_endpoint **out, struct stet_error *err) {
	struct st_endpoint *endpoint = calloc(1, sizeof *endpoint);
	if (!endpoint)
		return st_fail_nomem(err);
	endpoint->loop = loop;
	endpoint->server = server;
	endpoint->sessions_max = sessions_max;
	endpoint->session_idle_ms = session_idle_s * 1000;
	*out = endpoint;
	return 0;
}

void st_endpoint_free(struct st_endpoint *endpoint) {
	if (!endpoint)
		return;
	for (struct caller *caller = endpoint->callers, *next; caller; caller = next) {
		next = caller->next;
		free(caller);
	}
	free(endpoint);
}

bool st_endpoint_check_head(struct st_endpoint *endpoint, struct st_request *request) {
	enum st_method method = request->head.method;
	bool legacy = is_legacy(request);
	if (endpoint->closed)
		refuse_request(request, 503, "The server is shutting down.");
	else if (method == ST_METHOD_POST && !is_json(header(request, "Content-Type")))
		refuse_request(request, 415, "The Content-Type must be application/json.");
	else if (method == ST_METHOD_POST ||
	         (legacy && (method == ST_METHOD_GET || method == ST_METHOD_DELETE)))
		return true;
	else {
		st_request_field(request, "Allow", legacy ? "POST, GET, DELETE" : "POST");
		refuse_request(request, 405, "Method not allowed: send messages with POST.");
	}
	return false;
}

void st_endpoint_handle(struct st_endpoint *endpoint, struct st_request *request) {
	/* It may have been closed while the body arrived. */
	if (endpoint->closed)
		refuse_request(request, 503, "The server is shutting down.");
	else if (request->head.method == ST_METHOD_POST)
		handle_post(endpoint, request);
	else if (request->head.method == ST_METHOD_GET)
		handle_get(endpoint, request);
	else
		handle_delete(endpoint, request);
}

void st_endpoint_revoke(struct st_endpoint *endpoint, const struct st_gate *gate) {
	for (struct session *session = endpoint->sessions, *next; session; session = next) {
		next = session->next;
		if (!st_gate_accepts(gate, session->token))
			end_session(session);
	}
	for (struct exchange *exchange = endpoint->exchanges; exchange; exchange = exchange->next) {
		if (st_stream_open(&exchange->stream) && !st_gate_accepts(gate, exchange->caller.token))
			st_request_drop(exchange->stream.request);
	}
}

static void keep_stream_alive(struct st_stream *stream, int64_t now_ms) {
	if (st_stream_open(stream) && stream->streaming && now_ms - stream->sent_ms > KEEP_ALIVE_MS)
		st_stream_keep_alive(stream);
}

void st_endpoint_tick(struct st_endpoint *endpoint) {
	int64_t now_ms = st_now_ms();
	for (struct exchange *exchange = endpoint->exchanges; exchange; exchange = exchange->next) {
		if (exchange->stream.takes_events && now_ms - exchange->since_ms > STREAM_AFTER_MS &&
		    !exchange->initializes)
			st_stream_start(&exchange->stream);
		keep_stream_alive(&exchange->stream, now_ms);
	}
	for (struct session *session = endpoint->sessions, *next; session; session = next) {
		next = session->next;
		keep_stream_alive(&session->stream, now_ms);
		if (is_idle(session, now_ms, endpoint->session_idle_ms))
			end_session(session);
	}
}

void st_endpoint_close(struct st_endpoint *endpoint) {
	endpoint->closed = true;
	while (endpoint->sessions)
		end_session(endpoint->sessions);
	for (struct exchange *exchange = endpoint->exchanges; exchange; exchange = exchange->next)
		exchange->peer = NULL;
	for (struct caller *caller = endpoint->callers; caller; caller = caller->next) {
		if (caller->peer)
			st_mcp_peer_close(caller->peer);
	}
}

struct st_endpoint_load st_endpoint_load(const struct st_endpoint *endpoint) {
	struct st_endpoint_load load = {.sessions = endpoint->session_count};
	for (struct exchange *exchange = endpoint->exchanges; exchange; exchange = exchange->next)
		++*(exchange->listens ? &load.listening : &load.requests);
	for (struct session *session = endpoint->sessions; session; session = session->next)
		load.streams += st_stream_open(&session->stream);
	return load;
}
