/*
 * stet/mcp.h: serves one client on two descriptors, on one thread. Messages are
 * answered in the order of arrival. If the client does not read its answers, the
 * server stops reading its messages; see WAITING_MAX.
 */
#include <poll.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "base/clock.h"
#include "mcp/service/service.h"
#include "stet/mcp.h"
#include "tools/host.h"

/* The longest line, and how much of both ends of a longer one is kept, to find its id. */
#define LINE_MAX_BYTES ((size_t)32 << 20)
enum { EDGE = 512, CHUNK = 64 << 10 };
/* How much output may wait for a client that does not read, and how much input is read ahead. */
#define WAITING_MAX ((size_t)8 << 20)
#define AHEAD_MAX ((size_t)1 << 20)
/* How long to wait at the end for a client that does not read. */
enum { DRAIN_MS = 5000 };

/* ---- output ---- */

/*
 * Output to a descriptor without blocking: bytes that cannot be written yet wait
 * in a buffer. O_NONBLOCK is not set, since other processes may share the
 * descriptor's flags.
 */
struct outbox {
	int fd;
	/* How to write without blocking; depends on the kind of file. */
	enum { OUTBOX_FILE, OUTBOX_SOCKET, OUTBOX_NOWAIT, OUTBOX_POLLED } way;
	/* Bytes that could not be written yet, from `sent` on. */
	struct st_buf waiting;
	size_t sent;
	/* The other end is closed or an error occurred: all output is dropped. */
	bool closed;
};

/* The number of waiting bytes. */
static size_t outbox_waiting(const struct outbox *box) {
	return box->waiting.len - box->sent;
}

/* A pipe that is writable takes this much without blocking: PIPE_BUF. */
enum { ATOM = 4096 };
/* Room for a whole answer, so that the server need not wait for the client to read a part of it. */
enum { PIPE_BYTES = 512 << 10 };

static void outbox_init(struct outbox *box, int fd) {
	struct stat st;
	*box = (struct outbox){.fd = fd, .way = OUTBOX_NOWAIT};
	if (fstat(fd, &st) < 0)
		return;
	if (S_ISREG(st.st_mode))
		box->way = OUTBOX_FILE;
	else if (S_ISSOCK(st.st_mode))
		box->way = OUTBOX_SOCKET;
	else if (S_ISFIFO(st.st_mode) && fcntl(fd, F_GETPIPE_SZ) < PIPE_BYTES)
		/* This may fail for a user with many pipes; writing is then only slower. */
		fcntl(fd, F_SETPIPE_SZ, PIPE_BYTES);
}

static void outbox_release(struct outbox *box) {
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
static ssize_t write_nowait(struct outbox *box, struct st_str bytes) {
	union {
		const char *readable;
		void *wanted;
	} start = {.readable = bytes.ptr};
	struct iovec part = {.iov_base = start.wanted, .iov_len = bytes.len};
	ssize_t len = pwritev2(box->fd, &part, 1, -1, RWF_NOWAIT);
	if (len >= 0 || (errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL))
		return len;
	box->way = OUTBOX_POLLED;
	return write_polled(box->fd, bytes);
}

static ssize_t write_some(struct outbox *box, struct st_str bytes) {
	switch (box->way) {
	case OUTBOX_FILE:
		return write(box->fd, bytes.ptr, bytes.len);
	case OUTBOX_SOCKET:
		return send(box->fd, bytes.ptr, bytes.len, MSG_DONTWAIT | MSG_NOSIGNAL);
	case OUTBOX_NOWAIT:
		return write_nowait(box, bytes);
	default:
		return write_polled(box->fd, bytes);
	}
}

/* Write until it would block. Returns the number of bytes. */
static size_t write_all(struct outbox *box, struct st_str bytes) {
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

static void drop_waiting(struct outbox *box) {
	st_buf_release(&box->waiting);
	box->sent = 0;
}

/* Send the contents of a buffer, perhaps taking its memory. Without memory, the outbox closes. */
static void outbox_send(struct outbox *box, struct st_buf *bytes) {
	size_t done = 0;
	if (box->closed)
		return;
	if (outbox_waiting(box) == 0)
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

/* Write as much as possible. True if bytes were written. */
static bool outbox_flush(struct outbox *box) {
	struct st_str rest = st_str_slice(st_buf_str(&box->waiting), box->sent, box->waiting.len);
	size_t done = box->closed ? 0 : write_all(box, rest);
	box->sent += done;
	if (box->closed || box->sent == box->waiting.len)
		drop_waiting(box);
	return done > 0;
}

/* ---- the connection ---- */

struct stdio {
	struct st_mcp_sink sink;
	struct st_mcp_executor executor;
	struct outbox out;
	/* -1 after the end of input. */
	int in;
	int stop;
	struct st_service *service;
	struct st_mcp_server *server;
	struct st_mcp_peer *peer;
	/* The unprocessed input, and how far it was searched for a line end. */
	struct st_buf input;
	size_t searched;
	/* How far it was searched for urgent messages; see handle_urgent(). */
	size_t scanned;
	/* Within a line that is too long: input has its first bytes, tail its last ones. */
	bool skipping;
	char tail[EDGE];
	size_t tail_len;
	/* Stop serving. */
	bool ended;
};

static void send_line(struct st_mcp_sink *sink, struct st_buf *message) {
	struct stdio *io = (struct stdio *)sink;
	st_buf_addc(message, '\n');
	if (!message->failed)
		outbox_send(&io->out, message);
}

static void send_answer(struct st_mcp_sink *sink, struct st_buf *message, int status) {
	send_line(sink, message);
}

static void ignore_done(struct st_mcp_sink *sink) {
}

/* ---- lines ---- */

static void handle_line(struct stdio *io, struct st_str line) {
	if (st_str_trim(line).len > 0)
		st_mcp_receive(io->peer, line, &io->sink);
}

static void keep_tail(struct stdio *io, struct st_str bytes) {
	if (bytes.len >= EDGE) {
		memcpy(io->tail, bytes.ptr + bytes.len - EDGE, EDGE);
		io->tail_len = EDGE;
		return;
	}
	size_t carried = io->tail_len < EDGE - bytes.len ? io->tail_len : EDGE - bytes.len;
	memmove(io->tail, io->tail + io->tail_len - carried, carried);
	memcpy(io->tail + carried, bytes.ptr, bytes.len);
	io->tail_len = carried + bytes.len;
}

/* Drop the input of a line that is too long, except its first and last bytes. */
static void skip_line_part(struct stdio *io, size_t len) {
	keep_tail(io,
	          st_strn(io->input.ptr + (io->skipping ? EDGE : 0), len - (io->skipping ? EDGE : 0)));
	io->skipping = true;
}

static void refuse_line(struct stdio *io) {
	struct st_mcp_message *message = st_mcp_message_oversized(
		st_strn(io->input.ptr, EDGE), st_strn(io->tail, io->tail_len), LINE_MAX_BYTES);
	if (message)
		st_mcp_dispatch(io->peer, message, &io->sink);
	io->skipping = false;
	io->tail_len = 0;
}

/* Remove bytes from the input, and free the memory of a long message. */
static void consume(struct stdio *io, size_t len) {
	size_t left = io->input.len - len;
	if (left == 0 && io->input.cap > 4 * CHUNK) {
		st_buf_release(&io->input);
	} else {
		if (left > 0)
			memmove(io->input.ptr, io->input.ptr + len, left);
		st_buf_truncate(&io->input, left);
	}
	io->searched = 0;
	io->scanned = io->scanned > len ? io->scanned - len : 0;
}

/* Whether too much output waits for the client. */
static bool is_full(const struct stdio *io) {
	return outbox_waiting(&io->out) > WAITING_MAX;
}

/* Handle complete lines, as long as the client reads. */
static void handle_lines(struct stdio *io) {
	size_t start = 0;
	while (!io->out.closed && !is_full(io)) {
		const char *from = io->input.ptr + io->searched;
		const char *end =
			io->input.len > io->searched ? memchr(from, '\n', io->input.len - io->searched) : NULL;
		if (!end) {
			io->searched = io->input.len;
			break;
		}
		size_t stop = (size_t)(end - io->input.ptr);
		if (io->skipping) {
			skip_line_part(io, stop);
			refuse_line(io);
		} else {
			io->scanned = stop + 1;
			handle_line(io, st_strn(io->input.ptr + start, stop - start));
		}
		start = io->searched = stop + 1;
	}
	size_t searched = io->searched - start;
	if (start > 0)
		consume(io, start);
	io->searched = searched;
	if (io->searched == io->input.len &&
	    (io->skipping ? io->input.len > EDGE : io->input.len > LINE_MAX_BYTES)) {
		skip_line_part(io, io->input.len);
		st_buf_truncate(&io->input, EDGE);
		io->searched = io->scanned = EDGE;
	}
}

/* At the end of input: handle the last line, which needs no line end. */
static void handle_end(struct stdio *io) {
	io->ended = true;
	if (io->skipping)
		refuse_line(io);
	else if (io->input.len > 0)
		handle_line(io, st_buf_str(&io->input));
	st_buf_release(&io->input);
	io->searched = io->scanned = 0;
	/* The client cannot answer any more. */
	st_mcp_peer_give_up(io->peer);
}

static void handle_input(struct stdio *io) {
	handle_lines(io);
	if (io->in < 0 && !is_full(io))
		handle_end(io);
}

static void read_some(struct stdio *io) {
	/* Double the buffer for a long message, to read it in few steps. */
	size_t want = io->input.len > CHUNK ? io->input.len : CHUNK;
	if (!st_buf_reserve(&io->input, want))
		return;
	ssize_t len = read(io->in, io->input.ptr + io->input.len, want);
	if (len > 0) {
		io->input.len += (size_t)len;
		io->input.ptr[io->input.len] = '\0';
	} else if (len == 0 || (errno != EINTR && errno != EAGAIN)) {
		io->in = -1;
	}
}

static bool contains(struct st_str line, const char *method) {
	return memmem(line.ptr, line.len, method, strlen(method)) != NULL;
}

/*
 * Handle a cancellation or ping before earlier lines, so that it need not wait
 * for a long call. A ping is then blanked out; a cancellation may be handled
 * twice.
 */
static void handle_urgent(struct stdio *io, size_t start, size_t len) {
	struct st_str line = st_strn(io->input.ptr + start, len);
	if (!contains(line, "notifications/cancelled") && !contains(line, "\"ping\""))
		return;
	struct st_mcp_message *message = st_mcp_message_new(line);
	bool ping =
		message && message->kind == ST_MCP_REQUEST && st_str_eq(message->method, ST_STR("ping"));
	if (ping)
		memset(io->input.ptr + start, ' ', len);
	if (ping || (message && message->kind == ST_MCP_NOTIFICATION))
		st_mcp_dispatch(io->peer, message, &io->sink);
	else
		st_mcp_message_free(message);
}

/* Called during long calls: read ahead, and handle urgent messages. */
static void poll_input(struct st_mcp_executor *executor) {
	struct stdio *io = (struct stdio *)((char *)executor - offsetof(struct stdio, executor));
	struct pollfd ready = {.fd = io->in, .events = POLLIN};
	if (io->input.len <= AHEAD_MAX && poll(&ready, 1, 0) > 0)
		read_some(io);
	while (io->scanned < io->input.len) {
		const char *from = io->input.ptr + io->scanned;
		const char *end = memchr(from, '\n', io->input.len - io->scanned);
		if (!end)
			return;
		size_t stop = (size_t)(end - io->input.ptr);
		handle_urgent(io, io->scanned, stop - io->scanned);
		io->scanned = stop + 1;
	}
}

/* ---- the loop ---- */

enum { IN, OUT, STOP, CHANGES, COUNT };

static int wait_and_handle(struct stdio *io, struct stet_error *err) {
	bool full = is_full(io);
	struct pollfd fds[COUNT] = {
		[IN] = {.fd = full && io->input.len > AHEAD_MAX ? -1 : io->in, .events = POLLIN},
		[OUT] = {.fd = outbox_waiting(&io->out) > 0 ? io->out.fd : -1, .events = POLLOUT},
		[STOP] = {.fd = io->stop, .events = POLLIN},
		[CHANGES] = {.fd = st_service_fd(io->service), .events = POLLIN},
	};
	int ready = poll(fds, COUNT, st_mcp_peer_timeout(io->peer));
	if (ready < 0)
		return errno == EINTR ? 0 : st_fail_errno(err, errno, "Cannot wait for a message");
	if (ready == 0)
		st_mcp_peer_give_up(io->peer);
	if (fds[STOP].revents)
		io->ended = true;
	if (fds[OUT].revents && outbox_flush(&io->out) && full)
		handle_input(io);
	if (fds[CHANGES].revents)
		st_service_dispatch(io->service);
	if (fds[IN].revents && !io->ended) {
		read_some(io);
		if (io->input.failed)
			return st_fail_nomem(err);
		handle_input(io);
	}
	return 0;
}

/* Send the remaining output, as long as the client reads. */
static void drain_output(struct stdio *io) {
	while (outbox_waiting(&io->out) > 0) {
		struct pollfd ready = {.fd = io->out.fd, .events = POLLOUT};
		if (poll(&ready, 1, DRAIN_MS) == 0)
			return;
		outbox_flush(&io->out);
	}
}

static int serve_client(struct stdio *io, struct stet_error *err) {
	int code = 0;
	while (code == 0 && !io->ended && !io->out.closed)
		code = wait_and_handle(io, err);
	st_mcp_peer_close(io->peer);
	drain_output(io);
	st_buf_release(&io->input);
	outbox_release(&io->out);
	return code;
}

int stet_mcp_stdio(struct stet_host *host, const char *tools, int in, int out, int stop,
                   struct stet_error *err) {
	if (st_begin_call(host, err) < 0)
		return STET_E_INVALID;
	struct stdio io = {
		.sink = {.event = send_line, .answer = send_answer, .done = ignore_done},
		.executor = {.poll = poll_input},
		.in = in,
		.stop = stop,
	};
	outbox_init(&io.out, out);
	/* Number clients from the process id: other processes over the same files have clients too. */
	st_host_number_from(host, (unsigned)getpid());
	int code = st_service_new(host, tools, &io.service, err);
	if (code == 0)
		code = st_mcp_server_new(st_service_base(io.service), &io.executor, &io.server, err);
	if (code == 0)
		code = st_mcp_peer_new(io.server, ST_MCP_STDIO, NULL, &io.sink, &io.peer, err);
	if (code == 0) {
		st_service_serve(io.service, io.server);
		code = serve_client(&io, err);
	}
	st_mcp_server_free(io.server);
	st_service_free(io.service);
	return code;
}
