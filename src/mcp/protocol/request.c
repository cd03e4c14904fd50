/* Requests: checking, running and answering them, and what a handler can do with one: fail, notify, log. */
#include <stdarg.h>
#include <stdio.h>

#include "base/cancel.h"
#include "base/utf8.h"
#include "mcp/protocol/protocol_state.h"

int st_mcp_fail_data(struct st_mcp_request *request, int code, const char *message,
                     struct st_str data) {
	struct st_mcp_pending *pending = st_mcp_pending_of(request);
	pending->code = code;
	st_buf_clear(&pending->problem);
	st_buf_adds(&pending->problem, message);
	st_buf_clear(&pending->data);
	st_buf_add(&pending->data, data);
	return -1;
}

int st_mcp_fail(struct st_mcp_request *request, int code, const char *format, ...) {
	struct stet_error why;
	va_list args;
	va_start(args, format);
	vsnprintf(why.message, sizeof why.message, format, args);
	va_end(args);
	return st_mcp_fail_data(request, code, why.message, ST_STR(""));
}

int st_mcp_fail_no_resource(struct st_mcp_request *request, struct st_str uri) {
	st_auto(st_buf) data = ST_BUF_INIT;
	st_buf_adds(&data, "{\"uri\":");
	st_json_quote(&data, uri);
	st_buf_addc(&data, '}');
	bool modern = st_mcp_is_modern(request->version);
	return st_mcp_fail_data(request, modern ? ST_MCP_INVALID_PARAMS : ST_MCP_RESOURCE_NOT_FOUND,
	                        "Resource not found.", st_buf_str(&data));
}

void st_mcp_copy_client(char name[ST_MCP_CLIENT_MAX], yyjson_val *info) {
	struct st_str stated = st_json_str(yyjson_obj_get(info, "name"));
	size_t len = 0;
	for (size_t i = 0; i < stated.len && len < ST_MCP_CLIENT_MAX - 1; i++) {
		unsigned char c = (unsigned char)stated.ptr[i];
		/* People and models read the name: ASCII is safe to show and enough. */
		if (c > ' ' && c < 0x7f && c != '"' && c != '\\')
			name[len++] = (char)c;
		else if (len > 0 && name[len - 1] != ' ')
			name[len++] = ' ';
	}
	name[len > 0 && name[len - 1] == ' ' ? len - 1 : len] = '\0';
}

void st_mcp_client_name(struct st_mcp_request *request, char name[ST_MCP_CLIENT_MAX]) {
	struct st_mcp_pending *pending = st_mcp_pending_of(request);
	st_mcp_copy_client(name, yyjson_obj_get(pending->message->meta, ST_MCP_META_CLIENT));
	if (*name)
		return;
	pthread_mutex_lock(&pending->peer->lock);
	memcpy(name, pending->peer->client_name, ST_MCP_CLIENT_MAX);
	pthread_mutex_unlock(&pending->peer->lock);
}

bool st_mcp_cancelled(struct st_mcp_request *request) {
	struct st_mcp_executor *executor = st_mcp_pending_of(request)->peer->server->executor;
	if (executor && executor->poll)
		executor->poll(executor);
	return st_mcp_pending_of(request)->cancelled;
}

/* Send a notification that belongs to a request; params is a JSON object. */
static void send_notification(struct st_mcp_request *request, const char *method,
                              struct st_buf *params) {
	struct st_mcp_pending *pending = st_mcp_pending_of(request);
	st_auto(st_buf) message = ST_BUF_INIT;
	st_mcp_wire_notification(&message, method, st_buf_str(params));
	if (params->failed || message.failed)
		return;
	pthread_mutex_lock(&pending->peer->lock);
	if (!pending->cancelled)
		pending->sink->event(pending->sink, &message);
	pthread_mutex_unlock(&pending->peer->lock);
}

static yyjson_val *progress_token(struct st_mcp_request *request) {
	yyjson_val *token = yyjson_obj_get(st_mcp_pending_of(request)->message->meta, "progressToken");
	return yyjson_is_str(token) || yyjson_is_int(token) ? token : NULL;
}

void st_mcp_progress(struct st_mcp_request *request, double progress, double total,
                     const char *message) {
	yyjson_val *token = progress_token(request);
	if (!token)
		return;
	st_auto(st_buf) params = ST_BUF_INIT;
	st_buf_adds(&params, "{\"progressToken\":");
	st_mcp_wire_value(&params, token);
	st_buf_addf(&params, ",\"progress\":%.15g", progress);
	if (total > 0)
		st_buf_addf(&params, ",\"total\":%.15g", total);
	if (message && request->version >= ST_MCP_2025_03_26) {
		st_buf_adds(&params, ",\"message\":");
		st_json_quote(&params, st_str(message));
	}
	st_buf_addc(&params, '}');
	send_notification(request, "notifications/progress", &params);
}

/* ---- log messages ---- */

static const char *const levels[] = {
	"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency",
};

int st_mcp_level_find(struct st_str name) {
	for (int i = 0; i < ST_MCP_SILENT; i++) {
		if (st_str_eq(st_str(levels[i]), name))
			return i;
	}
	return -1;
}

void st_mcp_log(struct st_mcp_request *request, enum st_mcp_level level, const char *logger,
                struct st_str text) {
	st_auto(st_buf) params = ST_BUF_INIT;
	if (level < st_mcp_pending_of(request)->level)
		return;
	st_buf_addf(&params, "{\"level\":\"%s\",\"logger\":\"%s\",\"data\":", levels[level], logger);
	st_json_quote(&params, text);
	st_buf_addc(&params, '}');
	send_notification(request, "notifications/message", &params);
}

/* ---- the table of methods ---- */

#define BOTH (ST_MCP_LEGACY | ST_MCP_MODERN)
#define SERVED(member) offsetof(struct st_mcp_service, member), NULL

static const struct st_mcp_method methods[] = {
	{"tools/call", BOTH | ST_MCP_SERVED | ST_MCP_ROOTED, SERVED(tools_call)},
	{"tools/list", BOTH | ST_MCP_SERVED | ST_MCP_CACHED | ST_MCP_STABLE, SERVED(tools_list)},
	{"resources/read", BOTH | ST_MCP_SERVED | ST_MCP_CACHED | ST_MCP_ROOTED,
     SERVED(resources_read)},
	{"resources/list", BOTH | ST_MCP_SERVED | ST_MCP_CACHED, SERVED(resources_list)},
	{"resources/templates/list", BOTH | ST_MCP_SERVED | ST_MCP_CACHED | ST_MCP_STABLE,
     SERVED(resources_templates)},
	{"prompts/get", BOTH | ST_MCP_SERVED | ST_MCP_ROOTED, SERVED(prompts_get)},
	{"prompts/list", BOTH | ST_MCP_SERVED | ST_MCP_CACHED | ST_MCP_STABLE, SERVED(prompts_list)},
	{"completion/complete", BOTH | ST_MCP_SERVED | ST_MCP_ROOTED, SERVED(complete)},
	{"initialize", ST_MCP_LEGACY, 0, st_mcp_initialize},
	{"ping", ST_MCP_LEGACY, 0, st_mcp_ping},
	{"logging/setLevel", ST_MCP_LEGACY, 0, st_mcp_set_level},
	{"resources/subscribe", ST_MCP_LEGACY | ST_MCP_ROOTED, offsetof(struct st_mcp_service, watch),
     st_mcp_subscribe},
	{"resources/unsubscribe", ST_MCP_LEGACY, offsetof(struct st_mcp_service, watch),
     st_mcp_unsubscribe},
	{"server/discover", ST_MCP_MODERN | ST_MCP_CACHED | ST_MCP_STABLE, 0, st_mcp_discover},
	{"subscriptions/listen", ST_MCP_MODERN, 0, st_mcp_listen},
};

/* The handler of a method; NULL if the service does not offer it. */
static st_mcp_handler *method_handler(const struct st_mcp_method *method,
                                      const struct st_mcp_service *service) {
	st_mcp_handler *member = method->run;
	if (method->member)
		memcpy(&member, (const char *)service + method->member, sizeof member);
	return member && method->run ? method->run : member;
}

/* The legacy or modern method of a name; NULL if unknown, or not offered by the service. */
static const struct st_mcp_method *method_find(const struct st_mcp_service *service,
                                               struct st_str name, bool modern) {
	for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
		const struct st_mcp_method *method = &methods[i];
		if (!(method->traits & (modern ? ST_MCP_MODERN : ST_MCP_LEGACY)) ||
		    !st_str_eq(st_str(method->name), name))
			continue;
		return method_handler(method, service) ? method : NULL;
	}
	return NULL;
}

/* ---- from the arrival to the answer ---- */

/* Room for the error "Out of memory." without the id. */
enum { SHORT_ERROR = 200 };

static void link_pending(struct st_mcp_pending *pending) {
	struct st_mcp_peer *peer = pending->peer;
	pthread_mutex_lock(&peer->lock);
	peer->references++;
	/* A peer that was closed meanwhile gets no answer. */
	pending->cancelled = peer->closed;
	pending->needs_roots = peer->roots.state != ST_MCP_ROOTS_KNOWN;
	pending->next = peer->pendings;
	if (pending->next)
		pending->next->previous = pending;
	peer->pendings = pending;
	pthread_mutex_unlock(&peer->lock);
}

/* With the lock held. */
static void unlink_pending(struct st_mcp_pending *pending) {
	if (pending->next)
		pending->next->previous = pending->previous;
	if (pending->previous)
		pending->previous->next = pending->next;
	else
		pending->peer->pendings = pending->next;
}

static void free_pending(struct st_mcp_pending *pending) {
	if (pending->uris.count > 0)
		st_mcp_unwatch_all(pending->request.service, &pending->uris);
	st_mcp_message_free(pending->message);
	st_buf_release(&pending->answer);
	st_buf_release(&pending->problem);
	st_buf_release(&pending->data);
	free(pending);
}

/* Append the members that every modern result has. */
static void add_modern(struct st_buf *out, const struct st_mcp_pending *pending) {
	const struct st_mcp_service *service = pending->request.service;
	st_buf_addf(out, "\"resultType\":\"%s\"",
	            pending->input_required ? "input_required" : "complete");
	if (pending->method->traits & ST_MCP_CACHED)
		st_buf_addf(out, ",\"ttlMs\":%d,\"cacheScope\":\"private\"",
		            pending->method->traits & ST_MCP_STABLE ? 60000 : 0);
	st_buf_adds(out, ",\"_meta\":{");
	/* The result ends a subscription. */
	if (pending->method->run == st_mcp_listen)
		st_buf_addf(out, "\"" ST_MCP_META_SUBSCRIPTION "\":%s,",
		            st_buf_cstr(&pending->message->id));
	st_buf_addf(out, "\"" ST_MCP_META_SERVER "\":{\"name\":\"%s\",\"version\":\"%s\"}}",
	            service->name, service->version);
}

/* The HTTP status. An error of a handler, such as wrong arguments, is a normal answer: 200. */
static int status_of(const struct st_mcp_pending *pending) {
	if (pending->code == 0)
		return 200;
	if (!st_mcp_is_modern(pending->request.version))
		return pending->malformed ? 400 : 200;
	switch (pending->code) {
	case ST_MCP_METHOD_NOT_FOUND:
		return 404;
	case ST_MCP_INTERNAL_ERROR:
		return 500;
	case ST_MCP_HEADER_MISMATCH:
	case ST_MCP_MISSING_CAPABILITY:
	case ST_MCP_UNSUPPORTED_VERSION:
		return 400;
	default:
		return pending->malformed ? 400 : 200;
	}
}

static void write_error(struct st_mcp_pending *pending, struct st_str problem, struct st_str data) {
	st_buf_clear(&pending->answer);
	st_mcp_wire_error(&pending->answer, st_buf_str(&pending->message->id), pending->code, problem,
	                  data);
}

static void complete_answer(struct st_mcp_pending *pending) {
	if (pending->code != 0) {
		write_error(pending, st_buf_str(&pending->problem), st_buf_str(&pending->data));
		pending->answer.failed |= pending->problem.failed || pending->data.failed;
		return;
	}
	st_auto(st_buf) more = ST_BUF_INIT;
	if (st_mcp_is_modern(pending->request.version))
		add_modern(&more, pending);
	st_mcp_wire_end(&pending->answer, pending->result_start, st_buf_str(&more));
	pending->answer.failed |= more.failed;
}

/* If memory runs out, write a short error instead: st_mcp_pending_begin() reserved room for it. */
static void write_answer_or_error(struct st_mcp_pending *pending) {
	complete_answer(pending);
	if (!pending->answer.failed)
		return;
	pending->code = ST_MCP_INTERNAL_ERROR;
	write_error(pending, ST_STR("Out of memory."), ST_STR(""));
}

void st_mcp_pending_end(struct st_mcp_pending *pending) {
	struct st_mcp_peer *peer = pending->peer;
	if (!pending->cancelled)
		write_answer_or_error(pending);
	pthread_mutex_lock(&peer->lock);
	unlink_pending(pending);
	if (!pending->cancelled && !pending->answer.failed)
		pending->sink->answer(pending->sink, &pending->answer, status_of(pending));
	pending->sink->done(pending->sink);
	pthread_mutex_unlock(&peer->lock);
	free_pending(pending);
	st_mcp_peer_unref(peer);
}

void st_mcp_pending_cancel(struct st_mcp_pending *pending) {
	pending->cancelled = true;
	pthread_cond_broadcast(&pending->peer->changed);
}

/* Connects base/cancel, which lower layers use, with a request. */
struct request_cancel {
	struct st_cancel cancel;
	struct st_mcp_request *request;
};

static bool is_request_cancelled(struct st_cancel *cancel) {
	return st_mcp_cancelled(((struct request_cancel *)cancel)->request);
}

static int call_handler(struct st_mcp_pending *pending, st_mcp_handler *handler) {
	struct request_cancel current = {.cancel.cancelled = is_request_cancelled,
	                                 .request = &pending->request};
	struct st_cancel *before = st_cancel_set(&current.cancel);
	int code = handler(&pending->request);
	st_cancel_set(before);
	return code;
}

static void run_request(struct st_mcp_task *task) {
	struct st_mcp_pending *pending = (struct st_mcp_pending *)task;
	st_mcp_handler *handler = method_handler(pending->method, pending->request.service);
	st_mcp_wire_begin(&pending->answer, st_buf_str(&pending->message->id));
	pending->result_start = pending->answer.len;
	int code = 0;
	if (!pending->cancelled && !(pending->needs_roots && st_mcp_roots_need(pending)))
		code = call_handler(pending, handler);
	/* The request listens now, and another thread may already have freed it. */
	if (code == ST_MCP_STAYS)
		return;
	if (code < 0 && pending->code == 0)
		st_mcp_fail(&pending->request, ST_MCP_INTERNAL_ERROR, "Out of memory.");
	st_mcp_pending_end(pending);
}

/* Set request.user; the first call for a peer opens it. */
static void open_peer(struct st_mcp_pending *pending, struct stet_error *why) {
	struct st_mcp_peer *peer = pending->peer;
	struct st_mcp_service *service = pending->request.service;
	pthread_mutex_lock(&peer->lock);
	if (!peer->opened && service->open_peer) {
		peer->user = service->open_peer(service, peer->kind, peer->owner, why);
		peer->opened = peer->user != NULL;
	}
	pending->request.user = peer->user;
	pthread_mutex_unlock(&peer->lock);
}

void *st_mcp_open_peer(struct st_mcp_request *request) {
	struct stet_error why = {0};
	open_peer(st_mcp_pending_of(request), &why);
	return request->user;
}

static int open_peer_or_fail(struct st_mcp_pending *pending) {
	struct stet_error why = {0};
	open_peer(pending, &why);
	return why.code < 0 ? st_mcp_fail(&pending->request, ST_MCP_INTERNAL_ERROR, "%s", why.message)
	                    : 0;
}

static bool submit_request(struct st_mcp_pending *pending) {
	struct st_mcp_service *service = pending->request.service;
	struct st_mcp_executor *executor = pending->peer->server->executor;
	if (!executor || !executor->submit) {
		run_request(&pending->task);
		return true;
	}
	if (service->keys)
		service->keys(&pending->request, pending->task.keys);
	return executor->submit(executor, &pending->task);
}

void st_mcp_pending_start(struct st_mcp_pending *pending) {
	if (!(pending->method->traits & ST_MCP_SERVED)) {
		run_request(&pending->task);
	} else if (open_peer_or_fail(pending) < 0) {
		st_mcp_pending_end(pending);
	} else if (!submit_request(pending)) {
		st_mcp_fail(&pending->request, ST_MCP_INTERNAL_ERROR, "The server is too busy. Try again.");
		st_mcp_pending_end(pending);
	}
}

static int fail_version(struct st_mcp_pending *pending) {
	st_auto(st_buf) data = ST_BUF_INIT;
	st_buf_addf(&data,
	            "{\"supported\":[\"%s\"],\"requested\":", st_mcp_version_name(ST_MCP_2026_07_28));
	st_json_quote(&data, pending->message->claimed);
	st_buf_addc(&data, '}');
	return st_mcp_fail_data(
		&pending->request, ST_MCP_UNSUPPORTED_VERSION,
		"This protocol version is not supported for requests without \"initialize\".",
		st_buf_str(&data));
}

static int fail_claim(struct st_mcp_pending *pending) {
	return st_mcp_fail(&pending->request, ST_MCP_INVALID_PARAMS,
	                   "params._meta needs \"" ST_MCP_META_VERSION
	                   "\" (a string) and \"" ST_MCP_META_CAPABILITIES "\" (an object).");
}

/* Choose the version of a request: the one in its _meta, or the negotiated one. */
static int check_version(struct st_mcp_pending *pending) {
	const struct st_mcp_message *message = pending->message;
	enum st_mcp_version agreed = st_mcp_peer_version(pending->peer);
	pending->request.version = ST_MCP_2026_07_28;
	if (message->claim == ST_MCP_CLAIM_MALFORMED)
		return fail_claim(pending);
	if (message->claim == ST_MCP_CLAIM_WHOLE)
		return st_mcp_is_modern(message->version) ? 0 : fail_version(pending);
	bool discovers = st_str_eq(message->method, ST_STR("server/discover"));
	if (pending->peer->kind == ST_MCP_STATELESS || (discovers && agreed == ST_MCP_NONE))
		return fail_claim(pending);
	pending->request.version = agreed != ST_MCP_NONE ? agreed : ST_MCP_LEGACY_LATEST;
	if (agreed == ST_MCP_NONE && !st_str_eq(message->method, ST_STR("initialize")) &&
	    !st_str_eq(message->method, ST_STR("ping")))
		return st_mcp_fail(
			&pending->request, ST_MCP_INVALID_REQUEST,
			"Send \"initialize\" first, or name the protocol version in params._meta.");
	return 0;
}

static int check_level(struct st_mcp_pending *pending) {
	yyjson_val *level = yyjson_obj_get(pending->message->meta, ST_MCP_META_LOG_LEVEL);
	if (!st_mcp_is_modern(pending->request.version)) {
		pthread_mutex_lock(&pending->peer->lock);
		pending->level = pending->peer->level;
		pthread_mutex_unlock(&pending->peer->lock);
		return 0;
	}
	pending->level = ST_MCP_SILENT;
	if (!level)
		return 0;
	int found = st_mcp_level_find(st_json_str(level));
	if (found < 0)
		return st_mcp_fail(&pending->request, ST_MCP_INVALID_PARAMS,
		                   "\"" ST_MCP_META_LOG_LEVEL "\" must be one of " ST_MCP_LEVELS ".");
	pending->level = (enum st_mcp_level)found;
	return 0;
}

static int check_method(struct st_mcp_pending *pending) {
	struct st_mcp_request *request = &pending->request;
	pending->method =
		method_find(request->service, request->method, st_mcp_is_modern(request->version));
	if (pending->method)
		return 0;
	return st_mcp_fail(request, ST_MCP_METHOD_NOT_FOUND,
	                   "Method \"%.*s\" not found in protocol version %s.",
	                   (int)st_utf8_cut(request->method, 100), request->method.ptr,
	                   st_mcp_version_name(request->version));
}

/* A repaired message is refused. For a tool call, the tool's answer says so, since models read that. */
static int check_text(struct st_mcp_pending *pending) {
	if (!pending->message->repaired || st_str_eq(pending->message->method, ST_STR("tools/call")))
		return 0;
	return st_mcp_fail(&pending->request, ST_MCP_INVALID_PARAMS, "%s", ST_MCP_HALF_A_PAIR);
}

static bool check_request(struct st_mcp_pending *pending) {
	pending->malformed = check_version(pending) < 0 || check_method(pending) < 0 ||
	                     check_level(pending) < 0 || check_text(pending) < 0;
	return !pending->malformed;
}

void st_mcp_pending_begin(struct st_mcp_peer *peer, struct st_mcp_message *message,
                          struct st_mcp_sink *sink, struct st_mcp_sink *outer) {
	struct st_mcp_pending *pending = calloc(1, sizeof *pending);
	if (!pending) {
		st_mcp_fail_message(peer, sink, st_buf_str(&message->id), ST_MCP_INTERNAL_ERROR,
		                    ST_STR("Out of memory."));
		st_mcp_message_free(message);
		return;
	}
	pending->task.run = run_request;
	pending->peer = peer;
	pending->message = message;
	pending->sink = sink;
	pending->outer = outer;
	pending->request = (struct st_mcp_request){
		.service = peer->server->service,
		.peer_kind = peer->kind,
		.method = message->method,
		.name = message->name,
		.params = message->params,
		.result = &pending->answer,
	};
	st_buf_reserve(&pending->answer, message->id.len + SHORT_ERROR);
	link_pending(pending);
	if (!check_request(pending))
		st_mcp_pending_end(pending);
	else if (!pending->needs_roots || !st_mcp_roots_hold(pending))
		st_mcp_pending_start(pending);
}
