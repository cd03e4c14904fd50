/**
 * An HTTP answer: a JSON body, or a stream of server-sent events.
 *
 * A stream may outlive its connection: if the client disconnects or does not
 * read, `gone` is called once, and later output is dropped.
 *
 *     st_stream_begin(&stream, request, gone);
 *     st_stream_event(&stream, message);        // begins a stream of events
 *     st_stream_answer(&stream, 200, answer);   // the last event, or a JSON body
 */
#ifndef STET_NET_STREAM_H
#define STET_NET_STREAM_H

#include "net/connection.h"

enum {
	/** The most unread bytes before a client is disconnected, besides the last event. */
	ST_STREAM_UNREAD_MAX = 4 << 20,
};

struct st_stream {
	/** NULL after the answer, or after the client disconnected. */
	struct st_request *request;
	/** The client accepts events; JSON. */
	bool takes_events, takes_json;
	/** Events have begun. */
	bool streaming;
	/** The time of the last output. */
	int64_t sent_ms;
	/** Called when the client disconnects; may free the stream. May be NULL. */
	void (*gone)(struct st_stream *stream);
};

/** Initialize a stream for a request. */
void st_stream_begin(struct st_stream *stream, struct st_request *request,
                     void (*gone)(struct st_stream *stream));

/** Move an open stream to another one, which is not open. */
void st_stream_move(struct st_stream *to, struct st_stream *from);

/** Whether the client still waits for the answer. */
static inline bool st_stream_open(const struct st_stream *stream) {
	return stream->request != NULL;
}

/** Add a header, before the first output. */
void st_stream_header(struct st_stream *stream, const char *name, const char *value);

/** Begin a stream of events, unless it has begun. */
void st_stream_start(struct st_stream *stream);

/** Send an event, if the client accepts events. */
void st_stream_event(struct st_stream *stream, struct st_str message);

/** Send the answer, as the last event or as a JSON body with this status. */
void st_stream_answer(struct st_stream *stream, int status, struct st_str message);

/** End without an answer: end the events, or send an empty body with this status. */
void st_stream_end(struct st_stream *stream, int status);

/** Send a comment, so that proxies do not close the stream. */
void st_stream_keep_alive(struct st_stream *stream);

#endif
