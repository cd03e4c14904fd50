#include "net/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "net/endpoint.h"

enum {
	USUAL_BODY = 32 << 20,
	USUAL_CONNECTIONS = 1024,
	USUAL_SESSIONS = 1000,
	USUAL_SESSION_IDLE_S = 3600,
	USUAL_CONNECTION_IDLE_S = 120,
	USUAL_REQUEST_S = 60,
	MAX_HEADERS = 32 << 10,
	/* evhttp answers 400 to what is beyond its own limit; up to there we can say it better. */
	MAX_HEADERS_READ = 128 << 10,
	BACKLOG = 128,
	TICK_MS = 250,
	/* While it comes to its end. */
	QUICK_TICK_MS = 10,
	/* How long it waits for what was cancelled, and for clients to read. */
	CLOSING_MS = 2000,
	TICKS_PER_SECOND = 1000 / TICK_MS,
};

/*
 * A connection, for as long as it is not clear that libevent has let go of
 * it: evhttp tells of one only when a whole request has come.
 */
struct connection {
	struct connection *next;
	struct bufferevent *bev;
	/* When the request began that has not come to its end; 0 for none. */
	int64_t since_ms;
};

struct st_http {
	struct st_loop *loop;
	struct st_pool *pool;
	struct st_http_options options;
	struct evhttp *evhttp;
	struct evconnlistener *listener;
	struct event *ticker;
	unsigned ticks;
	struct st_endpoint *endpoint;
	struct connection *connections;
	size_t connection_count;
	bool full;
	char url[128];

	/* Coming to an end. */
	bool ending, closed;
	int64_t deadline_ms;
	void (*ended)(void *arg);
	void *arg;
};

/* Connections. */

static void note_input(struct evbuffer *buffer, const struct evbuffer_cb_info *info, void *arg) {
	struct connection *connection = arg;
	if (info->n_added > 0 && connection->since_ms == 0)
		connection->since_ms = st_now_ms();
}

/*
 * Called for each connection that is accepted. Our reference tells later
 * whether it still is one; until then its descriptor stays open, so that no
 * other connection gets the number.
 */
static struct bufferevent *new_connection(struct event_base *base, void *arg) {
	struct st_http *http = arg;
	struct connection *connection = calloc(1, sizeof *connection);
	struct bufferevent *bev = bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
	if (!connection || !bev ||
	    !evbuffer_add_cb(bufferevent_get_input(bev), note_input, connection)) {
		free(connection);
		return bev;
	}
	bufferevent_incref(bev);
	connection->bev = bev;
	connection->next = http->connections;
	http->connections = connection;
	if (++http->connection_count >= http->options.max_connections && !http->full) {
		http->full = true;
		evconnlistener_disable(http->listener);
	}
	return bev;
}

/* evhttp has freed it: freeing takes the callbacks away. */
static bool is_dead(struct bufferevent *bev) {
	bufferevent_data_cb read = NULL, write = NULL;
	bufferevent_event_cb event = NULL;
	bufferevent_getcb(bev, &read, &write, &event, NULL);
	return !read && !write && !event;
}

/* Let go of dead connections, and end those whose request does not come to its end. */
static void sweep(struct st_http *http) {
	int64_t now_ms = st_now_ms();
	for (struct connection **place = &http->connections, *connection; (connection = *place);) {
		if (is_dead(connection->bev)) {
			*place = connection->next;
			bufferevent_decref(connection->bev);
			free(connection);
			http->connection_count--;
			continue;
		}
		if (connection->since_ms &&
		    now_ms - connection->since_ms > http->options.request_time * 1000)
			shutdown(bufferevent_getfd(connection->bev), SHUT_RDWR);
		place = &connection->next;
	}
	if (http->full && !http->ending && http->connection_count < http->options.max_connections) {
		http->full = false;
		evconnlistener_enable(http->listener);
	}
}

static void request_came(struct st_http *http, struct evhttp_request *request) {
	struct bufferevent *bev =
		evhttp_connection_get_bufferevent(evhttp_request_get_connection(request));
	for (struct connection *connection = http->connections; connection;
	     connection = connection->next) {
		if (connection->bev == bev)
			connection->since_ms = 0;
	}
}

/* Requests. */

static void add_header(struct evhttp_request *request, const char *name, const char *value) {
	evhttp_add_header(evhttp_request_get_output_headers(request), name, value);
}

static void reply(struct evhttp_request *request, int status, const char *text) {
	struct evbuffer *body = evbuffer_new();
	if (body)
		evbuffer_add(body, text, strlen(text));
	add_header(request, "Content-Type", "text/plain; charset=utf-8");
	add_header(request, "X-Content-Type-Options", "nosniff");
	evhttp_send_reply(request, status, st_http_reason(status), body);
	if (body)
		evbuffer_free(body);
}

static void show_metrics(struct st_http *http, struct evhttp_request *request) {
	st_auto(st_buf) text = ST_BUF_INIT;
	struct st_endpoint_load load = st_endpoint_load(http->endpoint);
	struct st_pool_load work = st_pool_load(http->pool);
	st_metrics_write(http->options.metrics, &text);
	st_metrics_number(&text, "stet_sessions", "gauge", "MCP sessions.", load.sessions);
	st_metrics_number(&text, "stet_streams", "gauge", "Streams and subscriptions.",
	                  load.streams + load.listening);
	st_metrics_number(&text, "stet_requests", "gauge", "Requests not answered yet.", load.requests);
	st_metrics_number(&text, "stet_connections", "gauge", "HTTP connections.",
	                  http->connection_count);
	st_metrics_number(&text, "stet_workers", "gauge", "Threads for tool calls.", work.threads);
	st_metrics_number(&text, "stet_jobs_waiting", "gauge", "Tool calls that wait.", work.waiting);
	if (http->options.more_metrics)
		http->options.more_metrics(http->options.arg, &text);
	if (text.failed)
		reply(request, 503, "out of memory\n");
	else
		reply(request, 200, st_buf_cstr(&text));
}

static bool is_get(struct evhttp_request *request) {
	enum evhttp_cmd_type method = evhttp_request_get_command(request);
	return method == EVHTTP_REQ_GET || method == EVHTTP_REQ_HEAD;
}

static void refuse_method(struct evhttp_request *request) {
	add_header(request, "Allow", "GET, HEAD");
	reply(request, 405, "Only GET is possible here.\n");
}

static void refuse_token(struct evhttp_request *request) {
	add_header(request, "WWW-Authenticate", "Bearer realm=\"stet\"");
	reply(request, 401,
	      "A token is needed: send \"Authorization: Bearer TOKEN\" with one that the server "
	      "knows.\n");
}

static size_t size_of_headers(struct evhttp_request *request) {
	const struct evkeyvalq *headers = evhttp_request_get_input_headers(request);
	size_t size = strlen(evhttp_request_get_uri(request));
	for (const struct evkeyval *header = headers->tqh_first; header; header = header->next.tqe_next)
		size += strlen(header->key) + strlen(header->value);
	return size;
}

static void route(struct st_http *http, struct evhttp_request *request) {
	const struct evkeyvalq *headers = evhttp_request_get_input_headers(request);
	const char *path = evhttp_uri_get_path(evhttp_request_get_evhttp_uri(request));
	char owner[ST_GATE_OWNER + 1];
	bool mcp = path && strcmp(path, "/mcp") == 0;
	bool metrics = path && strcmp(path, "/metrics") == 0;
	if (size_of_headers(request) > MAX_HEADERS)
		reply(request, 431, "The headers are too large.\n");
	else if (!st_gate_host(http->options.gate, evhttp_find_header(headers, "Host")) ||
	         !st_gate_origin(http->options.gate, evhttp_find_header(headers, "Origin")))
		reply(request, 403, "This server does not answer to that Host or Origin.\n");
	else if (http->ending) {
		add_header(request, "Connection", "close");
		reply(request, 503, "The server is about to end.\n");
	} else if (path && strcmp(path, "/healthz") == 0) {
		if (is_get(request))
			reply(request, 200, "ok\n");
		else
			refuse_method(request);
	} else if (!mcp && !metrics)
		reply(request, 404, "There are /mcp, /healthz and /metrics.\n");
	else if (!st_gate_token(http->options.gate, evhttp_find_header(headers, "Authorization"),
	                        owner))
		refuse_token(request);
	else if (mcp)
		st_endpoint_handle(http->endpoint, request, owner);
	else if (is_get(request))
		show_metrics(http, request);
	else
		refuse_method(request);
}

static void count_answer(struct evhttp_request *request, void *arg) {
	struct st_http *http = arg;
	st_metrics_http(http->options.metrics, evhttp_request_get_response_code(request));
}

static void handle(struct evhttp_request *request, void *arg) {
	struct st_http *http = arg;
	request_came(http, request);
	evhttp_request_set_on_complete_cb(request, count_answer, http);
	route(http, request);
}

/* Listening. */

/* "address:port", "[address]:port", "address": the parts, in buffers of this size. */
static int split_address(const char *text, char *host, char *port, size_t size,
                         struct stet_error *err) {
	const char *start = text, *end = text + strlen(text), *colon = strrchr(text, ':');
	const char *bracket = strchr(text, ']');
	bool v6 = !bracket && colon && strchr(text, ':') != colon;
	if (text[0] == '[' && bracket) {
		start = text + 1;
		end = bracket;
	} else if (colon && !v6) {
		end = colon;
	}
	if (v6 || (bracket && colon < bracket))
		colon = NULL;
	if ((size_t)(end - start) >= size || (colon && strlen(colon + 1) >= size))
		return st_fail(err, STET_E_INVALID, "\"%.100s\" is not an address to listen on.", text);
	snprintf(host, size, "%.*s", (int)(end - start), start);
	snprintf(port, size, "%s", colon && colon[1] ? colon + 1 : "0");
	return 0;
}

static bool is_loopback(const struct sockaddr *address) {
	if (address->sa_family == AF_INET)
		return (ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 24) == 127;
	if (address->sa_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)address)->sin6_addr);
	return false;
}

static int bind_address(const struct addrinfo *address, const char *listen_on, int *out,
                        struct stet_error *err) {
	int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int one = 1;
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) < 0 ||
	    bind(fd, address->ai_addr, address->ai_addrlen) < 0 || listen(fd, BACKLOG) < 0) {
		int code = st_fail_errno(err, errno, "The server cannot listen on %s", listen_on);
		st_close_at(&fd);
		return code;
	}
	*out = fd;
	return 0;
}

static int write_url(struct st_http *http, int fd, struct stet_error *err) {
	struct sockaddr_storage address;
	socklen_t len = sizeof address;
	char host[64], port[16];
	if (getsockname(fd, (struct sockaddr *)&address, &len) < 0 ||
	    getnameinfo((struct sockaddr *)&address, len, host, sizeof host, port, sizeof port,
	                NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		return st_fail_errno(err, errno, "The server's own address cannot be found out");
	bool v6 = address.ss_family == AF_INET6;
	snprintf(http->url, sizeof http->url, "http://%s%s%s:%s/mcp", v6 ? "[" : "", host,
	         v6 ? "]" : "", port);
	return 0;
}

static int listen_at(struct st_http *http, const struct addrinfo *address, struct stet_error *err) {
	struct st_gate *gate = http->options.gate;
	int fd = -1;
	gate->loopback = is_loopback(address->ai_addr);
	if (!gate->loopback && gate->token_count == 0)
		return st_fail(err, STET_E_INVALID,
		               "%s can be reached from other machines, so a token is needed: give a file "
		               "with one by --token-file, or listen on 127.0.0.1.",
		               http->options.listen);
	int code = bind_address(address, http->options.listen, &fd, err);
	if (code == 0)
		code = write_url(http, fd, err);
	if (code < 0) {
		st_close_at(&fd);
		return code;
	}
	http->listener = evconnlistener_new(st_loop_base(http->loop), NULL, NULL,
	                                    LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0, fd);
	if (!http->listener) {
		st_close_at(&fd);
		return st_fail_nomem(err);
	}
	return evhttp_bind_listener(http->evhttp, http->listener) ? 0 : st_fail_nomem(err);
}

static int start_listening(struct st_http *http, struct stet_error *err) {
	char host[256], port[256];
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found = NULL;
	int code = split_address(http->options.listen, host, port, sizeof host, err);
	if (code < 0)
		return code;
	int failed = getaddrinfo(*host ? host : "127.0.0.1", port, &hints, &found);
	if (failed)
		return st_fail(err, STET_E_INVALID, "\"%.100s\" is not an address to listen on: %s.",
		               http->options.listen, gai_strerror(failed));
	code = listen_at(http, found, err);
	freeaddrinfo(found);
	return code;
}

/* The clock. */

static bool is_flushed(const struct st_http *http) {
	for (struct connection *connection = http->connections; connection;
	     connection = connection->next) {
		if (!is_dead(connection->bev) &&
		    evbuffer_get_length(bufferevent_get_output(connection->bev)) > 0)
			return false;
	}
	return true;
}

static void go_on_ending(struct st_http *http) {
	struct st_endpoint_load load = st_endpoint_load(http->endpoint);
	struct st_pool_load work = st_pool_load(http->pool);
	bool late = st_now_ms() > http->deadline_ms;
	if (!http->closed && (late || (load.requests == 0 && work.running + work.waiting == 0))) {
		http->closed = true;
		http->deadline_ms = st_now_ms() + CLOSING_MS;
		st_endpoint_close(http->endpoint);
		return;
	}
	if (http->closed && ((load.requests + load.listening == 0 && is_flushed(http)) || late)) {
		event_del(http->ticker);
		http->ended(http->arg);
	}
}

static void tick(evutil_socket_t fd, short what, void *arg) {
	struct st_http *http = arg;
	st_pool_tend(http->pool);
	sweep(http);
	if (++http->ticks % TICKS_PER_SECOND == 0)
		st_endpoint_tend(http->endpoint);
	if (http->ending)
		go_on_ending(http);
}

/* Whole and parts. */

static void fill_in(struct st_http_options *options) {
	options->max_body = options->max_body ? options->max_body : USUAL_BODY;
	options->max_connections =
		options->max_connections ? options->max_connections : USUAL_CONNECTIONS;
	options->max_sessions = options->max_sessions ? options->max_sessions : USUAL_SESSIONS;
	options->session_idle = options->session_idle ? options->session_idle : USUAL_SESSION_IDLE_S;
	options->connection_idle =
		options->connection_idle ? options->connection_idle : USUAL_CONNECTION_IDLE_S;
	options->request_time = options->request_time ? options->request_time : USUAL_REQUEST_S;
}

static void set_up_evhttp(struct st_http *http) {
	evhttp_set_max_headers_size(http->evhttp, MAX_HEADERS_READ);
	evhttp_set_max_body_size(http->evhttp, (ev_ssize_t)http->options.max_body);
	evhttp_set_timeout(http->evhttp, (int)http->options.connection_idle);
	evhttp_set_default_content_type(http->evhttp, NULL);
	/* All of them, so that the ones we do not have get our own answer. */
	evhttp_set_allowed_methods(http->evhttp, EVHTTP_REQ_GET | EVHTTP_REQ_POST | EVHTTP_REQ_HEAD |
	                                             EVHTTP_REQ_PUT | EVHTTP_REQ_DELETE |
	                                             EVHTTP_REQ_OPTIONS | EVHTTP_REQ_PATCH);
	evhttp_set_bevcb(http->evhttp, new_connection, http);
	evhttp_set_gencb(http->evhttp, handle, http);
}

static int set_up(struct st_http *http, struct st_mcp_server *server, struct stet_error *err) {
	struct event_base *base = st_loop_base(http->loop);
	int code = st_endpoint_new(http->loop, server, http->options.max_sessions,
	                           http->options.session_idle, &http->endpoint, err);
	if (code < 0)
		return code;
	http->evhttp = evhttp_new(base);
	http->ticker = event_new(base, -1, EV_PERSIST, tick, http);
	if (!http->evhttp || !http->ticker ||
	    event_add(http->ticker, &(struct timeval){.tv_usec = TICK_MS * 1000}) < 0)
		return st_fail_nomem(err);
	set_up_evhttp(http);
	return start_listening(http, err);
}

int st_http_new(struct st_loop *loop, struct st_pool *pool, struct st_mcp_server *server,
                const struct st_http_options *options, struct st_http **out,
                struct stet_error *err) {
	struct st_http *http = calloc(1, sizeof *http);
	if (!http)
		return st_fail_nomem(err);
	http->loop = loop;
	http->pool = pool;
	http->options = *options;
	fill_in(&http->options);
	int code = set_up(http, server, err);
	if (code < 0)
		st_http_free(http);
	else
		*out = http;
	return code;
}

const char *st_http_url(const struct st_http *http) {
	return http->url;
}

void st_http_end(struct st_http *http, int64_t grace_s, void (*ended)(void *arg), void *arg) {
	if (http->ending)
		return;
	http->ending = true;
	http->deadline_ms = st_now_ms() + grace_s * 1000;
	http->ended = ended;
	http->arg = arg;
	evconnlistener_disable(http->listener);
	event_add(http->ticker, &(struct timeval){.tv_usec = QUICK_TICK_MS * 1000});
}

void st_http_free(struct st_http *http) {
	if (!http)
		return;
	if (http->ticker)
		event_free(http->ticker);
	if (http->evhttp)
		evhttp_free(http->evhttp);
	for (struct connection *connection = http->connections, *next; connection; connection = next) {
		next = connection->next;
		bufferevent_decref(connection->bev);
		free(connection);
	}
	st_endpoint_free(http->endpoint);
	free(http);
}
