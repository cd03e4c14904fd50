/**
 * What is on its way out of a descriptor: written without ever waiting, the
 * rest kept until there is room.
 *
 * The descriptor's flags stay as they are, since others may share them.
 */
#ifndef STET_NET_OUTBOX_H
#define STET_NET_OUTBOX_H

#include "base/buf.h"

struct st_outbox {
	int fd;
	/** How to write without waiting; depends on what it is. */
	enum { ST_OUTBOX_FILE, ST_OUTBOX_SOCKET, ST_OUTBOX_NOWAIT, ST_OUTBOX_POLLED } way;
	/** What could not be written yet, from `sent` on. */
	struct st_buf waiting;
	size_t sent;
	/** Nobody reads the other end any more, or it failed: everything is dropped. */
	bool closed;
};

void st_outbox_init(struct st_outbox *box, int fd);
void st_outbox_release(struct st_outbox *box);

/** Send a buffer's contents, which may be taken. Without memory for what has to wait, the box closes. */
void st_outbox_send(struct st_outbox *box, struct st_buf *bytes);

/** Write as much as goes. True if something was written. */
bool st_outbox_flush(struct st_outbox *box);

/** How many bytes wait. */
static inline size_t st_outbox_waiting(const struct st_outbox *box) {
	return box->waiting.len - box->sent;
}

#endif
