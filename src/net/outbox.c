#include "net/outbox.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>

/* A pipe that is writable takes this much without blocking: PIPE_BUF. */
enum { ATOM = 4096 };
/* Room for a whole answer, so that the server need not wait for the client to read a part of it. */
enum { PIPE_BYTES = 512 << 10 };

void st_outbox_init(struct st_outbox *box, int fd) {
	struct stat st;
	*box = (struct st_outbox){.fd = fd, .way = ST_OUTBOX_NOWAIT};
	if (fstat(fd, &st) < 0)
		return;
	if (S_ISREG(st.st_mode))
		box->way = ST_OUTBOX_FILE;
	else if (S_ISSOCK(st.st_mode))
		box->way = ST_OUTBOX_SOCKET;
	else if (S_ISFIFO(st.st_mode) && fcntl(fd, F_GETPIPE_SZ) < PIPE_BYTES)
		/* This may fail for a user with many pipes; writing is then only slower. */
		fcntl(fd, F_SETPIPE_SZ, PIPE_BYTES);
}

void st_outbox_release(struct st_outbox *box) {
	st_buf_release(&box->waiting);
}

static ssize_t write_polled(int fd, struct st_str bytes) {
	struct pollfd ready = {.fd = fd, .events = POLLOUT};
	if (poll(&ready, 1, 0) <= 0) {
		errno = EAGAIN;
		return -1;
	}
	return write(fd, bytes.ptr, bytes.len < ATOM ? bytes.len : ATOM);
}

/* Pipes of older kernels, and terminals, do not support RWF_NOWAIT: poll them before writing. */
static ssize_t write_nowait(struct st_outbox *box, struct st_str bytes) {
	union {
		const char *readable;
		void *wanted;
	} start = {.readable = bytes.ptr};
	struct iovec part = {.iov_base = start.wanted, .iov_len = bytes.len};
	ssize_t len = pwritev2(box->fd, &part, 1, -1, RWF_NOWAIT);
	if (len >= 0 || (errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL))
		return len;
	box->way = ST_OUTBOX_POLLED;
	return write_polled(box->fd, bytes);
}

static ssize_t write_some(struct st_outbox *box, struct st_str bytes) {
	switch (box->way) {
	case ST_OUTBOX_FILE:
		return write(box->fd, bytes.ptr, bytes.len);
	case ST_OUTBOX_SOCKET:
		return send(box->fd, bytes.ptr, bytes.len, MSG_DONTWAIT | MSG_NOSIGNAL);
	case ST_OUTBOX_NOWAIT:
		return write_nowait(box, bytes);
	default:
		return write_polled(box->fd, bytes);
	}
}

/* Write until it would block. Returns the number of bytes. */
static size_t write_all(struct st_outbox *box, struct st_str bytes) {
	size_t done = 0;
	while (done < bytes.len) {
		ssize_t len = write_some(box, st_str_slice(bytes, done, bytes.len));
		if (len > 0)
			done += (size_t)len;
		else if (len < 0 && errno == EINTR)
			continue;
		else if (len < 0 && errno != EAGAIN)
			box->closed = true;
		if (len <= 0)
			break;
	}
	return done;
}

static void drop_waiting(struct st_outbox *box) {
	st_buf_release(&box->waiting);
	box->sent = 0;
}

void st_outbox_send(struct st_outbox *box, struct st_buf *bytes) {
	size_t done = 0;
	if (box->closed)
		return;
	if (st_outbox_waiting(box) == 0)
		done = write_all(box, st_buf_str(bytes));
	if (done == bytes->len || box->closed)
		return;
	if (box->waiting.len == 0) {
		st_buf_move(&box->waiting, bytes);
		box->sent = done;
	} else {
		st_buf_add(&box->waiting, st_str_slice(st_buf_str(bytes), done, bytes->len));
	}
	box->closed = box->waiting.failed;
}

bool st_outbox_flush(struct st_outbox *box) {
	struct st_str rest = st_str_slice(st_buf_str(&box->waiting), box->sent, box->waiting.len);
	size_t done = box->closed ? 0 : write_all(box, rest);
	box->sent += done;
	if (box->closed || box->sent == box->waiting.len)
		drop_waiting(box);
	return done > 0;
}
