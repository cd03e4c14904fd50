/* Requests: checking, running and answering them. */
#include "base/cancel.h"
#include "base/utf8.h"
#include "mcp/protocol/protocol_state.h"
#include "mcp/protocol/wire.h"

/* Room for the error "Out of memory." without the id. */
enum { SHORT_ERROR = 200 };

static void link_pending(struct st_mcp_pending *pending) {
	struct st_mcp_peer *peer = pending->peer;
	pthread_mutex_lock(&peer->lock);
	peer->references++;
	/* A peer that was closed meanwhile gets no answer. */
	pending->cancelled = peer->closed;
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
	st_mcp_handler *handler = st_mcp_method_handler(pending->method, pending->request.service);
	st_mcp_wire_begin(&pending->answer, st_buf_str(&pending->message->id));
	pending->result_start = pending->answer.len;
	int code = 0;
	if (!pending->cancelled && !st_mcp_roots_need(pending))
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
		st_mcp_method_find(request->service, request->method, st_mcp_is_modern(request->version));
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
	else if (!st_mcp_roots_hold(pending))
		st_mcp_pending_start(pending);
}
