#include "net/web.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/clock.h"
#include "base/json.h"
#include "core/page/page.h"
#include "net/query.h"
#include "net/web_undo.h"
#include "stet/page.h"
#include "stet/tools.h"
#include "stet/version.h"
#include "tools/host.h"

#define API "/api/v1/"

enum {
	/* How often the state is asked for changes while clients listen, and how often they hear of the server. */
	POLL_MS = 200,
	ALIVE_MS = 5000,
	STREAMS_MAX = 64,
	/* A client that does not read gets no more lines until it does. */
	UNREAD_MAX = 64 << 10,
	BODY_MAX = 64 << 10,
};

/* A client that listens to the changes of one workspace. */
struct stream {
	struct stream *next;
	struct st_web *web;
	struct st_request *request;
	const struct stet_workspace *ws;
	int64_t sent, sent_ms;
};

/* Asks the workspaces for changes, on the pool. */
struct poll {
	struct st_pool_task task;
	struct st_web *web;
	bool running;
	size_t count;
	const struct stet_workspace *spaces[ST_ROOTS_MAX];
	int64_t changes[ST_ROOTS_MAX];
};

struct st_web {
	struct st_pool *pool;
	struct stet_host *host;
	bool allow_undo, closed;
	struct event *ticker;
	struct stream *streams;
	size_t stream_count;
	struct poll poll;
};

/* ---- answers ---- */

static void add_security(struct st_request *request) {
	st_request_field(request, "X-Content-Type-Options", "nosniff");
	st_request_field(request, "Referrer-Policy", "no-referrer");
	st_request_field(request, "Cross-Origin-Resource-Policy", "same-origin");
	st_request_field(request, "Cross-Origin-Opener-Policy", "same-origin");
	st_request_field(request, "X-Frame-Options", "DENY");
	st_request_field(request, "Content-Security-Policy",
	                 "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
	                 "img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action "
	                 "'none'");
}

void st_web_answer(struct st_request *request, int status, struct st_str json) {
	add_security(request);
	st_request_field(request, "Content-Type", "application/json");
	st_request_field(request, "Cache-Control", "no-store");
	st_request_answer(request, status, json);
}

void st_web_refuse(struct st_request *request, int status, const char *error, const char *message) {
	st_auto(st_buf) json = ST_BUF_INIT;
	st_buf_adds(&json, "{\"error\":");
	st_json_quote(&json, st_str(error));
	st_buf_adds(&json, ",\"message\":");
	st_json_quote(&json, st_str(message));
	st_buf_adds(&json, "}");
	st_web_answer(request, status, st_buf_str(&json));
}

int st_web_status(int code) {
	switch (code) {
	case STET_E_INVALID:
	case STET_E_OUTSIDE:
		return 400;
	case STET_E_NOT_FOUND:
		return 404;
	case STET_E_CONFLICT:
		return 409;
	case STET_E_ACCESS:
	case STET_E_EXTENSION:
		return 403;
	case STET_E_BUSY:
	case STET_E_NOMEM:
	case STET_E_LIMIT:
		return 503;
	default:
		return 500;
	}
}

/* ---- static files ---- */

bool st_web_serve_file(struct st_request *request) {
	const char *path = request->head.path;
	const char *name = strcmp(path, "/") == 0 ? "/index.html" : path;
	for (const struct st_web_file *file = st_web_files; file->path; file++) {
		if (strcmp(file->path, name) != 0)
			continue;
		add_security(request);
		st_request_field(request, "Content-Type", file->type);
		/* The next start may be of another version. */
		st_request_field(request, "Cache-Control", "no-cache");
		st_request_answer(request, 200, st_strn((const char *)file->bytes, file->len));
		return true;
	}
	return false;
}

/* ---- one section ---- */

struct section_task {
	struct st_pool_task task;
	/* NULL once the client is gone. */
	struct st_request *request;
	struct stet_workspace *ws;
	/* Which files the caller may know of; `limited` if that is not all. */
	struct st_reach reach;
	bool limited;
	char section[32];
	struct st_buf args;
	char *json;
	size_t len;
	int code;
	struct stet_error err;
};

static void section_free(struct section_task *task) {
	st_buf_release(&task->args);
	stet_free(task->json);
	free(task);
}

static void run_section(struct st_pool_task *base) {
	struct section_task *task = (struct section_task *)base;
	struct st_str args = st_buf_str(&task->args);
	task->code = st_page(task->ws, task->limited ? &task->reach : NULL, task->section, args,
	                     &task->json, &task->len, &task->err);
}

static void answer_section(struct st_pool_task *base) {
	struct section_task *task = (struct section_task *)base;
	struct st_request *request = task->request;
	if (request) {
		st_request_watch(request, NULL, NULL);
		if (task->code < 0)
			st_web_refuse(request, st_web_status(task->code), stet_error_name(task->code),
			              task->err.message);
		else
			st_web_answer(request, 200, st_strn(task->json, task->len));
	}
	section_free(task);
}

static void forget_section(void *arg) {
	struct section_task *task = arg;
	task->request = NULL;
}

/* The parameters of the query as the arguments of stet_page(). */
static void add_args(const char *query, struct st_buf *json) {
	static const char *const numbers[] = {"before", "limit", "id"};
	static const char *const texts[] = {"path", "agent", "name", "from", "to"};
	st_auto(st_buf) value = ST_BUF_INIT;
	const char *comma = "";
	st_buf_addc(json, '{');
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		if (!st_query_get(query, numbers[i], &value) || value.len == 0 || value.len > 15 ||
		    strspn(value.ptr, "0123456789") != value.len)
			continue;
		st_buf_addf(json, "%s\"%s\":%lld", comma, numbers[i], strtoll(value.ptr, NULL, 10));
		comma = ",";
	}
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		if (!st_query_get(query, texts[i], &value))
			continue;
		st_buf_addf(json, "%s\"%s\":", comma, texts[i]);
		st_json_quote(json, st_buf_str(&value));
		comma = ",";
	}
	st_buf_addc(json, '}');
}

/* The n-th workspace that the caller's token opens; NULL if there is none, or without memory. */
static struct stet_workspace *nth_workspace(const struct st_web *web,
                                            const struct st_request *request, size_t n) {
	struct stet_client *client = NULL;
	if (stet_host_stateless(web->host, request->caller.owner, &client, NULL) < 0)
		return NULL;
	struct stet_workspace *ws = st_client_workspace(client, n);
	stet_client_release(client);
	return ws;
}

/* The workspace that the parameter "ws" names, the first one without it. NULL if there is none. */
static struct stet_workspace *workspace_of(const struct st_web *web,
                                           const struct st_request *request) {
	st_auto(st_buf) value = ST_BUF_INIT;
	size_t number = 0;
	if (st_query_get(request->head.query, "ws", &value))
		number = strtoul(st_buf_cstr(&value), NULL, 10);
	return number < ST_ROOTS_MAX ? nth_workspace(web, request, number) : NULL;
}

/* Note which workspaces the caller's token opens; none if memory ran out. */
static void limit_section(const struct st_web *web, const struct st_request *request,
                          struct section_task *task) {
	struct stet_client *client = NULL;
	task->limited = true;
	if (stet_host_stateless(web->host, request->caller.owner, &client, NULL) < 0)
		return;
	task->limited = st_client_reach(client, &task->reach) != NULL;
	stet_client_release(client);
}

static void handle_section(struct st_web *web, struct st_request *request, const char *section) {
	struct stet_workspace *ws = workspace_of(web, request);
	struct section_task *task = ws ? calloc(1, sizeof *task) : NULL;
	if (!ws) {
		st_web_refuse(request, 404, "not_found", "There is no such workspace.");
		return;
	}
	if (!task) {
		st_web_refuse(request, 503, "no_memory", "The server is out of memory.");
		return;
	}
	*task = (struct section_task){
		.task = {.run = run_section, .done = answer_section}, .request = request, .ws = ws};
	snprintf(task->section, sizeof task->section, "%s", section);
	limit_section(web, request, task);
	add_args(request->head.query, &task->args);
	if (!st_pool_submit(web->pool, &task->task)) {
		section_free(task);
		st_web_refuse(request, 503, "busy", "Too many calls are waiting. Try again.");
		return;
	}
	st_request_watch(request, forget_section, task);
}

/* ---- what there is ---- */

static bool may_undo(const struct st_web *web, const struct st_request *request) {
	struct stet_client *client = NULL;
	if (!web->allow_undo ||
	    stet_host_stateless(web->host, request->caller.owner, &client, NULL) < 0)
		return false;
	bool may = !st_client_is_read_only(client);
	stet_client_release(client);
	return may;
}

static void answer_about(const struct st_web *web, struct st_request *request) {
	st_auto(st_buf) json = ST_BUF_INIT;
	struct stet_workspace *ws;
	st_buf_addf(&json, "{\"version\":1,\"stet\":\"%s\",\"allowUndo\":%s,\"workspaces\":[",
	            stet_version(), may_undo(web, request) ? "true" : "false");
	for (size_t i = 0; (ws = nth_workspace(web, request, i)); i++) {
		st_buf_adds(&json, i > 0 ? "," : "");
		st_json_quote(&json, st_str(stet_workspace_root(ws)));
	}
	st_buf_adds(&json, "]}");
	st_web_answer(request, json.failed ? 503 : 200, st_buf_str(&json));
}

/* ---- streams ---- */

static void remove_stream(struct stream *stream) {
	struct st_web *web = stream->web;
	struct stream **at = &web->streams;
	while (*at != stream)
		at = &(*at)->next;
	*at = stream->next;
	web->stream_count--;
	if (!web->streams)
		event_del(web->ticker);
	free(stream);
}

static void forget_stream(void *arg) {
	remove_stream(arg);
}

static void send_line(struct stream *stream, int64_t changes) {
	char line[64];
	int len = snprintf(line, sizeof line, "{\"changes\":%lld}\n", (long long)changes);
	if (st_request_unsent(stream->request) > UNREAD_MAX)
		return;
	stream->sent = changes;
	stream->sent_ms = st_now_ms();
	st_request_send(stream->request, st_strn(line, (size_t)len));
}

static void end_stream(struct stream *stream) {
	struct st_request *request = stream->request;
	st_request_watch(request, NULL, NULL);
	remove_stream(stream);
	st_request_end(request);
}

static void run_poll(struct st_pool_task *base) {
	struct poll *poll = (struct poll *)base;
	struct stet_workspace *ws;
	poll->count = 0;
	while (poll->count < ST_ROOTS_MAX && (ws = stet_host_workspace(poll->web->host, poll->count))) {
		poll->spaces[poll->count] = ws;
		poll->changes[poll->count++] = stet_page_changes(ws);
	}
}

static int64_t changes_of(const struct poll *poll, const struct stet_workspace *ws) {
	for (size_t i = 0; i < poll->count; i++) {
		if (poll->spaces[i] == ws)
			return poll->changes[i];
	}
	return 0;
}

/* A send may close its connection, which removes the stream. */
static void tell_streams(struct st_pool_task *base) {
	struct poll *poll = (struct poll *)base;
	int64_t now = st_now_ms();
	poll->running = false;
	for (struct stream *stream = poll->web->streams, *next; stream; stream = next) {
		next = stream->next;
		int64_t changes = changes_of(poll, stream->ws);
		if (changes != stream->sent || now - stream->sent_ms >= ALIVE_MS)
			send_line(stream, changes);
	}
}

static void tick(evutil_socket_t fd, short what, void *arg) {
	struct st_web *web = arg;
	if (web->poll.running)
		return;
	web->poll.running = true;
	web->poll.task = (struct st_pool_task){.run = run_poll, .done = tell_streams};
	if (!st_pool_submit(web->pool, &web->poll.task))
		web->poll.running = false;
}

static void begin_stream(struct st_web *web, struct st_request *request) {
	const struct stet_workspace *ws = workspace_of(web, request);
	struct stream *stream =
		ws && !web->closed && web->stream_count < STREAMS_MAX ? calloc(1, sizeof *stream) : NULL;
	if (!stream) {
		st_web_refuse(request, ws ? 503 : 404, ws ? "limit" : "not_found",
		              ws ? "Too many pages listen to this server. Close one."
		                 : "There is no such workspace.");
		return;
	}
	*stream =
		(struct stream){.next = web->streams, .web = web, .request = request, .ws = ws, .sent = -1};
	if (!web->streams)
		event_add(web->ticker, &(struct timeval){.tv_usec = POLL_MS * 1000});
	web->streams = stream;
	web->stream_count++;
	add_security(request);
	st_request_field(request, "Content-Type", "application/x-ndjson");
	st_request_field(request, "Cache-Control", "no-store");
	st_request_watch(request, forget_stream, stream);
	st_request_start(request);
}

/* ---- requests ---- */

bool st_web_is_api(const char *path) {
	return strncmp(path, API, sizeof API - 1) == 0;
}

static const char *section_of(const struct st_request *request) {
	return request->head.path + sizeof API - 1;
}

static bool is_undo(const struct st_request *request) {
	return strcmp(section_of(request), "undo") == 0;
}

/* Only the page itself may ask: a page of another origin has another one, or none that browsers tell. */
static bool is_same_origin(const struct st_head *head) {
	const char *origin = st_head_field(head, "Origin"), *host = st_head_field(head, "Host");
	const char *site = st_head_field(head, "Sec-Fetch-Site");
	if (site && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0)
		return false;
	if (!origin)
		return true;
	const char *rest = strstr(origin, "://");
	return rest && host && strcasecmp(rest + 3, host) == 0;
}

static bool is_json(const struct st_head *head) {
	static const char json[] = "application/json";
	const char *type = st_head_field(head, "Content-Type");
	return type && strncasecmp(type, json, sizeof json - 1) == 0 &&
	       (type[sizeof json - 1] == '\0' || type[sizeof json - 1] == ';');
}

static bool check_undo(const struct st_web *web, struct st_request *request) {
	const struct st_head *head = &request->head;
	if (head->method != ST_METHOD_POST) {
		st_request_field(request, "Allow", "POST");
		st_web_refuse(request, 405, "invalid", "Use POST.");
	} else if (!st_head_field(head, "X-Stet-Page") || !is_json(head)) {
		st_web_refuse(request, 403, "access",
		              "Send JSON, with the header fields Content-Type: application/json and "
		              "X-Stet-Page: 1.");
	} else if (!web->allow_undo) {
		st_web_refuse(request, 403, "access",
		              "This server only shows: start it with --allow-undo to undo from the page.");
	} else if (head->length > BODY_MAX || head->chunked) {
		st_web_refuse(request, 413, "too_big", "The body of the request is too large.");
	} else {
		return true;
	}
	return false;
}

bool st_web_check_head(struct st_web *web, struct st_request *request) {
	if (!is_same_origin(&request->head)) {
		st_web_refuse(request, 403, "access", "Only the page itself may ask.");
		return false;
	}
	if (!st_query_is_valid(request->head.query)) {
		st_web_refuse(request, 400, "invalid", "The query of the address is not valid.");
		return false;
	}
	if (is_undo(request))
		return check_undo(web, request);
	if (request->head.method == ST_METHOD_GET || request->head.method == ST_METHOD_HEAD)
		return true;
	st_request_field(request, "Allow", "GET, HEAD");
	st_web_refuse(request, 405, "invalid", "Use GET.");
	return false;
}

void st_web_handle(struct st_web *web, struct st_request *request) {
	const char *section = section_of(request);
	snprintf(request->call, sizeof request->call, "page/%.32s", section);
	if (*section == '\0')
		answer_about(web, request);
	else if (strcmp(section, "stream") == 0 && request->head.method == ST_METHOD_GET)
		begin_stream(web, request);
	else if (is_undo(request))
		st_web_undo(web->pool, web->host, request);
	else
		handle_section(web, request, section);
}

/* ---- setup ---- */

int st_web_new(struct st_loop *loop, struct st_pool *pool, struct stet_host *host, bool allow_undo,
               struct st_web **out, struct stet_error *err) {
	struct st_web *web = calloc(1, sizeof *web);
	if (!web)
		return st_fail_nomem(err);
	*web = (struct st_web){.pool = pool, .host = host, .allow_undo = allow_undo, .poll.web = web};
	web->ticker = event_new(st_loop_base(loop), -1, EV_PERSIST, tick, web);
	if (!web->ticker) {
		free(web);
		return st_fail_nomem(err);
	}
	*out = web;
	return 0;
}

void st_web_revoke(struct st_web *web, const struct st_gate *gate) {
	for (struct stream *stream = web->streams, *next; stream; stream = next) {
		next = stream->next;
		if (!st_gate_accepts(gate, stream->request->caller.token))
			end_stream(stream);
	}
}

void st_web_close(struct st_web *web) {
	web->closed = true;
	while (web->streams)
		end_stream(web->streams);
}

void st_web_free(struct st_web *web) {
	if (!web)
		return;
	event_free(web->ticker);
	while (web->streams) {
		struct stream *stream = web->streams;
		web->streams = stream->next;
		free(stream);
	}
	free(web);
}
