/* stet over HTTP, put together: desk, service, core, pool, HTTP. */
#include "stet/serve.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/auto.h"
#include "core/workspace.h"
#include "mcp/desk_service.h"
#include "net/http.h"
#include "net/work.h"

enum { GRACE_S = 10 };

struct stet_server {
	struct stet_desk *desk;
	struct st_loop *loop;
	struct st_pool *pool;
	struct st_work work;
	struct st_desk_service *service;
	struct st_mcp_server *mcp;
	struct st_metrics *metrics;
	struct st_gate gate;
	struct st_http_options options;
	struct st_http *http;
	/* Written to by stet_server_stop(). */
	int stop_fd;
	struct event *stopped, *changed;
};

static void ended(void *arg) {
	struct stet_server *server = arg;
	st_loop_stop(server->loop);
}

static void stop(evutil_socket_t fd, short what, void *arg) {
	struct stet_server *server = arg;
	st_http_end(server->http, GRACE_S, ended, server);
}

static void changed(evutil_socket_t fd, short what, void *arg) {
	struct stet_server *server = arg;
	st_desk_service_dispatch(server->service);
}

static void called(void *arg, struct st_str tool, int code, int64_t micros) {
	st_metrics_call(arg, tool, code, micros);
}

/* Bytes of others that were kept: late writes, leftovers of crashed commits. */
static void add_metrics(void *arg, struct st_buf *out) {
	struct stet_server *server = arg;
	struct stet_workspace *ws;
	uint64_t kept = 0;
	for (size_t i = 0; (ws = stet_desk_workspace(server->desk, i)); i++) {
		pthread_mutex_lock(&ws->guard.lock);
		kept += ws->guard.kept;
		pthread_mutex_unlock(&ws->guard.lock);
	}
	st_metrics_number(out, "stet_kept_total", "counter",
	                  "Versions of others that were kept, such as late writes.", kept);
}

static struct event *watch_fd(struct stet_server *server, int fd, event_callback_fn callback) {
	struct event *event =
		event_new(st_loop_base(server->loop), fd, EV_READ | EV_PERSIST, callback, server);
	if (event && event_add(event, NULL) < 0) {
		event_free(event);
		event = NULL;
	}
	return event;
}

static int set_up(struct stet_server *server, const char *groups, struct stet_error *err) {
	server->metrics = st_metrics_new();
	if (!server->metrics)
		return st_fail_nomem(err);
	int code = st_loop_new(&server->loop, err);
	if (code == 0)
		code = st_pool_new(server->loop, 0, &server->pool, err);
	if (code == 0)
		code = st_desk_service_new(server->desk, groups, &server->service, err);
	if (code < 0)
		return code;
	st_work_init(&server->work, server->pool);
	code = st_mcp_server_new(st_desk_service_base(server->service), &server->work.executor,
	                         &server->mcp, err);
	if (code < 0)
		return code;
	st_desk_service_serve(server->service, server->mcp);
	st_desk_service_observe(server->service, called, server->metrics);
	server->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (server->stop_fd < 0)
		return st_fail_errno(err, errno, "The server cannot be set up");
	server->stopped = watch_fd(server, server->stop_fd, stop);
	server->changed = watch_fd(server, st_desk_service_fd(server->service), changed);
	if (!server->stopped || !server->changed)
		return st_fail_nomem(err);
	return 0;
}

int stet_server_new(struct stet_desk *desk, const char *groups, struct stet_server **out,
                    struct stet_error *err) {
	struct stet_server *server = calloc(1, sizeof *server);
	if (!server)
		return st_fail_nomem(err);
	server->desk = desk;
	server->stop_fd = -1;
	int code = set_up(server, groups, err);
	if (code < 0)
		stet_server_free(server);
	else
		*out = server;
	return code;
}

int stet_server_set(struct stet_server *server, enum stet_server_option option, int64_t value,
                    struct stet_error *err) {
	struct st_http_options *options = &server->options;
	if (value <= 0 || value > INT32_MAX)
		return st_fail(err, STET_E_INVALID, "%" PRId64 " is out of range.", value);
	switch (option) {
	case STET_SERVER_MAX_BODY:
		options->max_body = (size_t)value;
		return 0;
	case STET_SERVER_MAX_CONNECTIONS:
		options->max_connections = (size_t)value;
		return 0;
	case STET_SERVER_MAX_SESSIONS:
		options->max_sessions = (size_t)value;
		return 0;
	case STET_SERVER_SESSION_IDLE:
		options->session_idle = value;
		return 0;
	case STET_SERVER_CONNECTION_IDLE:
		options->connection_idle = value;
		return 0;
	case STET_SERVER_REQUEST_TIME:
		options->request_time = value;
		return 0;
	}
	return st_fail(err, STET_E_INVALID, "There is no option %d.", (int)option);
}

int stet_server_tokens(struct stet_server *server, const char *text, size_t len,
                       struct stet_error *err) {
	return st_gate_add_tokens(&server->gate, st_strn(text, len), err);
}

int stet_server_host(struct stet_server *server, const char *name, struct stet_error *err) {
	return st_gate_add_host(&server->gate, name, err);
}

/* Each client takes a descriptor, so as many as the system allows. */
static void raise_limit(void) {
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

int stet_server_listen(struct stet_server *server, const char *address, struct stet_error *err) {
	if (server->http)
		return st_fail(err, STET_E_INVALID, "The server listens already.");
	raise_limit();
	server->options.listen = address;
	server->options.gate = &server->gate;
	server->options.metrics = server->metrics;
	server->options.more_metrics = add_metrics;
	server->options.arg = server;
	return st_http_new(server->loop, server->pool, server->mcp, &server->options, &server->http,
	                   err);
}

const char *stet_server_url(const struct stet_server *server) {
	return server->http ? st_http_url(server->http) : NULL;
}

int stet_server_run(struct stet_server *server) {
	if (server->http)
		st_loop_run(server->loop);
	struct st_pool_load load = st_pool_load(server->pool);
	return load.running + load.waiting == 0;
}

void stet_server_stop(struct stet_server *server) {
	static const uint64_t one = 1;
	ssize_t written = write(server->stop_fd, &one, sizeof one);
	(void)written;
}

void stet_server_free(struct stet_server *server) {
	if (!server)
		return;
	st_http_free(server->http);
	st_pool_free(server->pool);
	if (server->stopped)
		event_free(server->stopped);
	if (server->changed)
		event_free(server->changed);
	if (server->service)
		st_desk_service_serve(server->service, NULL);
	st_mcp_server_free(server->mcp);
	st_desk_service_free(server->service);
	st_loop_free(server->loop);
	st_close_at(&server->stop_fd);
	st_metrics_free(server->metrics);
	st_gate_release(&server->gate);
	free(server);
}
