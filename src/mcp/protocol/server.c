/* Servers: a service and its peers, and notifications to all of them. */
#include <sys/random.h>

#include "mcp/protocol/protocol_state.h"

int st_mcp_server_new(struct st_mcp_service *service, struct st_mcp_executor *executor,
                      struct st_mcp_server **out, struct stet_error *err) {
	struct st_mcp_server *server = calloc(1, sizeof *server);
	if (!server)
		return st_fail_nomem(err);
	if (getrandom(server->key, sizeof server->key, 0) != sizeof server->key) {
		int saved = errno;
		free(server);
		return st_fail_errno(err, saved, "Cannot get random bytes for a key");
	}
	server->service = service;
	server->executor = executor;
	pthread_mutex_init(&server->lock, NULL);
	*out = server;
	return 0;
}

void st_mcp_server_free(struct st_mcp_server *server) {
	if (!server)
		return;
	pthread_mutex_destroy(&server->lock);
	free(server);
}

static void send_notification(struct st_mcp_sink *sink, const char *method, struct st_str params) {
	st_auto(st_buf) message = ST_BUF_INIT;
	st_mcp_wire_notification(&message, method, params);
	if (sink && !message.failed)
		sink->event(sink, &message);
}

/* Append params: with a URI unless it is empty, with the id of a subscription unless it is NULL. */
static void add_params(struct st_buf *out, struct st_str uri,
                       const struct st_mcp_pending *pending) {
	st_buf_addc(out, '{');
	if (pending)
		st_buf_addf(out, "\"_meta\":{\"" ST_MCP_META_SUBSCRIPTION "\":%s}",
		            st_buf_cstr(&pending->message->id));
	if (uri.len > 0) {
		st_buf_adds(out, pending ? ",\"uri\":" : "\"uri\":");
		st_json_quote(out, uri);
	}
	st_buf_addc(out, '}');
}

static void notify_subscriber(struct st_mcp_sink *sink, const struct st_mcp_pending *pending,
                              const char *method, struct st_str uri) {
	st_auto(st_buf) params = ST_BUF_INIT;
	add_params(&params, uri, pending);
	if (!params.failed)
		send_notification(sink, method, st_buf_str(&params));
}

static void notify_updated(struct st_mcp_peer *peer, struct st_str uri) {
	static const char method[] = "notifications/resources/updated";
	if (st_mcp_uris_has(&peer->subscriptions, uri))
		notify_subscriber(peer->sink, NULL, method, uri);
	for (struct st_mcp_pending *pending = peer->pendings; pending; pending = pending->next) {
		if (pending->listening && st_mcp_uris_has(&pending->uris, uri))
			notify_subscriber(pending->sink, pending, method, uri);
	}
}

void st_mcp_server_updated(struct st_mcp_server *server, struct st_str uri) {
	pthread_mutex_lock(&server->lock);
	for (struct st_mcp_peer *peer = server->peers; peer; peer = peer->next) {
		pthread_mutex_lock(&peer->lock);
		notify_updated(peer, uri);
		pthread_mutex_unlock(&peer->lock);
	}
	pthread_mutex_unlock(&server->lock);
}

static void notify_changed(struct st_mcp_peer *peer, unsigned list, const char *method) {
	if (peer->version != ST_MCP_NONE)
		send_notification(peer->sink, method, ST_STR(""));
	for (struct st_mcp_pending *pending = peer->pendings; pending; pending = pending->next) {
		if (pending->listening && (pending->lists & list))
			notify_subscriber(pending->sink, pending, method, ST_STR(""));
	}
}

void st_mcp_server_lists_changed(struct st_mcp_server *server, unsigned lists) {
	static const struct {
		unsigned list;
		const char *method;
	} all[] = {
		{ST_MCP_TOOLS_CHANGE, "notifications/tools/list_changed"},
		{ST_MCP_PROMPTS_CHANGE, "notifications/prompts/list_changed"},
		{ST_MCP_RESOURCES_CHANGE, "notifications/resources/list_changed"},
	};
	pthread_mutex_lock(&server->lock);
	for (struct st_mcp_peer *peer = server->peers; peer; peer = peer->next) {
		pthread_mutex_lock(&peer->lock);
		for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
			if (lists & all[i].list)
				notify_changed(peer, all[i].list, all[i].method);
		}
		pthread_mutex_unlock(&peer->lock);
	}
	pthread_mutex_unlock(&server->lock);
}
