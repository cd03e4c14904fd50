/**
 * Output to a descriptor without blocking: bytes that cannot be written yet wait
 * in a buffer.
 *
 * The outbox does not set O_NONBLOCK, since other processes may share the
 * descriptor's flags.
 */
#ifndef STET_NET_OUTBOX_H
#define STET_NET_OUTBOX_H

#include "base/buf.h"

struct st_outbox {
	int fd;
	/** How to write without blocking; depends on the kind of file. */
	enum { ST_OUTBOX_FILE, ST_OUTBOX_SOCKET, ST_OUTBOX_NOWAIT, ST_OUTBOX_POLLED } way;
	/** Bytes that could not be written yet, from `sent` on. */
	struct st_buf waiting;
	size_t sent;
	/** The other end is closed or an error occurred: all output is dropped. */
	bool closed;
};

void st_outbox_init(struct st_outbox *box, int fd);
void st_outbox_release(struct st_outbox *box);

/** Send the contents of a buffer, perhaps taking its memory. Without memory, the outbox closes. */
void st_outbox_send(struct st_outbox *box, struct st_buf *bytes);

/** Write as much as possible. True if bytes were written. */
bool st_outbox_flush(struct st_outbox *box);

/** The number of waiting bytes. */
static inline size_t st_outbox_waiting(const struct st_outbox *box) {
	return box->waiting.len - box->sent;
}

#endif
