#include "net/http.h"

#include <stdlib.h>

#include "base/clock.h"
#include "net/acceptor.h"
#include "net/endpoint.h"
#include "net/listen.h"
#include "net/web.h"

enum {
	DEFAULT_BODY = 32 << 20,
	DEFAULT_CONNECTIONS = 1024,
	DEFAULT_SESSIONS = 1000,
	DEFAULT_SESSION_IDLE_S = 3600,
	DEFAULT_CONNECTION_IDLE_S = 120,
	DEFAULT_REQUEST_S = 60,
	TICK_MS = 250,
	/* During shutdown. */
	QUICK_TICK_MS = 10,
	/* How long shutdown waits for cancelled requests, and for clients to read. */
	CLOSING_MS = 2000,
	TICKS_PER_SECOND = 1000 / TICK_MS,
};

struct st_http {
	struct st_loop *loop;
	struct st_pool *pool;
	struct st_http_options options;
	struct st_listen listen;
	struct st_connection_rules rules;
	struct st_acceptor *acceptor;
	struct event *ticker;
	unsigned ticks;
	struct st_endpoint *endpoint;
	/* NULL without a page. */
	struct st_web *web;

	/* Shutdown. */
	bool ending, closed;
	int64_t deadline_ms;
	void (*ended)(void *arg);
	void *arg;
};

/* ---- requests ---- */

static void reply_text(struct st_request *request, int status, struct st_str text) {
	st_request_field(request, "Content-Type", "text/plain; charset=utf-8");
	st_request_field(request, "X-Content-Type-Options", "nosniff");
	st_request_answer(request, status, text);
}

static void answer_metrics(struct st_http *http, struct st_request *request) {
	st_auto(st_buf) text = ST_BUF_INIT;
	struct st_endpoint_load load = st_endpoint_load(http->endpoint);
	struct st_pool_load tasks = st_pool_load(http->pool);
	st_metrics_write(http->options.metrics, &text);
	st_metrics_number(&text, "stet_sessions", "gauge", "MCP sessions.", load.sessions);
	st_metrics_number(&text, "stet_streams", "gauge", "Streams and subscriptions.",
	                  load.streams + load.listening);
	st_metrics_number(&text, "stet_requests", "gauge", "Requests not answered yet.", load.requests);
	st_metrics_number(&text, "stet_connections", "gauge", "HTTP connections.",
	                  st_acceptor_count(http->acceptor));
	st_metrics_number(&text, "stet_workers", "gauge", "Threads for tool calls.", tasks.threads);
	st_metrics_number(&text, "stet_jobs_waiting", "gauge", "Tool calls that wait.", tasks.waiting);
	if (http->options.more_metrics)
		http->options.more_metrics(http->options.arg, &text);
	if (text.failed)
		reply_text(request, 503, ST_STR("out of memory\n"));
	else
		reply_text(request, 200, st_buf_str(&text));
}

static bool is_get(const struct st_request *request) {
	return request->head.method == ST_METHOD_GET || request->head.method == ST_METHOD_HEAD;
}

static void refuse_method(struct st_request *request) {
	st_request_field(request, "Allow", "GET, HEAD");
	reply_text(request, 405, ST_STR("Method not allowed: use GET.\n"));
}

static void refuse_token(const struct st_http *http, struct st_request *request) {
	const char *file = http->options.token_file;
	st_auto(st_buf) text = ST_BUF_INIT;
	st_buf_adds(&text, "A token is needed: send \"Authorization: Bearer TOKEN\" with ");
	if (file)
		st_buf_addf(&text, "the one in %s on the server's machine.\n", file);
	else
		st_buf_adds(&text, "one that the server knows.\n");
	st_request_field(request, "WWW-Authenticate", "Bearer realm=\"stet\"");
	reply_text(request, 401, st_buf_str(&text));
}

static void answer_health(struct st_request *request) {
	if (is_get(request))
		reply_text(request, 200, ST_STR("ok\n"));
	else
		refuse_method(request);
}

static bool has_body(const struct st_head *head) {
	return head->chunked || head->length > 0;
}

/* Check a request that has a valid token. True to read its body. */
static bool check_trusted(struct st_http *http, struct st_request *request) {
	const struct st_head *head = &request->head;
	if (strcmp(head->path, "/metrics") == 0) {
		if (!is_get(request)) {
			refuse_method(request);
			return false;
		}
	} else if (!(st_web_is_api(head->path) ? st_web_check_head(http->web, request)
	                                       : st_endpoint_check_head(http->endpoint, request))) {
		return false;
	}
	if (has_body(head) && head->method != ST_METHOD_POST)
		reply_text(request, 400, ST_STR("Only POST requests may have a body.\n"));
	else if (head->length > http->options.max_body)
		reply_text(request, 413, ST_STR("The body of the request is too large.\n"));
	else
		return true;
	return false;
}

/* Whether a path that needs a token exists. */
static bool has_path(const struct st_http *http, const char *path) {
	if (strcmp(path, "/mcp") == 0)
		return !http->options.no_mcp;
	return strcmp(path, "/metrics") == 0 || (http->web && st_web_is_api(path));
}

/* The page's files are the same for everybody, so they need no token. */
static bool serve_page_file(struct st_http *http, struct st_request *request) {
	return http->web && is_get(request) && st_web_serve_file(request);
}

static void refuse_path(const struct st_http *http, struct st_request *request) {
	reply_text(request, 404,
	           http->options.no_mcp ? ST_STR("Not found. The page is at /.\n")
	                                : ST_STR("Not found. Use /mcp, /healthz or /metrics.\n"));
}

/* Check everything that the head shows before reading the body. */
static bool check_head(void *arg, struct st_request *request) {
	struct st_http *http = arg;
	const struct st_gate *gate = http->options.gate;
	const struct st_head *head = &request->head;
	if (!st_gate_host(gate, st_head_field(head, "Host")) ||
	    !st_gate_origin(gate, st_head_field(head, "Origin")))
		reply_text(request, 403, ST_STR("This Host or Origin is not allowed.\n"));
	else if (http->ending) {
		request->head.close = true;
		reply_text(request, 503, ST_STR("The server is shutting down.\n"));
	} else if (strcmp(head->path, "/healthz") == 0)
		answer_health(request);
	else if (serve_page_file(http, request))
		return false;
	else if (!has_path(http, head->path))
		refuse_path(http, request);
	else if (!st_gate_token(gate, st_head_field(head, "Authorization"), &request->caller))
		refuse_token(http, request);
	else {
		st_request_trust(request);
		return check_trusted(http, request);
	}
	return false;
}

static void handle_request(void *arg, struct st_request *request) {
	struct st_http *http = arg;
	if (strcmp(request->head.path, "/mcp") == 0)
		st_endpoint_handle(http->endpoint, request);
	else if (http->web && st_web_is_api(request->head.path))
		st_web_handle(http->web, request);
	else
		answer_metrics(http, request);
}

static void note_answer(void *arg, const struct st_request *request) {
	struct st_http *http = arg;
	const struct st_http_options *options = &http->options;
	st_metrics_http(options->metrics, request->status);
	if (request->caller.named)
		st_metrics_caller(options->metrics, request->caller.owner);
	if (options->access_log && !st_access_log_add(options->access_log, request) && options->notice)
		options->notice(options->arg, "The access log cannot be written. Is the disk full?");
}

/* ---- listening ---- */

static int check_listen(const struct st_http *http, struct stet_error *err) {
	const struct st_gate *gate = http->options.gate;
	if (gate->open && !gate->loopback)
		return st_fail(
			err, STET_E_INVALID,
			"--no-auth is not allowed at %s, which other machines can reach: give a file "
			"with a token by --token-file, or listen on 127.0.0.1.",
			http->options.listen);
	if (!gate->open && gate->token_count == 0)
		return st_fail(err, STET_E_INVALID,
		               "%s can be reached from other machines, so a token is needed: give a file "
		               "with one by --token-file, or listen on 127.0.0.1.",
		               http->options.listen);
	if (!gate->loopback && http->options.no_mcp)
		return st_fail(
			err, STET_E_INVALID,
			"%s can be reached from other machines, which the page alone is not for: use "
			"stet serve --page, which can have a certificate.",
			http->options.listen);
	if (!gate->loopback && !http->options.tls && !http->options.insecure)
		return st_fail(err, STET_E_INVALID,
		               "%s can be reached from other machines, which could read the token on its "
		               "way: give --tls-cert and --tls-key, or --insecure if the network is safe.",
		               http->options.listen);
	return 0;
}

static int start_listening(struct st_http *http, struct stet_error *err) {
	struct st_gate *gate = http->options.gate;
	struct st_listen *at = &http->listen;
	int code = st_listen_resolve(at, http->options.listen, err);
	if (code < 0)
		return code;
	gate->loopback = at->loopback;
	gate->open |= at->local;
	at->tls = http->options.tls != NULL;
	code = check_listen(http, err);
	if (code == 0)
		code = st_listen_open(at, err);
	if (code < 0)
		return code;
	const struct st_acceptor_options options = {
		.max_connections = http->options.max_connections,
		.connection_idle = http->options.connection_idle,
		.request_time = http->options.request_time,
		.checks_user = at->local,
	};
	return st_acceptor_new(at->fd, &options, &http->rules, &http->acceptor, err);
}

/* ---- ticks ---- */

/* First wait for running requests, then close the endpoint and wait until all answers are sent. */
static void continue_shutdown(struct st_http *http) {
	struct st_endpoint_load load = st_endpoint_load(http->endpoint);
	struct st_pool_load tasks = st_pool_load(http->pool);
	bool late = st_now_ms() > http->deadline_ms;
	if (!http->closed && (late || (load.requests == 0 && tasks.running + tasks.waiting == 0))) {
		http->closed = true;
		http->deadline_ms = st_now_ms() + CLOSING_MS;
		st_endpoint_close(http->endpoint);
		if (http->web)
			st_web_close(http->web);
		return;
	}
	if (http->closed &&
	    ((load.requests + load.listening == 0 && st_acceptor_is_flushed(http->acceptor)) || late)) {
		event_del(http->ticker);
		http->ended(http->arg);
	}
}

static void tick(evutil_socket_t fd, short what, void *arg) {
	struct st_http *http = arg;
	st_pool_tick(http->pool);
	st_acceptor_tick(http->acceptor);
	if (++http->ticks % TICKS_PER_SECOND == 0)
		st_endpoint_tick(http->endpoint);
	if (http->ending)
		continue_shutdown(http);
}

/* ---- setup ---- */

static void apply_defaults(struct st_http_options *options) {
	options->max_body = options->max_body ?: DEFAULT_BODY;
	options->max_connections = options->max_connections ?: DEFAULT_CONNECTIONS;
	options->max_sessions = options->max_sessions ?: DEFAULT_SESSIONS;
	options->session_idle = options->session_idle ?: DEFAULT_SESSION_IDLE_S;
	options->connection_idle = options->connection_idle ?: DEFAULT_CONNECTION_IDLE_S;
	options->request_time = options->request_time ?: DEFAULT_REQUEST_S;
}

static int start_server(struct st_http *http, struct st_mcp_server *server,
                        struct stet_error *err) {
	struct event_base *base = st_loop_base(http->loop);
	int code = st_endpoint_new(http->loop, server, http->options.max_sessions,
	                           http->options.session_idle, &http->endpoint, err);
	if (code < 0)
		return code;
	if (http->options.page)
		code = st_web_new(http->loop, http->pool, http->options.page, http->options.allow_undo,
		                  &http->web, err);
	if (code < 0)
		return code;
	http->rules = (struct st_connection_rules){
		.base = base,
		.tls = http->options.tls,
		.max_body = http->options.max_body,
		.check_head = check_head,
		.handle = handle_request,
		.answered = note_answer,
		.arg = http,
	};
	code = start_listening(http, err);
	if (code < 0)
		return code;
	http->ticker = event_new(base, -1, EV_PERSIST, tick, http);
	if (!http->ticker || event_add(http->ticker, &(struct timeval){.tv_usec = TICK_MS * 1000}) < 0)
		return st_fail_nomem(err);
	return 0;
}

int st_http_new(struct st_loop *loop, struct st_pool *pool, struct st_mcp_server *server,
                const struct st_http_options *options, struct st_http **out,
                struct stet_error *err) {
	struct st_http *http = calloc(1, sizeof *http);
	if (!http)
		return st_fail_nomem(err);
	http->loop = loop;
	http->listen.fd = -1;
	http->pool = pool;
	http->options = *options;
	apply_defaults(&http->options);
	int code = start_server(http, server, err);
	if (code < 0)
		st_http_free(http);
	else
		*out = http;
	return code;
}

const char *st_http_url(const struct st_http *http) {
	return http->listen.url;
}

void st_http_revoke(struct st_http *http) {
	st_endpoint_revoke(http->endpoint, http->options.gate);
	if (http->web)
		st_web_revoke(http->web, http->options.gate);
}

void st_http_end(struct st_http *http, int64_t grace_s, void (*ended)(void *arg), void *arg) {
	if (http->ending)
		return;
	http->ending = true;
	http->deadline_ms = st_now_ms() + grace_s * 1000;
	http->ended = ended;
	http->arg = arg;
	st_acceptor_stop(http->acceptor);
	event_add(http->ticker, &(struct timeval){.tv_usec = QUICK_TICK_MS * 1000});
}

void st_http_free(struct st_http *http) {
	if (!http)
		return;
	if (http->ticker)
		event_free(http->ticker);
	st_acceptor_free(http->acceptor);
	st_listen_release(&http->listen);
	st_web_free(http->web);
	st_endpoint_free(http->endpoint);
	free(http);
}
