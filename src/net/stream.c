#include "net/stream.h"

#include <string.h>
#include <strings.h>

#include "base/clock.h"

/* Whether the Accept fields include a type. Without such a field, any type is accepted. */
static bool accepts(const struct st_head *head, const char *type, const char *range) {
	bool asked = false;
	for (size_t i = 0; i < head->field_count; i++) {
		const char *value = head->fields[i].value;
		if (strcasecmp(head->fields[i].name, "Accept") != 0)
			continue;
		asked = true;
		if (strcasestr(value, type) || strcasestr(value, range) || strstr(value, "*/*"))
			return true;
	}
	return !asked;
}

static void on_gone(void *arg) {
	struct st_stream *stream = arg;
	stream->request = NULL;
	if (stream->gone)
		stream->gone(stream);
}

/* Detach the request, which the caller then answers. */
static struct st_request *detach_request(struct st_stream *stream) {
	struct st_request *request = stream->request;
	st_request_watch(request, NULL, NULL);
	stream->request = NULL;
	return request;
}

/* Send bytes of an event stream, or disconnect a client that has too many unread bytes. */
static void send_or_drop(struct st_stream *stream, struct st_str bytes) {
	if (st_request_unsent(stream->request) > ST_STREAM_UNREAD_MAX) {
		st_request_drop(stream->request);
		return;
	}
	stream->sent_ms = st_now_ms();
	st_request_send(stream->request, bytes);
}

static void send_event(struct st_stream *stream, struct st_str message) {
	st_auto(st_buf) bytes = ST_BUF_INIT;
	st_buf_adds(&bytes, "event: message\ndata: ");
	st_buf_add(&bytes, message);
	st_buf_adds(&bytes, "\n\n");
	if (bytes.failed)
		st_request_drop(stream->request);
	else
		send_or_drop(stream, st_buf_str(&bytes));
}

void st_stream_begin(struct st_stream *stream, struct st_request *request,
                     void (*gone)(struct st_stream *stream)) {
	*stream = (struct st_stream){
		.request = request,
		.takes_events = accepts(&request->head, "text/event-stream", "text/*"),
		.takes_json = accepts(&request->head, "application/json", "application/*"),
		.sent_ms = st_now_ms(),
		.gone = gone,
	};
	st_request_watch(request, on_gone, stream);
}

void st_stream_move(struct st_stream *to, struct st_stream *from) {
	struct st_request *request = detach_request(from);
	st_stream_begin(to, request, from->gone);
}

void st_stream_header(struct st_stream *stream, const char *name, const char *value) {
	if (st_stream_open(stream))
		st_request_field(stream->request, name, value);
}

void st_stream_start(struct st_stream *stream) {
	if (stream->streaming || !st_stream_open(stream))
		return;
	st_stream_header(stream, "Content-Type", "text/event-stream");
	st_stream_header(stream, "Cache-Control", "no-cache, no-transform");
	st_stream_header(stream, "X-Accel-Buffering", "no");
	stream->streaming = true;
	stream->sent_ms = st_now_ms();
	st_request_start(stream->request);
}

void st_stream_event(struct st_stream *stream, struct st_str message) {
	if (!stream->takes_events)
		return;
	st_stream_start(stream);
	if (st_stream_open(stream))
		send_event(stream, message);
}

static void send_body(struct st_stream *stream, int status, struct st_str body) {
	st_stream_header(stream, "X-Content-Type-Options", "nosniff");
	st_request_answer(detach_request(stream), status, body);
}

void st_stream_answer(struct st_stream *stream, int status, struct st_str message) {
	if (!st_stream_open(stream))
		return;
	if (stream->streaming || (!stream->takes_json && status == 200)) {
		st_stream_event(stream, message);
		st_stream_end(stream, 200);
		return;
	}
	st_stream_header(stream, "Content-Type", "application/json");
	send_body(stream, status, message);
}

void st_stream_end(struct st_stream *stream, int status) {
	if (!st_stream_open(stream))
		return;
	if (stream->streaming)
		st_request_end(detach_request(stream));
	else
		send_body(stream, status, ST_STR(""));
}

void st_stream_keep_alive(struct st_stream *stream) {
	send_or_drop(stream, ST_STR(":\n\n"));
}
