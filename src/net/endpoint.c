#include "net/endpoint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#include "base/clock.h"
#include "net/gate.h"
#include "net/headers.h"

enum {
	SESSION_ID = 32,
	/* Notifications that a session keeps while it has no stream. */
	NOTES_MAX = 64,
	/* A request that takes longer than this is answered by a stream, where the client takes one. */
	PATIENCE_MS = 10'000,
	KEEP_ALIVE_MS = 15'000,
};

/* Who holds a token. */
struct caller {
	struct caller *next;
	char owner[ST_GATE_OWNER + 1];
	/* For modern requests; NULL before the first. */
	struct st_mcp_peer *peer;
	size_t session_count;
};

/* A legacy session. Its sink takes what belongs to no request. */
struct session {
	struct st_mcp_sink sink;
	struct session *next, **place;
	struct st_endpoint *endpoint;
	struct st_mcp_peer *peer;
	char id[SESSION_ID + 1];
	struct caller *caller;
	/* initialize succeeded: the client knows the id. */
	bool begun;
	/* It made a request since. */
	bool worked;
	struct st_stream stream;
	struct note *notes, **notes_end;
	size_t note_count, request_count;
	int64_t used_ms;
	struct st_task last;
};

/* A message on its way to a session's stream. */
struct note {
	struct st_task task;
	struct note *next;
	struct session *session;
	struct st_buf message;
};

/* A POST under way. */
struct exchange {
	struct st_mcp_sink sink;
	struct exchange *next, **place;
	struct st_endpoint *endpoint;
	struct st_stream stream;
	/* NULL for a modern one, and when the session has ended. */
	struct session *session;
	/* NULL when it was closed. */
	struct st_mcp_peer *peer;
	char owner[ST_GATE_OWNER + 1];
	bool initializes, listens;
	/* A legacy request: the status is about the session, what is wrong with the request is in its answer. */
	bool always_ok;
	int64_t since_ms;
	struct st_buf answer;
	int status;
	struct st_task answered, finished;
};

/* An event on its way to the stream of an exchange. */
struct parcel {
	struct st_task task;
	struct exchange *exchange;
	struct st_buf message;
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

/* An error about the request as such, which has no message to answer. */
static void refuse(struct st_stream *stream, int status, const char *problem) {
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
	refuse(&stream, status, problem);
}

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

/* Sessions. */

static void show_note(struct st_task *task) {
	struct note *note = outer_of(note, task, task);
	struct session *session = note->session;
	if (st_stream_open(&session->stream))
		st_stream_event(&session->stream, st_buf_str(&note->message));
	else if (session->note_count < NOTES_MAX) {
		note->next = NULL;
		*session->notes_end = note;
		session->notes_end = &note->next;
		session->note_count++;
		return;
	}
	st_buf_release(&note->message);
	free(note);
}

/* Without memory a notification is lost, as it is when the client is not there. */
static void session_event(struct st_mcp_sink *sink, struct st_buf *message) {
	struct session *session = outer_of(session, sink, sink);
	struct note *note = calloc(1, sizeof *note);
	if (!note)
		return;
	note->task.run = show_note;
	note->session = session;
	st_buf_move(&note->message, message);
	st_loop_queue(session->endpoint->loop, &note->task);
}

static void show_notes(struct session *session) {
	struct note *note = session->notes;
	session->notes = NULL;
	session->notes_end = &session->notes;
	session->note_count = 0;
	for (struct note *next; note; note = next) {
		next = note->next;
		show_note(&note->task);
	}
}

static void free_session(struct st_task *task) {
	struct session *session = outer_of(session, last, task);
	for (struct note *note = session->notes, *next; note; note = next) {
		next = note->next;
		st_buf_release(&note->message);
		free(note);
	}
	free(session);
}

static struct session *new_session(struct st_endpoint *endpoint, const char *owner) {
	unsigned char random[SESSION_ID / 2];
	struct session *session = calloc(1, sizeof *session);
	struct caller *caller = caller_of(endpoint, owner);
	if (!session || !caller || getrandom(random, sizeof random, 0) != sizeof random) {
		free(session);
		return NULL;
	}
	session->sink.event = session_event;
	session->endpoint = endpoint;
	session->notes_end = &session->notes;
	session->used_ms = st_now_ms();
	for (size_t i = 0; i < sizeof random; i++)
		snprintf(session->id + 2 * i, 3, "%02x", random[i]);
	session->caller = caller;
	if (st_mcp_peer_new(endpoint->server, ST_MCP_SESSION, *owner ? owner : NULL, &session->sink,
	                    &session->peer, NULL) < 0) {
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

/* What the core still had to say is in the loop's queue, so the memory goes behind it. */
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
	session->last.run = free_session;
	st_loop_queue(endpoint->loop, &session->last);
}

static bool is_unused(const struct session *session, int64_t now_ms, int64_t for_ms) {
	return session->request_count == 0 && !st_stream_open(&session->stream) &&
	       now_ms - session->used_ms > for_ms;
}

static struct caller *greediest(const struct st_endpoint *endpoint) {
	struct caller *most = endpoint->callers;
	for (struct caller *caller = most; caller; caller = caller->next) {
		if (caller->session_count > most->session_count)
			most = caller;
	}
	return most;
}

/* How much it would be missed: less if it did nothing since it began, more if its client listens. */
static int worth(const struct session *session) {
	return (session->worked ? 2 : 0) + (st_stream_open(&session->stream) ? 1 : 0);
}

/*
 * Room for one more session. If there is none, one of the caller that has the
 * most has to go: the one that would be missed least, of these the one unused
 * the longest. So one that begins session after session loses those, and
 * nobody else any.
 */
static bool make_room(struct st_endpoint *endpoint) {
	struct session *victim = NULL;
	if (endpoint->session_count < endpoint->sessions_max)
		return true;
	const struct caller *caller = greediest(endpoint);
	for (struct session *session = endpoint->sessions; session; session = session->next) {
		if (session->request_count > 0 || session->caller != caller)
			continue;
		if (!victim || worth(session) < worth(victim) ||
		    (worth(session) == worth(victim) && session->used_ms <= victim->used_ms))
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

/* Exchanges. */

static void show_event(struct st_task *task) {
	struct parcel *parcel = outer_of(parcel, task, task);
	st_stream_event(&parcel->exchange->stream, st_buf_str(&parcel->message));
	st_buf_release(&parcel->message);
	free(parcel);
}

static void exchange_event(struct st_mcp_sink *sink, struct st_buf *message) {
	struct exchange *exchange = outer_of(exchange, sink, sink);
	struct parcel *parcel = calloc(1, sizeof *parcel);
	if (!parcel)
		return;
	parcel->task.run = show_event;
	parcel->exchange = exchange;
	st_buf_move(&parcel->message, message);
	st_loop_queue(exchange->endpoint->loop, &parcel->task);
}

/* initialize was answered: either there is a session now, or it comes to nothing. */
static void resolve_session(struct exchange *exchange) {
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

static void show_answer(struct st_task *task) {
	struct exchange *exchange = outer_of(exchange, answered, task);
	if (exchange->initializes)
		resolve_session(exchange);
	st_stream_answer(&exchange->stream, exchange->status, st_buf_str(&exchange->answer));
	st_buf_release(&exchange->answer);
}

static void exchange_answer(struct st_mcp_sink *sink, struct st_buf *message, int status) {
	struct exchange *exchange = outer_of(exchange, sink, sink);
	st_buf_move(&exchange->answer, message);
	exchange->status = exchange->always_ok ? 200 : status;
	exchange->answered.run = show_answer;
	st_loop_queue(exchange->endpoint->loop, &exchange->answered);
}

static void finish(struct st_task *task) {
	struct exchange *exchange = outer_of(exchange, finished, task);
	if (exchange->initializes)
		resolve_session(exchange);
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
	exchange->finished.run = finish;
	st_loop_queue(exchange->endpoint->loop, &exchange->finished);
}

/* A modern client cancels by going. A legacy one may only have lost its connection: the work goes on. */
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
	memcpy(exchange->owner, request->owner, sizeof exchange->owner);
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

/* Requests. */

static const char *header(struct st_request *request, const char *name) {
	return st_head_field(&request->head, name);
}

static bool is_modern(const struct st_mcp_message *message, struct st_request *request) {
	const char *version = header(request, "MCP-Protocol-Version");
	return message->claim != ST_MCP_CLAIM_NONE || message->kind == ST_MCP_BROKEN ||
	       (version && st_mcp_is_modern(st_mcp_version_find(st_str(version))));
}

/* The session that a legacy request names; NULL when it was answered with why there is none. */
static struct session *named_session(struct st_endpoint *endpoint, struct st_stream *stream,
                                     const char *owner) {
	const char *id = header(stream->request, "Mcp-Session-Id");
	const char *version = header(stream->request, "MCP-Protocol-Version");
	struct session *session = id ? find_session(endpoint, id, owner) : NULL;
	if (!id)
		refuse(stream, 400,
		       "There is no Mcp-Session-Id. Begin with initialize, and send the id that its answer "
		       "has in this header; or speak 2026-07-28, which has no sessions.");
	else if (!session)
		refuse(stream, 404, "There is no such session (any more). Begin again with initialize.");
	else if (version && st_mcp_version_find(st_str(version)) == ST_MCP_NONE) {
		refuse(stream, 400, "The server does not have this MCP-Protocol-Version.");
		return NULL;
	}
	return session;
}

static struct session *first_session(struct st_endpoint *endpoint, struct st_stream *stream,
                                     const char *owner) {
	struct session *session = make_room(endpoint) ? new_session(endpoint, owner) : NULL;
	if (!session)
		refuse(stream, 503, "There are too many sessions. End some with DELETE, or try later.");
	return session;
}

static void dispatch(struct exchange *exchange, struct st_mcp_message *message) {
	const char *owner = exchange->owner;
	struct st_endpoint *endpoint = exchange->endpoint;
	struct st_stream *stream = &exchange->stream;
	if (is_modern(message, stream->request)) {
		st_headers_compare(message, header(stream->request, "MCP-Protocol-Version"),
		                   header(stream->request, "Mcp-Method"),
		                   header(stream->request, "Mcp-Name"));
		exchange->peer = modern_peer(endpoint, owner);
		if (!exchange->peer)
			refuse(stream, 503, "The server is out of memory. Try again later.");
	} else {
		exchange->initializes =
			message->kind == ST_MCP_REQUEST && st_str_eq(message->method, ST_STR("initialize"));
		exchange->session = exchange->initializes ? first_session(endpoint, stream, owner)
		                                          : named_session(endpoint, stream, owner);
		exchange->always_ok = message->kind == ST_MCP_REQUEST;
		if (exchange->session) {
			exchange->session->worked |= exchange->always_ok && !exchange->initializes;
			exchange->session->request_count++;
			exchange->peer = exchange->session->peer;
		}
	}
	exchange->listens = st_str_eq(message->method, ST_STR("subscriptions/listen"));
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
		refuse(&exchange->stream, 406, "Accept application/json and text/event-stream.");
		exchange_done(&exchange->sink);
	} else {
		dispatch(exchange, message);
	}
}

/* The stream of a session. A new one takes the place of an old one, whose connection may be dead. */
static void get(struct st_endpoint *endpoint, struct st_request *request) {
	struct st_stream stream;
	st_stream_begin(&stream, request, NULL);
	bool takes_events = stream.takes_events && header(request, "Accept");
	stream.takes_json = true;
	if (!takes_events) {
		refuse(&stream, 406, "Accept text/event-stream.");
		return;
	}
	struct session *session = named_session(endpoint, &stream, request->owner);
	if (!session)
		return;
	st_stream_end(&session->stream, 200);
	st_stream_move(&session->stream, &stream);
	st_stream_start(&session->stream);
	show_notes(session);
}

static void delete (struct st_endpoint *endpoint, struct st_request *request) {
	struct st_stream stream;
	st_stream_begin(&stream, request, NULL);
	stream.takes_json = true;
	struct session *session = named_session(endpoint, &stream, request->owner);
	if (!session)
		return;
	end_session(session);
	st_stream_end(&stream, 204);
}

/* The modern era has neither streams nor sessions. */
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

bool st_endpoint_judge(struct st_endpoint *endpoint, struct st_request *request) {
	enum st_method method = request->head.method;
	bool legacy = is_legacy(request);
	if (endpoint->closed)
		refuse_request(request, 503, "The server is about to end.");
	else if (method == ST_METHOD_POST && !is_json(header(request, "Content-Type")))
		refuse_request(request, 415, "The Content-Type has to be application/json.");
	else if (method == ST_METHOD_POST ||
	         (legacy && (method == ST_METHOD_GET || method == ST_METHOD_DELETE)))
		return true;
	else {
		st_request_field(request, "Allow", legacy ? "POST, GET, DELETE" : "POST");
		refuse_request(request, 405, "The endpoint takes messages by POST.");
	}
	return false;
}

/* It may have been closed while the body came. */
void st_endpoint_handle(struct st_endpoint *endpoint, struct st_request *request) {
	if (endpoint->closed)
		refuse_request(request, 503, "The server is about to end.");
	else if (request->head.method == ST_METHOD_POST)
		handle_post(endpoint, request);
	else if (request->head.method == ST_METHOD_GET)
		get(endpoint, request);
	else
		delete (endpoint, request);
}

void st_endpoint_revoke(struct st_endpoint *endpoint, const struct st_gate *gate) {
	for (struct session *session = endpoint->sessions, *next; session; session = next) {
		next = session->next;
		if (!st_gate_owner(gate, session->caller->owner))
			end_session(session);
	}
	for (struct exchange *exchange = endpoint->exchanges; exchange; exchange = exchange->next) {
		if (st_stream_open(&exchange->stream) && !st_gate_owner(gate, exchange->owner))
			st_request_drop(exchange->stream.request);
	}
}

static void tend_stream(struct st_stream *stream, int64_t now_ms) {
	if (st_stream_open(stream) && stream->streaming && now_ms - stream->sent_ms > KEEP_ALIVE_MS)
		st_stream_keep_alive(stream);
}

void st_endpoint_tend(struct st_endpoint *endpoint) {
	int64_t now_ms = st_now_ms();
	for (struct exchange *exchange = endpoint->exchanges; exchange; exchange = exchange->next) {
		if (exchange->stream.takes_events && now_ms - exchange->since_ms > PATIENCE_MS &&
		    !exchange->initializes)
			st_stream_start(&exchange->stream);
		tend_stream(&exchange->stream, now_ms);
	}
	for (struct session *session = endpoint->sessions, *next; session; session = next) {
		next = session->next;
		tend_stream(&session->stream, now_ms);
		if (is_unused(session, now_ms, endpoint->session_idle_ms))
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
