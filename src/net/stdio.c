/*
 * A client on two descriptors, with one thread: messages are answered in the
 * order they come. A client that does not read is not read from any more once
 * enough waits for it; one that sends a flood is taken in bit by bit.
 */
#include <poll.h>

#include "base/clock.h"
#include "mcp/service/service.h"
#include "net/outbox.h"
#include "stet/mcp.h"
#include "tools/host.h"

/* The longest line that is read, and how much of it is kept to find out whose it was. */
#define LINE_MAX_BYTES ((size_t)32 << 20)
enum { EDGE = 512, CHUNK = 64 << 10 };
/* How much may wait for a client that does not read, and how much is read from it all the same. */
#define WAITING_MAX ((size_t)8 << 20)
#define AHEAD_MAX ((size_t)1 << 20)
/* How long an end waits for such a client. */
enum { PATIENCE_MS = 5000 };

struct stdio {
	struct st_mcp_sink sink;
	struct st_mcp_executor executor;
	struct st_outbox out;
	/* -1 after its end. */
	int in;
	int stop;
	struct st_service *service;
	struct st_mcp_server *server;
	struct st_mcp_peer *peer;
	/* What was read, and how far it was searched for a line end. */
	struct st_buf input;
	size_t searched;
	/* How far it was searched for cancellations. */
	size_t looked;
	/* In a line that is too long: its first bytes are in input, the last ones here. */
	bool skipping;
	char tail[EDGE];
	size_t tail_len;
	/* Nothing more will come, or nothing more is wanted. */
	bool ended;
};

static void send_line(struct st_mcp_sink *sink, struct st_buf *message) {
	struct stdio *io = (struct stdio *)sink;
	st_buf_addc(message, '\n');
	if (!message->failed)
		st_outbox_send(&io->out, message);
}

static void send_answer(struct st_mcp_sink *sink, struct st_buf *message, int status) {
	send_line(sink, message);
}

static void nothing_more(struct st_mcp_sink *sink) {
}

/* ---- lines ---- */

static void receive(struct stdio *io, struct st_str line) {
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

/* Throw away what is there of a line that is too long, but its edges. */
static void skip(struct stdio *io, size_t len) {
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

/* Give memory back that one long message needed. */
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
	io->looked = io->looked > len ? io->looked - len : 0;
}

/* The client has to read before more is said. */
static bool is_full(const struct stdio *io) {
	return st_outbox_waiting(&io->out) > WAITING_MAX;
}

/* Answer the lines that are complete, as long as the client reads. */
static void take_lines(struct stdio *io) {
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
			skip(io, stop);
			refuse_line(io);
		} else {
			io->looked = stop + 1;
			receive(io, st_strn(io->input.ptr + start, stop - start));
		}
		start = io->searched = stop + 1;
	}
	size_t searched = io->searched - start;
	if (start > 0)
		consume(io, start);
	io->searched = searched;
	if (io->searched == io->input.len &&
	    (io->skipping ? io->input.len > EDGE : io->input.len > LINE_MAX_BYTES)) {
		skip(io, io->input.len);
		st_buf_truncate(&io->input, EDGE);
		io->searched = io->looked = EDGE;
	}
}

/* The client has closed its end, and what it said before is answered. A last line needs no line end. */
static void take_end(struct stdio *io) {
	io->ended = true;
	if (io->skipping)
		refuse_line(io);
	else if (io->input.len > 0)
		receive(io, st_buf_str(&io->input));
	st_buf_release(&io->input);
	io->searched = io->looked = 0;
	/* Nobody is left who could answer a question. */
	st_mcp_peer_give_up(io->peer);
}

static void take(struct stdio *io) {
	take_lines(io);
	if (io->in < 0 && !is_full(io))
		take_end(io);
}

static void read_some(struct stdio *io) {
	/* A long message doubles the buffer, so that it is read in few steps. */
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

static bool says(struct st_str line, const char *method) {
	return memmem(line.ptr, line.len, method, strlen(method)) != NULL;
}

/*
 * A line that takes a request back does so out of turn; when its turn comes,
 * nothing is left to do. A ping is answered out of turn, and then gone: whoever
 * asks whether somebody is there need not wait for work that takes long.
 */
static void look_at(struct stdio *io, size_t start, size_t len) {
	struct st_str line = st_strn(io->input.ptr + start, len);
	if (!says(line, "notifications/cancelled") && !says(line, "\"ping\""))
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

/* While work is being done: see whether the client still wants it. */
static void poll_input(struct st_mcp_executor *executor) {
	struct stdio *io = (struct stdio *)((char *)executor - offsetof(struct stdio, executor));
	struct pollfd ready = {.fd = io->in, .events = POLLIN};
	if (io->input.len <= AHEAD_MAX && poll(&ready, 1, 0) > 0)
		read_some(io);
	while (io->looked < io->input.len) {
		const char *from = io->input.ptr + io->looked;
		const char *end = memchr(from, '\n', io->input.len - io->looked);
		if (!end)
			return;
		size_t stop = (size_t)(end - io->input.ptr);
		look_at(io, io->looked, stop - io->looked);
		io->looked = stop + 1;
	}
}

/* ---- the loop ---- */

enum { IN, OUT, STOP, CHANGES, COUNT };

static int step(struct stdio *io, struct stet_error *err) {
	bool full = is_full(io);
	struct pollfd fds[COUNT] = {
		[IN] = {.fd = full && io->input.len > AHEAD_MAX ? -1 : io->in, .events = POLLIN},
		[OUT] = {.fd = st_outbox_waiting(&io->out) > 0 ? io->out.fd : -1, .events = POLLOUT},
		[STOP] = {.fd = io->stop, .events = POLLIN},
		[CHANGES] = {.fd = st_service_fd(io->service), .events = POLLIN},
	};
	int ready = poll(fds, COUNT, st_mcp_peer_timeout(io->peer));
	if (ready < 0)
		return errno == EINTR ? 0 : st_fail_errno(err, errno, "Waiting for a message failed");
	if (ready == 0)
		st_mcp_peer_give_up(io->peer);
	if (fds[STOP].revents)
		io->ended = true;
	if (fds[OUT].revents && st_outbox_flush(&io->out) && full)
		take(io);
	if (fds[CHANGES].revents)
		st_service_dispatch(io->service);
	if (fds[IN].revents && !io->ended) {
		read_some(io);
		if (io->input.failed)
			return st_fail_nomem(err);
		take(io);
	}
	return 0;
}

/* What was answered goes out, if anybody reads it. */
static void drain(struct stdio *io) {
	while (st_outbox_waiting(&io->out) > 0) {
		struct pollfd ready = {.fd = io->out.fd, .events = POLLOUT};
		if (poll(&ready, 1, PATIENCE_MS) == 0)
			return;
		st_outbox_flush(&io->out);
	}
}

static int serve(struct stdio *io, struct stet_error *err) {
	int code = 0;
	while (code == 0 && !io->ended && !io->out.closed)
		code = step(io, err);
	st_mcp_peer_close(io->peer);
	drain(io);
	st_buf_release(&io->input);
	st_outbox_release(&io->out);
	return code;
}

int stet_mcp_stdio(struct stet_host *host, const char *tools, int in, int out, int stop,
                   struct stet_error *err) {
	struct stdio io = {
		.sink = {.event = send_line, .answer = send_answer, .done = nothing_more},
		.executor = {.poll = poll_input},
		.in = in,
		.stop = stop,
	};
	st_outbox_init(&io.out, out);
	/* Others that serve the same files have other clients of the same name. */
	st_host_number_from(host, (unsigned)getpid());
	int code = st_service_new(host, tools, &io.service, err);
	if (code == 0)
		code = st_mcp_server_new(st_service_base(io.service), &io.executor, &io.server, err);
	if (code == 0)
		code = st_mcp_peer_new(io.server, ST_MCP_STDIO, NULL, &io.sink, &io.peer, err);
	if (code == 0) {
		st_service_serve(io.service, io.server);
		code = serve(&io, err);
	}
	st_mcp_server_free(io.server);
	st_service_free(io.service);
	return code;
}
