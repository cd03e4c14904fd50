#include "net/connection.h"

#include <inttypes.h>
#include <netdb.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

#include "base/clock.h"

enum {
	/* How long a client may leave an answer unread, in seconds. */
	WRITE_S = 60,
	/* How many bytes a refused, untrusted client may still send. */
	DISCARD_MAX = 1 << 20,
};

static struct st_connection *connection_of(struct st_request *request) {
	return (struct st_connection *)((char *)request - offsetof(struct st_connection, request));
}

static struct evbuffer *input_of(struct st_connection *connection) {
	return bufferevent_get_input(connection->bev);
}

static struct evbuffer *output_of(struct st_connection *connection) {
	return bufferevent_get_output(connection->bev);
}

static void change_state(struct st_connection *connection, enum st_connection_state state) {
	connection->state = state;
	connection->since_ms = st_now_ms();
}

static void forget_request(struct st_connection *connection) {
	struct st_request *request = &connection->request;
	st_head_release(&request->head);
	st_buf_release(&request->body);
	st_buf_release(&request->fields);
	*request = (struct st_request){0};
	connection->scanned = 0;
	connection->begun = false;
	connection->chunks = (struct st_chunks){0};
}

void st_connection_close(struct st_connection *connection) {
	struct st_request *request = &connection->request;
	void (*gone)(void *arg) = request->gone;
	if (!connection->bev)
		return;
	if (request->streaming)
		connection->rules->answered(connection->rules->arg, request);
	bufferevent_free(connection->bev);
	connection->bev = NULL;
	request->streaming = false;
	request->gone = NULL;
	if (gone)
		gone(request->arg);
}

void st_connection_free(struct st_connection *connection) {
	st_connection_close(connection);
	forget_request(connection);
	free(connection);
}

/* ---- answers ---- */

static const char *reason_phrase(int status) {
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
	case 409:
		return "Conflict";
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

/* "Sun, 06 Nov 1994 08:49:37 GMT". strftime() would use the locale. */
static void add_date(struct st_buf *out) {
	static const char days[] = "SunMonTueWedThuFriSat";
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	time_t now = time(NULL);
	struct tm tm;
	if (gmtime_r(&now, &tm))
		st_buf_addf(out, "Date: %.3s, %02d %.3s %d %02d:%02d:%02d GMT\r\n", days + 3 * tm.tm_wday,
		            tm.tm_mday, months + 3 * tm.tm_mon, tm.tm_year + 1900, tm.tm_hour, tm.tm_min,
		            tm.tm_sec);
}

static bool is_last(const struct st_connection *connection) {
	return connection->request.head.close || connection->unread_body;
}

/* Without memory, close the connection: a part of an answer is of no use. */
static void send_bytes(struct st_connection *connection, const struct st_buf *bytes) {
	if (bytes->failed || evbuffer_add(output_of(connection), st_buf_cstr(bytes), bytes->len) < 0)
		st_connection_close(connection);
}

/* The head of an answer; the length is -1 for a streamed one. */
static void add_head(struct st_connection *connection, int status, int64_t length,
                     struct st_buf *out) {
	struct st_request *request = &connection->request;
	request->status = status;
	st_buf_addf(out, "HTTP/1.1 %d %s\r\n", status, reason_phrase(status));
	add_date(out);
	st_buf_add(out, st_buf_str(&request->fields));
	if (length >= 0 && status != 204)
		st_buf_addf(out, "Content-Length: %" PRId64 "\r\n", length);
	else if (length < 0 && !request->head.old)
		st_buf_adds(out, "Transfer-Encoding: chunked\r\n");
	if (is_last(connection))
		st_buf_adds(out, "Connection: close\r\n");
	st_buf_adds(out, "\r\n");
	out->failed |= request->fields.failed;
}

static void finish_request(struct st_connection *connection) {
	const struct st_connection_rules *rules = connection->rules;
	bool last = is_last(connection);
	if (connection->bev)
		rules->answered(rules->arg, &connection->request);
	connection->lingers = connection->unread_body;
	forget_request(connection);
	if (!connection->bev)
		return;
	change_state(connection, last ? ST_CONNECTION_CLOSING : ST_CONNECTION_HEAD);
	/* Input may have arrived meanwhile: process it when the caller has returned. */
	if (!connection->processing && evbuffer_get_length(input_of(connection)) > 0)
		bufferevent_trigger(connection->bev, EV_READ,
		                    BEV_TRIG_IGNORE_WATERMARKS | BEV_TRIG_DEFER_CALLBACKS);
}

void st_request_field(struct st_request *request, const char *name, const char *value) {
	st_buf_addf(&request->fields, "%s: %s\r\n", name, value);
}

void st_request_answer(struct st_request *request, int status, struct st_str body) {
	struct st_connection *connection = connection_of(request);
	st_auto(st_buf) bytes = ST_BUF_INIT;
	request->gone = NULL;
	add_head(connection, status, (int64_t)body.len, &bytes);
	if (request->head.method != ST_METHOD_HEAD)
		st_buf_add(&bytes, body);
	send_bytes(connection, &bytes);
	finish_request(connection);
}

void st_request_start(struct st_request *request) {
	struct st_connection *connection = connection_of(request);
	st_auto(st_buf) bytes = ST_BUF_INIT;
	request->streaming = true;
	add_head(connection, 200, -1, &bytes);
	send_bytes(connection, &bytes);
}

void st_request_send(struct st_request *request, struct st_str piece) {
	struct st_connection *connection = connection_of(request);
	st_auto(st_buf) bytes = ST_BUF_INIT;
	if (!request->head.old)
		st_buf_addf(&bytes, "%zx\r\n", piece.len);
	st_buf_add(&bytes, piece);
	if (!request->head.old)
		st_buf_adds(&bytes, "\r\n");
	send_bytes(connection, &bytes);
}

void st_request_end(struct st_request *request) {
	struct st_connection *connection = connection_of(request);
	request->gone = NULL;
	if (!request->head.old && evbuffer_add(output_of(connection), "0\r\n\r\n", 5) < 0)
		st_connection_close(connection);
	finish_request(connection);
}

void st_request_trust(struct st_request *request) {
	connection_of(request)->trusted = true;
}

void st_request_drop(struct st_request *request) {
	st_connection_close(connection_of(request));
}

void st_request_watch(struct st_request *request, void (*gone)(void *arg), void *arg) {
	request->gone = gone;
	request->arg = arg;
}

size_t st_request_unsent(const struct st_request *request) {
	struct st_connection *connection = connection_of((struct st_request *)(uintptr_t)request);
	return connection->bev ? evbuffer_get_length(output_of(connection)) : 0;
}

void st_request_peer(const struct st_request *request, char *out, size_t size) {
	struct st_connection *connection = connection_of((struct st_request *)(uintptr_t)request);
	struct sockaddr_storage address = {0};
	socklen_t len = sizeof address;
	char host[48], port[8];
	int fd = connection->bev ? bufferevent_getfd(connection->bev) : -1;
	bool known = fd >= 0 && getpeername(fd, (struct sockaddr *)&address, &len) == 0;
	bool v6 = address.ss_family == AF_INET6;
	if (known && address.ss_family != AF_UNIX &&
	    getnameinfo((struct sockaddr *)&address, len, host, sizeof host, port, sizeof port,
	                NI_NUMERICHOST | NI_NUMERICSERV) == 0)
		snprintf(out, size, "%s%s%s:%s", v6 ? "[" : "", host, v6 ? "]" : "", port);
	else
		snprintf(out, size, "%s", known ? "unix" : "");
}

/* ---- requests ---- */

static void refuse_request(struct st_connection *connection, int status, const char *problem) {
	struct st_request *request = &connection->request;
	st_auto(st_buf) text = ST_BUF_INIT;
	st_buf_addf(&text, "%s\n", problem);
	change_state(connection, ST_CONNECTION_ANSWERING);
	connection->unread_body = true;
	st_request_field(request, "Content-Type", "text/plain; charset=utf-8");
	st_request_field(request, "X-Content-Type-Options", "nosniff");
	st_request_answer(request, status, st_buf_str(&text));
}

static void handle_request(struct st_connection *connection) {
	const struct st_connection_rules *rules = connection->rules;
	connection->unread_body = false;
	change_state(connection, ST_CONNECTION_ANSWERING);
	rules->handle(rules->arg, &connection->request);
}

static void begin_body(struct st_connection *connection) {
	if (connection->request.head.expects &&
	    evbuffer_add_printf(output_of(connection), "HTTP/1.1 100 Continue\r\n\r\n") < 0) {
		st_connection_close(connection);
		return;
	}
	/* The time limit includes head and body, so since_ms stays. */
	connection->state = ST_CONNECTION_BODY;
}

static void check_head(struct st_connection *connection) {
	const struct st_connection_rules *rules = connection->rules;
	const struct st_head *head = &connection->request.head;
	connection->unread_body = head->chunked || head->length > 0;
	connection->state = ST_CONNECTION_ANSWERING;
	connection->request.begun_ms = connection->since_ms;
	connection->trusted = false;
	if (!rules->check_head(rules->arg, &connection->request))
		return;
	if (connection->unread_body)
		begin_body(connection);
	else
		handle_request(connection);
}

/* Each step returns whether there is more to process. */

static bool read_head(struct st_connection *connection) {
	struct evbuffer *input = input_of(connection);
	size_t len = evbuffer_get_length(input);
	const char *problem = NULL;
	if (len == 0)
		return false;
	if (!connection->begun)
		change_state(connection, ST_CONNECTION_HEAD);
	connection->begun = true;
	len = len > ST_HEAD_MAX ? ST_HEAD_MAX : len;
	const char *bytes = (const char *)evbuffer_pullup(input, (ev_ssize_t)len);
	ssize_t end = bytes ? st_head_end(st_strn(bytes, len), &connection->scanned) : 0;
	if (!bytes)
		refuse_request(connection, 503, "The server is out of memory.");
	else if (end < 0)
		refuse_request(connection, 400,
		               "Lines of the head must end with CR LF, without other CR, LF or NUL.");
	else if (end == 0 && len == ST_HEAD_MAX)
		refuse_request(connection, 431, "The head of the request is too large.");
	if (end <= 0)
		return connection->state != ST_CONNECTION_HEAD;
	int status = st_head_read(&connection->request.head, st_strn(bytes, (size_t)end), &problem);
	evbuffer_drain(input, (size_t)end);
	if (status != 0)
		refuse_request(connection, status, problem);
	else
		check_head(connection);
	return true;
}

/* Returns false if the request was refused or the body is complete. */
static bool add_to_body(struct st_connection *connection, struct st_str *bytes) {
	struct st_request *request = &connection->request;
	struct st_str data = *bytes;
	if (request->head.chunked) {
		if (!st_chunks_decode(&connection->chunks, bytes, &data)) {
			refuse_request(connection, 400, "The body is not valid chunked encoding.");
			return false;
		}
	} else {
		size_t left = (size_t)(request->head.length - request->body.len);
		data.len = data.len < left ? data.len : left;
		*bytes = st_str_slice(*bytes, data.len, bytes->len);
	}
	st_buf_add(&request->body, data);
	if (request->body.failed)
		refuse_request(connection, 503, "The server is out of memory.");
	else if (request->body.len > connection->rules->max_body)
		refuse_request(connection, 413, "The body of the request is too large.");
	return connection->state == ST_CONNECTION_BODY &&
	       (request->head.chunked ? !st_chunks_done(&connection->chunks)
	                              : request->body.len < request->head.length);
}

static bool read_body(struct st_connection *connection) {
	struct evbuffer *input = input_of(connection);
	size_t len = evbuffer_get_contiguous_space(input);
	if (len == 0)
		return false;
	struct st_str bytes = st_strn((const char *)evbuffer_pullup(input, (ev_ssize_t)len), len);
	bool more = true;
	while (more && bytes.len > 0)
		more = add_to_body(connection, &bytes);
	if (!connection->bev)
		return false;
	evbuffer_drain(input, len - bytes.len);
	if (!more && connection->state == ST_CONNECTION_BODY)
		handle_request(connection);
	return true;
}

/* Read and drop input: closing at once would reset the connection before the client reads the answer. */
static bool discard_input(struct st_connection *connection) {
	size_t len = evbuffer_get_length(input_of(connection));
	connection->discarded += len;
	evbuffer_drain(input_of(connection), len);
	if (!connection->trusted && connection->discarded > DISCARD_MAX)
		st_connection_close(connection);
	return false;
}

static bool process_input(struct st_connection *connection) {
	switch (connection->state) {
	case ST_CONNECTION_HEAD:
		return read_head(connection);
	case ST_CONNECTION_BODY:
		return read_body(connection);
	case ST_CONNECTION_CLOSING:
		return discard_input(connection);
	default:
		return false;
	}
}

/* ---- events ---- */

static void on_readable(struct bufferevent *bev, void *arg) {
	struct st_connection *connection = arg;
	connection->processing = true;
	while (connection->bev && process_input(connection))
		;
	connection->processing = false;
}

/* All output was sent. */
static void on_written(struct bufferevent *bev, void *arg) {
	struct st_connection *connection = arg;
	if (connection->state != ST_CONNECTION_CLOSING)
		return;
	if (connection->lingers && !connection->ended)
		shutdown(bufferevent_getfd(bev), SHUT_WR);
	else
		st_connection_close(connection);
}

static void on_event(struct bufferevent *bev, short what, void *arg) {
	struct st_connection *connection = arg;
	if (what & BEV_EVENT_CONNECTED) /* TLS is established. */
		return;
	bool idle =
		connection->state == ST_CONNECTION_HEAD || connection->state == ST_CONNECTION_CLOSING;
	/* The client has shut down its side, and still reads the answer. */
	if ((what & BEV_EVENT_EOF) && idle && evbuffer_get_length(output_of(connection)) > 0) {
		connection->ended = true;
		change_state(connection, ST_CONNECTION_CLOSING);
	} else {
		st_connection_close(connection);
	}
}

struct st_connection *st_connection_new(const struct st_connection_rules *rules, int fd) {
	struct st_connection *connection = calloc(1, sizeof *connection);
	if (!connection)
		return NULL;
	connection->rules = rules;
	connection->bev = rules->tls ? st_tls_accept(rules->tls, rules->base, fd)
	                             : bufferevent_socket_new(rules->base, fd, BEV_OPT_CLOSE_ON_FREE);
	if (!connection->bev) {
		free(connection);
		return NULL;
	}
	change_state(connection, ST_CONNECTION_HEAD);
	bufferevent_setcb(connection->bev, on_readable, on_written, on_event, connection);
	bufferevent_setwatermark(connection->bev, EV_READ, 0, ST_HEAD_MAX);
	bufferevent_set_timeouts(connection->bev, NULL, &(struct timeval){.tv_sec = WRITE_S});
	bufferevent_enable(connection->bev, EV_READ | EV_WRITE);
	return connection;
}
