/* Requests: checking, running and answering them, and what a handler can do with one: fail, notify, ask the client. */
#include <stdarg.h>
#include <stdio.h>

#include "base/cancel.h"
#include "base/utf8.h"
#include "mcp/protocol/hmac.h"
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

void st_mcp_notify(struct st_mcp_request *request, const char *method, struct st_buf *params) {
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
	st_mcp_notify(request, "notifications/progress", &params);
}

bool st_mcp_client_can(struct st_mcp_request *request, const char *capability) {
	struct st_mcp_pending *pending = st_mcp_pending_of(request);
	if (st_mcp_is_modern(request->version)) {
		yyjson_val *all = yyjson_obj_get(pending->message->meta, ST_MCP_META_CAPABILITIES);
		return yyjson_is_obj(yyjson_obj_get(all, capability));
	}
	pthread_mutex_lock(&pending->peer->lock);
	yyjson_val *all = yyjson_doc_get_root(pending->peer->client);
	bool can = yyjson_is_obj(yyjson_obj_get(all, capability));
	pthread_mutex_unlock(&pending->peer->lock);
	return can;
}

int st_mcp_fail_missing(struct st_mcp_request *request, const char *capability) {
	if (!st_mcp_is_modern(request->version))
		return st_mcp_fail(request, ST_MCP_INVALID_REQUEST, "The client has no capability \"%s\".",
		                   capability);
	st_auto(st_buf) data = ST_BUF_INIT;
	st_buf_addf(&data, "{\"requiredCapabilities\":{\"%s\":{}}}", capability);
	return st_mcp_fail_data(request, ST_MCP_MISSING_CAPABILITY,
	                        "The client did not declare a capability that this request needs.",
	                        st_buf_str(&data));
}

/* ---- asking a legacy client ---- */

static void add_question(struct st_mcp_peer *peer, struct st_mcp_question *question) {
	question->id = ++peer->last_question;
	question->next = peer->questions;
	peer->questions = question;
}

static void remove_question(struct st_mcp_peer *peer, struct st_mcp_question *question) {
	struct st_mcp_question **link = &peer->questions;
	while (*link != question)
		link = &(*link)->next;
	*link = question->next;
}

/* Send a request and wait for the response. NULL if the request was cancelled. */
static struct st_mcp_message *send_and_wait(struct st_mcp_pending *pending, const char *method,
                                            struct st_str params) {
	struct st_mcp_peer *peer = pending->peer;
	struct st_mcp_question question = {0};
	st_auto(st_buf) message = ST_BUF_INIT;
	pthread_mutex_lock(&peer->lock);
	add_question(peer, &question);
	st_mcp_wire_request(&message, question.id, method, params);
	if (!message.failed && !pending->cancelled) {
		pending->sink->event(pending->sink, &message);
		while (!question.response && !pending->cancelled)
			pthread_cond_wait(&peer->changed, &peer->lock);
	}
	remove_question(peer, &question);
	pthread_mutex_unlock(&peer->lock);
	return question.response;
}

int st_mcp_ask(struct st_mcp_request *request, const char *method, struct st_str params,
               yyjson_doc **answer) {
	struct st_mcp_pending *pending = st_mcp_pending_of(request);
	*answer = NULL;
	const struct st_mcp_executor *executor = pending->peer->server->executor;
	if (st_mcp_is_modern(request->version) || !executor || !executor->submit)
		return st_mcp_fail(request, ST_MCP_INTERNAL_ERROR,
		                   "This server cannot send requests to the client.");
	struct st_mcp_message *response = send_and_wait(pending, method, params);
	if (!response)
		return st_mcp_fail(request, ST_MCP_INTERNAL_ERROR, "The client did not answer.");
	yyjson_val *result = yyjson_obj_get(response->root, "result");
	size_t len = 0;
	st_autofree char *text = result ? yyjson_val_write(result, YYJSON_WRITE_NOFLAG, &len) : NULL;
	st_mcp_message_free(response);
	if (!result)
		return st_mcp_fail(request, ST_MCP_INTERNAL_ERROR, "The client answered with an error.");
	*answer = text ? yyjson_read(text, len, 0) : NULL;
	return *answer ? 0 : st_mcp_fail(request, ST_MCP_INTERNAL_ERROR, "Out of memory.");
}

/* ---- asking a modern client ---- */

/* The capability that a client needs to answer a method; NULL for other methods. */
static const char *needed_capability(struct st_str method) {
	if (st_str_eq(method, ST_STR("elicitation/create")))
		return "elicitation";
	if (st_str_eq(method, ST_STR("sampling/createMessage")))
		return "sampling";
	return st_str_eq(method, ST_STR("roots/list")) ? "roots" : NULL;
}

static int check_requests(struct st_mcp_request *request, struct st_str requests) {
	yyjson_doc *doc = yyjson_read(requests.ptr, requests.len, 0);
	if (!doc)
		return st_mcp_fail(request, ST_MCP_INTERNAL_ERROR, "Out of memory.");
	int code = 0;
	yyjson_obj_iter all = yyjson_obj_iter_with(yyjson_doc_get_root(doc));
	for (yyjson_val *key; code == 0 && (key = yyjson_obj_iter_next(&all));) {
		yyjson_val *method = yyjson_obj_get(yyjson_obj_iter_get_val(key), "method");
		const char *capability = needed_capability(st_json_str(method));
		if (!capability || !st_mcp_client_can(request, capability))
			code = st_mcp_fail_missing(request, capability ? capability : "");
	}
	yyjson_doc_free(doc);
	return code;
}

/* Bind a state to its request, so that a client cannot use it for another one. */
static void add_purpose(struct st_buf *out, struct st_mcp_request *request) {
	st_json_quote(out, request->method);
	st_json_quote(out, request->name);
}

static struct st_str server_key(struct st_mcp_request *request) {
	struct st_mcp_server *server = st_mcp_pending_of(request)->peer->server;
	return st_strn((const char *)server->key, sizeof server->key);
}

int st_mcp_need_input(struct st_mcp_request *request, struct st_str requests, struct st_str state) {
	if (!st_mcp_is_modern(request->version))
		return st_mcp_fail(request, ST_MCP_INTERNAL_ERROR,
		                   "This protocol version has no input requests.");
	int code = check_requests(request, requests);
	if (code < 0)
		return code;
	struct st_buf *out = request->result;
	st_buf_truncate(out, st_mcp_pending_of(request)->result_start);
	st_buf_adds(out, "{\"inputRequests\":");
	st_buf_add(out, requests);
	if (state.len > 0) {
		st_auto(st_buf) purpose = ST_BUF_INIT;
		add_purpose(&purpose, request);
		st_buf_adds(out, ",\"requestState\":\"");
		if (purpose.failed ||
		    st_hmac_sign(server_key(request), st_buf_str(&purpose), state, out, NULL) < 0)
			return st_mcp_fail(request, ST_MCP_INTERNAL_ERROR, "Out of memory.");
		st_buf_addc(out, '"');
	}
	st_buf_addc(out, '}');
	st_mcp_pending_of(request)->input_required = true;
	return 0;
}

yyjson_val *st_mcp_input(struct st_mcp_request *request, const char *key) {
	return yyjson_obj_get(yyjson_obj_get(request->params, "inputResponses"), key);
}

int st_mcp_input_state(struct st_mcp_request *request, struct st_buf *state) {
	yyjson_val *signed_text = yyjson_obj_get(request->params, "requestState");
	if (!signed_text)
		return 0;
	st_auto(st_buf) purpose = ST_BUF_INIT;
	struct stet_error why = {0};
	add_purpose(&purpose, request);
	if (purpose.failed)
		return st_mcp_fail(request, ST_MCP_INTERNAL_ERROR, "Out of memory.");
	int code = st_hmac_verify(server_key(request), st_buf_str(&purpose), st_json_str(signed_text),
	                          state, &why);
	if (code < 0)
		return st_mcp_fail(request,
		                   code == STET_E_INVALID ? ST_MCP_INVALID_PARAMS : ST_MCP_INTERNAL_ERROR,
		                   "%s", why.message);
	return 1;
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
	st_mcp_handler *handler = st_mcp_method_handler(pending->method, pending->request.service);
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
	else if (!pending->needs_roots || !st_mcp_roots_hold(pending))
		st_mcp_pending_start(pending);
}
