/* What a handler can do with its request: fail, notify, log, ask the client. */
#include <stdarg.h>
#include <stdio.h>

#include "mcp/protocol/hmac.h"
#include "mcp/protocol/protocol_state.h"
#include "mcp/protocol/wire.h"

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

bool st_mcp_wants_progress(struct st_mcp_request *request) {
	return progress_token(request) != NULL;
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
