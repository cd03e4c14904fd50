#include "net/stream.h"

#include <string.h>

#include "base/clock.h"

const char *st_http_reason(int status) {
	switch (status) {
	case 200:
		return "OK";
	case 202:
		return "Accepted";
	case 204:
		return "No Content";
	case 400:
		return "Bad Request";
	case 401:
		return "Unauthorized";
	case 403:
		return "Forbidden";
	case 404:
		return "Not Found";
	case 405:
		return "Method Not Allowed";
	case 406:
		return "Not Acceptable";
	case 413:
		return "Content Too Large";
	case 415:
		return "Unsupported Media Type";
	case 431:
		return "Request Header Fields Too Large";
	case 503:
		return "Service Unavailable";
	default:
		return "Internal Server Error";
	}
}

/* Whether an Accept header, none being as good as anything, covers a type. */
static bool accepts(const char *accept, const char *type, const char *range) {
	return !accept || strcasestr(accept, type) || strcasestr(accept, range) ||
	       strstr(accept, "*/*");
}

static void stop_watching(struct st_stream *stream) {
	if (stream->closed)
		event_free(stream->closed);
	stream->closed = NULL;
}

/*
 * The connection goes. libevent parts it from a request that is not answered
 * yet, which is then ours to free, but not when it frees the connection for
 * another reason.
 */
static void lose(struct evhttp_connection *connection, void *arg) {
	struct st_stream *stream = arg;
	struct evhttp_request *request = stream->request;
	evhttp_connection_set_closecb(connection, NULL, NULL);
	stop_watching(stream);
	stream->request = NULL;
	if (!request)
		return;
	if (!evhttp_request_get_connection(request))
		evhttp_request_free(request);
	if (stream->gone)
		stream->gone(stream);
}

/* The request, which the next call answers for good. */
static struct evhttp_request *let_go(struct st_stream *stream) {
	struct evhttp_request *request = stream->request;
	struct evhttp_connection *connection = evhttp_request_get_connection(request);
	if (connection)
		evhttp_connection_set_closecb(connection, NULL, NULL);
	stop_watching(stream);
	stream->request = NULL;
	return request;
}

static void drop(struct st_stream *stream) {
	struct evhttp_connection *connection = evhttp_request_get_connection(stream->request);
	if (connection)
		evhttp_connection_free(connection);
}

/* evhttp does not read, and so does not see the end, while a request is being answered. */
static void see_closed(evutil_socket_t fd, short what, void *arg) {
	struct st_stream *stream = arg;
	drop(stream);
}

static void watch(struct st_stream *stream) {
	struct evhttp_connection *connection = evhttp_request_get_connection(stream->request);
	struct bufferevent *bev = evhttp_connection_get_bufferevent(connection);
	evhttp_connection_set_closecb(connection, lose, stream);
	stream->closed = event_new(evhttp_connection_get_base(connection), bufferevent_getfd(bev),
	                           EV_CLOSED, see_closed, stream);
	if (stream->closed)
		event_add(stream->closed, NULL);
}

/* Whether what the client has not read yet is too much. */
static bool is_stuffed(const struct st_stream *stream) {
	struct evhttp_connection *connection = evhttp_request_get_connection(stream->request);
	struct bufferevent *bev = connection ? evhttp_connection_get_bufferevent(connection) : NULL;
	return bev && evbuffer_get_length(bufferevent_get_output(bev)) > ST_STREAM_UNREAD_MAX;
}

/* Send bytes of an event stream; a client that left too much unread is dropped instead. */
static void send_bytes(struct st_stream *stream, struct evbuffer *bytes) {
	if (is_stuffed(stream)) {
		drop(stream);
		return;
	}
	evhttp_send_reply_chunk(stream->request, bytes);
	stream->sent_ms = st_now_ms();
}

static void send_event(struct st_stream *stream, struct st_str message) {
	struct evbuffer *bytes = evbuffer_new();
	if (!bytes || evbuffer_add(bytes, "event: message\ndata: ", 21) < 0 ||
	    evbuffer_add(bytes, message.ptr, message.len) < 0 || evbuffer_add(bytes, "\n\n", 2) < 0)
		drop(stream);
	else
		send_bytes(stream, bytes);
	if (bytes)
		evbuffer_free(bytes);
}

void st_stream_begin(struct st_stream *stream, struct evhttp_request *request,
                     void (*gone)(struct st_stream *stream)) {
	const char *accept = evhttp_find_header(evhttp_request_get_input_headers(request), "Accept");
	*stream = (struct st_stream){
		.request = request,
		.takes_events = accepts(accept, "text/event-stream", "text/*"),
		.takes_json = accepts(accept, "application/json", "application/*"),
		.sent_ms = st_now_ms(),
		.gone = gone,
	};
	watch(stream);
}

void st_stream_move(struct st_stream *to, struct st_stream *from) {
	struct evhttp_request *request = let_go(from);
	st_stream_begin(to, request, from->gone);
}

void st_stream_header(struct st_stream *stream, const char *name, const char *value) {
	if (st_stream_open(stream))
		evhttp_add_header(evhttp_request_get_output_headers(stream->request), name, value);
}

/* A stream may be silent for long: only writing is timed from here on. */
void st_stream_start(struct st_stream *stream) {
	if (stream->streaming || !st_stream_open(stream))
		return;
	struct evhttp_connection *connection = evhttp_request_get_connection(stream->request);
	st_stream_header(stream, "Content-Type", "text/event-stream");
	st_stream_header(stream, "Cache-Control", "no-cache, no-transform");
	st_stream_header(stream, "X-Accel-Buffering", "no");
	stream->streaming = true;
	stream->sent_ms = st_now_ms();
	evhttp_send_reply_start(stream->request, 200, st_http_reason(200));
	if (connection)
		bufferevent_set_timeouts(evhttp_connection_get_bufferevent(connection), NULL,
		                         &(struct timeval){.tv_sec = ST_STREAM_WRITE_S});
}

void st_stream_event(struct st_stream *stream, struct st_str message) {
	if (!stream->takes_events)
		return;
	st_stream_start(stream);
	if (st_stream_open(stream))
		send_event(stream, message);
}

static void end_events(struct st_stream *stream) {
	if (st_stream_open(stream))
		evhttp_send_reply_end(let_go(stream));
}

static void reply(struct st_stream *stream, int status, struct evbuffer *body) {
	st_stream_header(stream, "X-Content-Type-Options", "nosniff");
	evhttp_send_reply(let_go(stream), status, st_http_reason(status), body);
}

void st_stream_answer(struct st_stream *stream, int status, struct st_str message) {
	if (!st_stream_open(stream))
		return;
	if (stream->streaming || (!stream->takes_json && status == 200)) {
		st_stream_event(stream, message);
		end_events(stream);
		return;
	}
	struct evbuffer *body = evbuffer_new();
	if (!body || evbuffer_add(body, message.ptr, message.len) < 0) {
		drop(stream);
	} else {
		st_stream_header(stream, "Content-Type", "application/json");
		reply(stream, status, body);
	}
	if (body)
		evbuffer_free(body);
}

void st_stream_end(struct st_stream *stream, int status) {
	if (!st_stream_open(stream))
		return;
	if (stream->streaming)
		end_events(stream);
	else
		reply(stream, status, NULL);
}

void st_stream_keep_alive(struct st_stream *stream) {
	struct evbuffer *bytes = evbuffer_new();
	if (bytes && evbuffer_add(bytes, ":\n\n", 3) == 0)
		send_bytes(stream, bytes);
	if (bytes)
		evbuffer_free(bytes);
}
