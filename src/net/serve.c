/* stet/serve.h: connects host, service, protocol, pool and HTTP server. */
#include "stet/serve.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/plural.h"
#include "core/workspace/workspace.h"
#include "mcp/service/service.h"
#include "net/http.h"
#include "net/listen.h"
#include "net/permissions.h"
#include "net/tokens.h"
#include "net/pool.h"

enum { GRACE_S = 10, TOKEN_FILES_MAX = 16 };

struct stet_server {
	struct stet_host *host;
	struct st_loop *loop;
	struct st_pool *pool;
	struct st_executor executor;
	struct st_service *service;
	struct st_mcp_server *mcp;
	struct st_metrics *metrics;
	struct st_gate gate;
	/* The tokens of stet_server_tokens(), and the token files. */
	struct st_gate configured;
	char *token_files[TOKEN_FILES_MAX];
	size_t token_file_count;
	/* The path of the user's own token file, if the server uses it. */
	struct st_buf own;
	void (*notice)(void *arg, const char *message);
	void *notice_arg;
	struct st_http_options options;
	struct st_tls *tls;
	struct st_access_log *access_log;
	struct st_http *http;
	/* Written to by stet_server_stop() and stet_server_reload(). */
	int stop_fd, reload_fd;
	struct event *stopped, *reloaded, *changed;
};

static void on_shutdown(void *arg) {
	struct stet_server *server = arg;
	st_loop_stop(server->loop);
}

static void on_stop(evutil_socket_t fd, short what, void *arg) {
	struct stet_server *server = arg;
	st_http_end(server->http, GRACE_S, on_shutdown, server);
}

static void send_notice(const struct stet_server *server, const char *message) {
	if (server->notice)
		server->notice(server->notice_arg, message);
}

/* Read all token files. If that fails, the current tokens stay. */
static int load_tokens(struct stet_server *server, struct stet_error *err) {
	st_auto(st_gate) fresh = {0};
	int code = st_gate_copy_tokens(&fresh, &server->configured, err);
	for (size_t i = 0; i < server->token_file_count && code == 0; i++)
		code = st_tokens_load(&fresh, server->token_files[i], err);
	if (code == 0)
		code = st_permissions_apply(&fresh, server->host, err);
	if (code == 0)
		st_gate_take_tokens(&server->gate, &fresh);
	return code;
}

/* Tell how reading something again ended. */
static void report_reload(const struct stet_server *server, const char *what, int code,
                          const struct stet_error *why) {
	char message[sizeof why->message + 64];
	if (code < 0)
		snprintf(message, sizeof message, "%s not reloaded: %s", what, why->message);
	else
		snprintf(message, sizeof message, "%s reloaded.", what);
	send_notice(server, message);
}

static void reload_tokens(struct stet_server *server) {
	struct stet_error err = {0};
	char what[64] = "The tokens were";
	int code = load_tokens(server, &err);
	if (code == 0 && server->http)
		st_http_revoke(server->http);
	if (code == 0)
		snprintf(what, sizeof what, "The %zu %s", server->gate.token_count,
		         st_plural(server->gate.token_count, "token was", "tokens were"));
	report_reload(server, what, code, &err);
}

static void on_reload(evutil_socket_t fd, short what, void *arg) {
	struct stet_server *server = arg;
	struct stet_error err = {0};
	uint64_t count;
	if (read(fd, &count, sizeof count) < 0)
		return;
	if (!server->gate.open)
		reload_tokens(server);
	if (server->tls)
		report_reload(server, "The certificate was", st_tls_reload(server->tls, &err), &err);
	if (server->access_log && st_access_log_reopen(server->access_log, &err) < 0)
		send_notice(server, err.message);
}

static void on_files_changed(evutil_socket_t fd, short what, void *arg) {
	struct stet_server *server = arg;
	st_service_dispatch(server->service);
}

static void count_call(void *arg, struct st_str tool, int code, int64_t micros) {
	st_metrics_call(arg, tool, code, micros);
}

static void add_metrics(void *arg, struct st_buf *out) {
	struct stet_server *server = arg;
	struct stet_workspace *ws;
	uint64_t rescued = 0;
	for (size_t i = 0; (ws = stet_host_workspace(server->host, i)); i++) {
		rescued += ws->writes.rescued.reported;
	}
	st_metrics_number(out, "stet_rescued_total", "counter",
	                  "Rescued versions of files, such as late writes.", rescued);
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

static int create_parts(struct stet_server *server, const char *groups, struct stet_error *err) {
	server->metrics = st_metrics_new();
	if (!server->metrics)
		return st_fail_nomem(err);
	int code = st_loop_new(&server->loop, err);
	if (code == 0)
		code = st_pool_new(server->loop, 0, &server->pool, err);
	if (code == 0)
		code = st_service_new(server->host, groups, &server->service, err);
	if (code < 0)
		return code;
	st_executor_init(&server->executor, server->pool);
	code = st_mcp_server_new(st_service_base(server->service), &server->executor.executor,
	                         &server->mcp, err);
	if (code < 0)
		return code;
	st_service_serve(server->service, server->mcp);
	st_service_observe(server->service, count_call, server->metrics);
	server->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	server->reload_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (server->stop_fd < 0 || server->reload_fd < 0)
		return st_fail_errno(err, errno, "Cannot create the server");
	server->stopped = watch_fd(server, server->stop_fd, on_stop);
	server->reloaded = watch_fd(server, server->reload_fd, on_reload);
	server->changed = watch_fd(server, st_service_fd(server->service), on_files_changed);
	if (!server->stopped || !server->reloaded || !server->changed)
		return st_fail_nomem(err);
	return 0;
}

int stet_server_new(struct stet_host *host, const char *groups, struct stet_server **out,
                    struct stet_error *err) {
	if (st_begin_call(host, err) < 0)
		return STET_E_INVALID;
	struct stet_server *server = calloc(1, sizeof *server);
	if (!server)
		return st_fail_nomem(err);
	server->host = host;
	server->stop_fd = server->reload_fd = -1;
	int code = create_parts(server, groups, err);
	if (code < 0)
		stet_server_free(server);
	else
		*out = server;
	return code;
}

int stet_server_set(struct stet_server *server, enum stet_server_option option, int64_t value,
                    struct stet_error *err) {
	if (st_begin_call(server, err) < 0)
		return STET_E_INVALID;
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
	case STET_SERVER_NO_AUTH:
		server->gate.open = true;
		return 0;
	case STET_SERVER_PAGE:
		options->page = server->host;
		options->no_mcp = value == 2;
		return 0;
	case STET_SERVER_ALLOW_UNDO:
		options->allow_undo = true;
		return 0;
	case STET_SERVER_INSECURE:
		options->insecure = true;
		return 0;
	}
	return st_fail(err, STET_E_INVALID, "Unknown option %d.", (int)option);
}

int stet_server_tokens(struct stet_server *server, const char *text, size_t len,
                       struct stet_error *err) {
	if (st_begin_call(server, err) < 0)
		return STET_E_INVALID;
	return st_gate_add_tokens(&server->configured, st_strn(text, len), err);
}

int stet_server_token_file(struct stet_server *server, const char *path, struct stet_error *err) {
	if (st_begin_call(server, err) < 0)
		return STET_E_INVALID;
	if (server->token_file_count == TOKEN_FILES_MAX)
		return st_fail(err, STET_E_LIMIT, "At most %d token files can be given.", TOKEN_FILES_MAX);
	char *copy = strdup(path);
	if (!copy)
		return st_fail_nomem(err);
	server->token_files[server->token_file_count++] = copy;
	int code = load_tokens(server, err);
	if (code < 0)
		free(server->token_files[--server->token_file_count]);
	return code;
}

int stet_server_tls(struct stet_server *server, const char *certificate, const char *key,
                    struct stet_error *err) {
	if (st_begin_call(server, err) < 0)
		return STET_E_INVALID;
	if (server->tls || server->http)
		return st_fail(err, STET_E_INVALID, "The server has a certificate, or listens, already.");
	return st_tls_new(certificate, key, &server->tls, err);
}

int stet_server_access_log(struct stet_server *server, const char *path, struct stet_error *err) {
	if (st_begin_call(server, err) < 0)
		return STET_E_INVALID;
	if (server->access_log || server->http)
		return st_fail(err, STET_E_INVALID, "The server has an access log, or listens, already.");
	return st_access_log_open(path, &server->access_log, err);
}

const char *stet_server_own_token(const struct stet_server *server) {
	if (!server)
		return NULL;
	return server->own.len > 0 ? st_buf_cstr(&server->own) : NULL;
}

void stet_server_notices(struct stet_server *server, void (*notice)(void *arg, const char *message),
                         void *arg) {
	if (!server)
		return;
	server->notice = notice;
	server->notice_arg = arg;
}

int stet_server_host(struct stet_server *server, const char *name, struct stet_error *err) {
	if (st_begin_call(server, err) < 0)
		return STET_E_INVALID;
	return st_gate_add_host(&server->gate, name, err);
}

/* Allow as many descriptors as possible: each connection needs one. */
static void raise_limit(void) {
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

/* Load the tokens before listening. On a loopback address the default is the user's own token. */
static int set_tokens(struct stet_server *server, const char *address, struct stet_error *err) {
	struct st_listen at;
	bool configured = server->token_file_count + server->configured.token_count > 0;
	int code = st_listen_resolve(&at, address, err);
	if (code < 0)
		return code;
	if (configured && server->gate.open)
		return st_fail(err, STET_E_INVALID,
		               "--no-auth is not allowed together with a token: leave one of them out.");
	if (at.local && server->tls)
		return st_fail(err, STET_E_INVALID,
		               "--tls-cert is not allowed with a Unix socket, which leaves this machine "
		               "nowhere: leave it out.");
	if (at.local && server->token_file_count > 0)
		return st_fail(err, STET_E_INVALID,
		               "--token-file is not allowed with a Unix socket, where the user of the peer "
		               "is checked instead: leave it out.");
	if (server->gate.open || at.local)
		return 0;
	if (configured || !at.loopback)
		return load_tokens(server, err);
	code = st_tokens_own(&server->own, err);
	return code < 0 ? code : stet_server_token_file(server, st_buf_cstr(&server->own), err);
}

static void forward_notice(void *arg, const char *message) {
	send_notice(arg, message);
}

int stet_server_listen(struct stet_server *server, const char *address, struct stet_error *err) {
	if (st_begin_call(server, err) < 0)
		return STET_E_INVALID;
	if (server->http)
		return st_fail(err, STET_E_INVALID, "The server is already listening.");
	raise_limit();
	int code = set_tokens(server, address, err);
	if (code < 0)
		return code;
	server->options.listen = address;
	server->options.gate = &server->gate;
	server->options.token_file = server->token_file_count > 0 ? server->token_files[0] : NULL;
	server->options.tls = server->tls;
	server->options.access_log = server->access_log;
	server->options.notice = forward_notice;
	server->options.metrics = server->metrics;
	server->options.more_metrics = add_metrics;
	server->options.arg = server;
	return st_http_new(server->loop, server->pool, server->mcp, &server->options, &server->http,
	                   err);
}

const char *stet_server_url(const struct stet_server *server) {
	if (!server)
		return NULL;
	return server->http ? st_http_url(server->http) : NULL;
}

int stet_server_run(struct stet_server *server) {
	if (!server)
		return STET_E_INVALID;
	if (server->http)
		st_loop_run(server->loop);
	struct st_pool_load load = st_pool_load(server->pool);
	return load.running + load.waiting == 0;
}

/* Preserves errno, since signal handlers may call it. */
static void wake(int fd) {
	static const uint64_t one = 1;
	int saved = errno;
	ssize_t written = write(fd, &one, sizeof one);
	(void)written;
	errno = saved;
}

void stet_server_stop(struct stet_server *server) {
	if (!server)
		return;
	wake(server->stop_fd);
}

void stet_server_reload(struct stet_server *server) {
	if (!server)
		return;
	wake(server->reload_fd);
}

void stet_server_free(struct stet_server *server) {
	if (!server)
		return;
	st_http_free(server->http);
	st_pool_free(server->pool);
	if (server->stopped)
		event_free(server->stopped);
	if (server->reloaded)
		event_free(server->reloaded);
	if (server->changed)
		event_free(server->changed);
	if (server->service)
		st_service_serve(server->service, NULL);
	st_mcp_server_free(server->mcp);
	st_service_free(server->service);
	st_loop_free(server->loop);
	st_close_at(&server->stop_fd);
	st_close_at(&server->reload_fd);
	for (size_t i = 0; i < server->token_file_count; i++)
		free(server->token_files[i]);
	st_buf_release(&server->own);
	st_gate_release(&server->configured);
	st_metrics_free(server->metrics);
	st_gate_release(&server->gate);
	st_tls_free(server->tls);
	st_access_log_free(server->access_log);
	free(server);
}
