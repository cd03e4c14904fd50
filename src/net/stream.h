/**
 * One HTTP answer under way: a JSON body, or a stream of server-sent events.
 *
 * It outlives the connection: a client that goes, or does not read, is
 * reported once through `gone`, and whatever is sent from then on is dropped.
 *
 *     st_stream_begin(&stream, request, gone);
 *     st_stream_event(&stream, message);        // begins a stream of events
 *     st_stream_answer(&stream, 200, answer);   // its last event; or else a JSON body
 */
#ifndef STET_NET_STREAM_H
#define STET_NET_STREAM_H

#include "net/connection.h"

enum {
	/** What a client may leave unread before it is dropped, besides the last event. */
	ST_STREAM_UNREAD_MAX = 4 << 20,
};

struct st_stream {
	/** NULL once it is answered or the client has gone. */
	struct st_request *request;
	/** The client takes events, or JSON. */
	bool takes_events, takes_json;
	/** Events have begun. */
	bool streaming;
	/** When something was last sent. */
	int64_t sent_ms;
	/** The client has gone; may be NULL. It may free the stream. */
	void (*gone)(struct st_stream *stream);
};

/** Take over a request. */
void st_stream_begin(struct st_stream *stream, struct st_request *request,
                     void (*gone)(struct st_stream *stream));

/** Have another stream, which is not open, go on with what one began. */
void st_stream_move(struct st_stream *to, struct st_stream *from);

/** Whether anybody still waits for it. */
static inline bool st_stream_open(const struct st_stream *stream) {
	return stream->request != NULL;
}

/** Add a header, before anything is sent. */
void st_stream_header(struct st_stream *stream, const char *name, const char *value);

/** Begin the stream of events, unless it has begun. */
void st_stream_start(struct st_stream *stream);

/** Send an event; dropped if the client takes none. */
void st_stream_event(struct st_stream *stream, struct st_str message);

/** Send the answer and end it: as the last event, or as a JSON body with this status. */
void st_stream_answer(struct st_stream *stream, int status, struct st_str message);

/** End it without an answer: a bare status, or the end of the events. */
void st_stream_end(struct st_stream *stream, int status);

/** Send a comment, so that nobody in between takes the stream for dead. */
void st_stream_keep_alive(struct st_stream *stream);

#endif
