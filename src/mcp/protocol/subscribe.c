/* Subscriptions: the legacy resources/subscribe, the modern subscriptions/listen. */
#include "base/array.h"
#include "mcp/protocol/protocol_state.h"

static size_t find_uri(const struct st_mcp_uris *uris, struct st_str uri) {
	size_t i = 0;
	while (i < uris->count && !st_str_eq(st_str(uris->list[i]), uri))
		i++;
	return i;
}

bool st_mcp_uris_has(const struct st_mcp_uris *uris, struct st_str uri) {
	return find_uri(uris, uri) < uris->count;
}

bool st_mcp_uris_add(struct st_mcp_uris *uris, struct st_str uri) {
	if (!st_array_room(&uris->list, uris->count, sizeof *uris->list))
		return false;
	uris->list[uris->count] = strndup(uri.ptr, uri.len);
	return uris->list[uris->count] && ++uris->count;
}

static bool uris_remove(struct st_mcp_uris *uris, struct st_str uri) {
	size_t i = find_uri(uris, uri);
	if (i == uris->count)
		return false;
	free(uris->list[i]);
	uris->list[i] = uris->list[--uris->count];
	return true;
}

void st_mcp_uris_release(struct st_mcp_uris *uris) {
	for (size_t i = 0; i < uris->count; i++)
		free(uris->list[i]);
	free(uris->list);
	*uris = (struct st_mcp_uris){0};
}

void st_mcp_unwatch_all(struct st_mcp_service *service, struct st_mcp_uris *uris) {
	for (size_t i = 0; i < uris->count; i++)
		service->unwatch(service, st_str(uris->list[i]));
	st_mcp_uris_release(uris);
}

/* ---- legacy ---- */

static int check_uri(struct st_mcp_request *request, yyjson_val *uri) {
	if (yyjson_is_str(uri) && !memchr(yyjson_get_str(uri), '\0', yyjson_get_len(uri)))
		return 0;
	return st_mcp_fail(request, ST_MCP_INVALID_PARAMS, "\"uri\" must be the URI of a resource.");
}

/* Add to the subscriptions of a peer. Returns 1, 0 if it was subscribed already, or a failure. */
static int add_subscription(struct st_mcp_request *request, struct st_mcp_peer *peer,
                            struct st_str uri) {
	int code = 1;
	pthread_mutex_lock(&peer->lock);
	if (st_mcp_uris_has(&peer->subscriptions, uri))
		code = 0;
	else if (peer->subscriptions.count >= ST_MCP_SUBSCRIPTIONS_MAX)
		code = st_mcp_fail(request, ST_MCP_INVALID_PARAMS,
		                   "A client may subscribe to %d resources. Unsubscribe from some first.",
		                   ST_MCP_SUBSCRIPTIONS_MAX);
	else if (!st_mcp_uris_add(&peer->subscriptions, uri))
		code = st_mcp_fail(request, ST_MCP_INTERNAL_ERROR, "Out of memory.");
	pthread_mutex_unlock(&peer->lock);
	return code;
}

int st_mcp_subscribe(struct st_mcp_request *request) {
	struct st_mcp_service *service = request->service;
	struct st_mcp_peer *peer = st_mcp_pending_of(request)->peer;
	struct stet_error why = {0};
	int code = check_uri(request, yyjson_obj_get(request->params, "uri"));
	if (code < 0)
		return code;
	struct st_str uri = request->name;
	code = service->watch(service, st_mcp_open_peer(request), uri, &why);
	if (code == STET_E_NOT_FOUND)
		return st_mcp_fail_no_resource(request, uri);
	if (code < 0)
		return st_mcp_fail(request, ST_MCP_INVALID_PARAMS, "%s", why.message);
	code = add_subscription(request, peer, uri);
	if (code <= 0)
		service->unwatch(service, uri);
	st_buf_adds(request->result, "{}");
	return code < 0 ? code : 0;
}

int st_mcp_unsubscribe(struct st_mcp_request *request) {
	struct st_mcp_peer *peer = st_mcp_pending_of(request)->peer;
	int code = check_uri(request, yyjson_obj_get(request->params, "uri"));
	if (code < 0)
		return code;
	pthread_mutex_lock(&peer->lock);
	bool was = uris_remove(&peer->subscriptions, request->name);
	pthread_mutex_unlock(&peer->lock);
	if (was)
		request->service->unwatch(request->service, request->name);
	st_buf_adds(request->result, "{}");
	return 0;
}

/* ---- modern ---- */

static const struct {
	const char *name;
	unsigned list;
} lists[] = {
	{"toolsListChanged", ST_MCP_TOOLS_CHANGE},
	{"promptsListChanged", ST_MCP_PROMPTS_CHANGE},
	{"resourcesListChanged", ST_MCP_RESOURCES_CHANGE},
};

/* Select the requested lists, of those that can change. */
static int select_lists(struct st_mcp_pending *pending, yyjson_val *wanted) {
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
		yyjson_val *flag = yyjson_obj_get(wanted, lists[i].name);
		if (flag && !yyjson_is_bool(flag))
			return st_mcp_fail(&pending->request, ST_MCP_INVALID_PARAMS,
			                   "\"%s\" must be true or false.", lists[i].name);
		if (yyjson_is_true(flag))
			pending->lists |= lists[i].list & pending->request.service->announces;
	}
	return 0;
}

/* Watch a resource. If that fails, the acknowledgement does not list it. */
static int watch_uri(struct st_mcp_pending *pending, yyjson_val *uri) {
	struct st_mcp_service *service = pending->request.service;
	int code = check_uri(&pending->request, uri);
	if (code < 0)
		return code;
	if (!service->watch || pending->uris.count >= ST_MCP_SUBSCRIPTIONS_MAX ||
	    st_mcp_uris_has(&pending->uris, st_json_str(uri)) ||
	    service->watch(service, st_mcp_open_peer(&pending->request), st_json_str(uri), NULL) < 0)
		return 0;
	if (st_mcp_uris_add(&pending->uris, st_json_str(uri)))
		return 0;
	service->unwatch(service, st_json_str(uri));
	return st_mcp_fail(&pending->request, ST_MCP_INTERNAL_ERROR, "Out of memory.");
}

static int watch_uris(struct st_mcp_pending *pending, yyjson_val *wanted) {
	yyjson_val *uris = yyjson_obj_get(wanted, "resourceSubscriptions");
	if (uris && !yyjson_is_arr(uris))
		return st_mcp_fail(&pending->request, ST_MCP_INVALID_PARAMS,
		                   "\"resourceSubscriptions\" must be an array of URIs.");
	yyjson_arr_iter all = yyjson_arr_iter_with(uris);
	for (yyjson_val *uri; (uri = yyjson_arr_iter_next(&all));) {
		int code = watch_uri(pending, uri);
		if (code < 0)
			return code;
	}
	return 0;
}

static void write_accepted(struct st_mcp_pending *pending, struct st_buf *out) {
	const char *comma = "";
	st_buf_addf(out, "{\"_meta\":{\"" ST_MCP_META_SUBSCRIPTION "\":%s},\"notifications\":{",
	            st_buf_cstr(&pending->message->id));
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
		if (!(pending->lists & lists[i].list))
			continue;
		st_buf_addf(out, "%s\"%s\":true", comma, lists[i].name);
		comma = ",";
	}
	for (size_t i = 0; i < pending->uris.count; i++) {
		if (i == 0)
			st_buf_addf(out, "%s\"resourceSubscriptions\":[", comma);
		else
			st_buf_addc(out, ',');
		st_json_quote(out, st_str(pending->uris.list[i]));
	}
	st_buf_adds(out, pending->uris.count > 0 ? "]}}" : "}}");
}

int st_mcp_listen(struct st_mcp_request *request) {
	struct st_mcp_pending *pending = st_mcp_pending_of(request);
	struct st_mcp_peer *peer = pending->peer;
	yyjson_val *wanted = yyjson_obj_get(request->params, "notifications");
	if (!yyjson_is_obj(wanted))
		return st_mcp_fail(request, ST_MCP_INVALID_PARAMS,
		                   "\"notifications\" must be an object that names what to listen to.");
	int code = select_lists(pending, wanted);
	if (code == 0)
		code = watch_uris(pending, wanted);
	if (code < 0)
		return code;
	st_auto(st_buf) params = ST_BUF_INIT;
	st_auto(st_buf) message = ST_BUF_INIT;
	write_accepted(pending, &params);
	st_mcp_wire_notification(&message, "notifications/subscriptions/acknowledged",
	                         st_buf_str(&params));
	if (params.failed || message.failed)
		return st_mcp_fail(request, ST_MCP_INTERNAL_ERROR, "Out of memory.");
	/* The answer, for the end of the subscription. */
	st_buf_adds(request->result, "{}");
	pthread_mutex_lock(&peer->lock);
	bool stays = !pending->cancelled;
	if (stays) {
		pending->sink->event(pending->sink, &message);
		pending->listening = true;
	}
	pthread_mutex_unlock(&peer->lock);
	return stays ? ST_MCP_STAYS : 0;
}
