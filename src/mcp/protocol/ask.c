/* Asking the client: what it can do, requests to it, and questions in answers. */
#include "mcp/protocol/hmac.h"
#include "mcp/protocol/protocol_state.h"

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
