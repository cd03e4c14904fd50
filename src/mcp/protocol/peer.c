/* Peers: making and closing them, and dispatching their messages. */
#include "mcp/protocol/peer.h"

#include <assert.h>

#include "mcp/protocol/protocol_state.h"

int st_mcp_peer_new(struct st_mcp_server *server, enum st_mcp_peer_kind kind, const char *owner,
                    struct st_mcp_sink *sink, struct st_mcp_peer **out, struct stet_error *err) {
	struct st_mcp_peer *peer = calloc(1, sizeof *peer);
	char *copy = owner ? strdup(owner) : NULL;
	if (!peer || (owner && !copy)) {
		free(peer);
		free(copy);
		return st_fail_nomem(err);
	}
	*peer = (struct st_mcp_peer){
		.server = server,
		.kind = kind,
		.owner = copy,
		.references = 1,
		.sink = sink,
		.level = ST_MCP_INFO,
	};
	pthread_mutex_init(&peer->lock, NULL);
	pthread_cond_init(&peer->changed, NULL);
	pthread_mutex_lock(&server->lock);
	peer->next = server->peers;
	if (peer->next)
		peer->next->previous = peer;
	server->peers = peer;
	pthread_mutex_unlock(&server->lock);
	*out = peer;
	return 0;
}

static void unlink_peer(struct st_mcp_peer *peer) {
	struct st_mcp_server *server = peer->server;
	pthread_mutex_lock(&server->lock);
	if (peer->next)
		peer->next->previous = peer->previous;
	if (peer->previous)
		peer->previous->next = peer->next;
	else
		server->peers = peer->next;
	pthread_mutex_unlock(&server->lock);
}

static void free_peer(struct st_mcp_peer *peer) {
	unlink_peer(peer);
	struct st_mcp_service *service = peer->server->service;
	if (peer->opened && service->close_peer)
		service->close_peer(service, peer->user);
	yyjson_doc_free(peer->client);
	pthread_mutex_destroy(&peer->lock);
	pthread_cond_destroy(&peer->changed);
	free(peer->owner);
	free(peer);
}

void st_mcp_peer_unref(struct st_mcp_peer *peer) {
	pthread_mutex_lock(&peer->lock);
	assert(peer->references > 0);
	bool last = --peer->references == 0;
	pthread_mutex_unlock(&peer->lock);
	if (last)
		free_peer(peer);
}

/* Find a listening request, cancelled or any, that the caller then ends. With the lock. */
static struct st_mcp_pending *next_listening(struct st_mcp_peer *peer, bool all) {
	struct st_mcp_pending *pending = peer->pendings;
	while (pending && !(pending->listening && (all || pending->cancelled)))
		pending = pending->next;
	if (pending)
		pending->listening = false;
	return pending;
}

/* End all listening requests, or the cancelled ones. Without the lock. */
static void end_listening(struct st_mcp_peer *peer, bool all) {
	for (;;) {
		pthread_mutex_lock(&peer->lock);
		struct st_mcp_pending *pending = next_listening(peer, all);
		pthread_mutex_unlock(&peer->lock);
		if (!pending)
			return;
		st_mcp_pending_end(pending);
	}
}

void st_mcp_peer_close(struct st_mcp_peer *peer) {
	end_listening(peer, true);
	pthread_mutex_lock(&peer->lock);
	peer->closed = true;
	peer->sink = NULL;
	for (struct st_mcp_pending *pending = peer->pendings; pending; pending = pending->next)
		st_mcp_pending_cancel(pending);
	struct st_mcp_uris uris = peer->subscriptions;
	peer->subscriptions = (struct st_mcp_uris){0};
	pthread_mutex_unlock(&peer->lock);
	st_mcp_roots_close(peer);
	st_mcp_unwatch_all(peer->server->service, &uris);
	st_mcp_peer_unref(peer);
}

enum st_mcp_version st_mcp_peer_version(struct st_mcp_peer *peer) {
	pthread_mutex_lock(&peer->lock);
	enum st_mcp_version version = peer->version;
	pthread_mutex_unlock(&peer->lock);
	return version;
}

void st_mcp_cancel(struct st_mcp_peer *peer, struct st_mcp_sink *sink) {
	pthread_mutex_lock(&peer->lock);
	peer->references++;
	for (struct st_mcp_pending *pending = peer->pendings; pending; pending = pending->next) {
		if (pending->outer == sink)
			st_mcp_pending_cancel(pending);
	}
	pthread_mutex_unlock(&peer->lock);
	end_listening(peer, false);
	st_mcp_peer_unref(peer);
}

/* The client cancels a request. */
static void cancel_by_id(struct st_mcp_peer *peer, struct st_mcp_message *message) {
	yyjson_val *id = yyjson_obj_get(message->params, "requestId");
	st_auto(st_buf) wanted = ST_BUF_INIT;
	st_mcp_wire_value(&wanted, id);
	/* Without a connection, several clients may use the same id. */
	if (!id || peer->kind == ST_MCP_STATELESS || wanted.failed)
		return;
	pthread_mutex_lock(&peer->lock);
	for (struct st_mcp_pending *pending = peer->pendings; pending; pending = pending->next) {
		if (st_str_eq(st_buf_str(&pending->message->id), st_buf_str(&wanted)))
			st_mcp_pending_cancel(pending);
	}
	pthread_mutex_unlock(&peer->lock);
	end_listening(peer, false);
}

/* Hand a response to the thread that waits for it. False if none does. */
static bool deliver_response(struct st_mcp_peer *peer, struct st_mcp_message *message) {
	yyjson_val *id = yyjson_obj_get(message->root, "id");
	bool taken = false;
	pthread_mutex_lock(&peer->lock);
	for (struct st_mcp_question *question = peer->questions; question && !taken;
	     question = question->next) {
		if (question->response || !yyjson_is_uint(id) || yyjson_get_uint(id) != question->id)
			continue;
		question->response = message;
		taken = true;
		pthread_cond_broadcast(&peer->changed);
	}
	pthread_mutex_unlock(&peer->lock);
	return taken;
}

void st_mcp_fail_message(struct st_mcp_peer *peer, struct st_mcp_sink *sink, struct st_str id,
                         int code, struct st_str problem) {
	st_auto(st_buf) answer = ST_BUF_INIT;
	st_mcp_wire_error(&answer, id, code, problem, ST_STR(""));
	pthread_mutex_lock(&peer->lock);
	if (!answer.failed)
		sink->answer(sink, &answer, code == ST_MCP_INTERNAL_ERROR ? 500 : 400);
	sink->done(sink);
	pthread_mutex_unlock(&peer->lock);
}

static void end_message(struct st_mcp_peer *peer, struct st_mcp_sink *sink) {
	pthread_mutex_lock(&peer->lock);
	sink->done(sink);
	pthread_mutex_unlock(&peer->lock);
}

void st_mcp_dispatch(struct st_mcp_peer *peer, struct st_mcp_message *message,
                     struct st_mcp_sink *sink) {
	if (message->kind == ST_MCP_BATCH && st_mcp_peer_version(peer) != ST_MCP_2025_03_26)
		st_mcp_refuse(
			message, ST_MCP_INVALID_REQUEST,
			"Only protocol version 2025-03-26 allows batches. Send the messages one by one.");
	switch (message->kind) {
	case ST_MCP_REQUEST:
		st_mcp_pending_begin(peer, message, sink, sink);
		return;
	case ST_MCP_BATCH:
		st_mcp_batch(peer, message, sink);
		return;
	case ST_MCP_BROKEN:
		st_mcp_fail_message(peer, sink, st_buf_str(&message->id), message->code,
		                    st_buf_str(&message->problem));
		break;
	case ST_MCP_NOTIFICATION:
		if (st_str_eq(message->method, ST_STR("notifications/cancelled")))
			cancel_by_id(peer, message);
		st_mcp_roots_notified(peer, message->method);
		end_message(peer, sink);
		break;
	case ST_MCP_RESPONSE:
		if (!st_mcp_roots_answer(peer, message) && deliver_response(peer, message))
			message = NULL;
		end_message(peer, sink);
		break;
	}
	st_mcp_message_free(message);
}

void st_mcp_receive(struct st_mcp_peer *peer, struct st_str bytes, struct st_mcp_sink *sink) {
	struct st_mcp_message *message = st_mcp_message_new(bytes);
	if (message)
		st_mcp_dispatch(peer, message, sink);
	else
		st_mcp_fail_message(peer, sink, ST_STR("null"), ST_MCP_INTERNAL_ERROR,
		                    ST_STR("Out of memory."));
}
