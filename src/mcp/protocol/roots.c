/*
 * The client's roots, for a service that uses them. The server asks a legacy
 * client after it has initialized, and again when it reports a change; requests
 * that need files wait for the response, for a limited time. A modern client
 * cannot be asked: the server answers its first request that needs files with
 * the question, and the client repeats the request with the roots.
 */
#include "base/clock.h"
#include "mcp/protocol/protocol_state.h"

/* How long requests wait for the roots. Most clients answer at once, since no person is involved. */
enum { TIMEOUT_MS = 10000 };

#define KEY "roots"
#define METHOD "roots/list"

/* Send the question to the peer's own sink. With the lock. */
static void send_question(struct st_mcp_peer *peer) {
	struct st_mcp_roots *roots = &peer->roots;
	st_auto(st_buf) message = ST_BUF_INIT;
	roots->question = ++peer->last_question;
	st_mcp_wire_request(&message, roots->question, METHOD, ST_STR(""));
	roots->state = ST_MCP_ROOTS_KNOWN;
	if (message.failed || !peer->sink)
		return;
	roots->state = ST_MCP_ROOTS_ASKED;
	roots->deadline_ms = st_now_ms() + TIMEOUT_MS;
	peer->sink->event(peer->sink, &message);
}

bool st_mcp_roots_can_ask(const struct st_mcp_peer *peer) {
	yyjson_val *all = yyjson_doc_get_root(peer->client);
	return peer->server->service->roots && peer->version != ST_MCP_NONE &&
	       yyjson_is_obj(yyjson_obj_get(all, "roots"));
}

/* Ask, or ask later if a question is open. With the lock. */
static void ask_for_roots(struct st_mcp_peer *peer) {
	if (peer->roots.state == ST_MCP_ROOTS_ASKED)
		peer->roots.changed = true;
	else
		send_question(peer);
}

void st_mcp_roots_notified(struct st_mcp_peer *peer, struct st_str method) {
	bool ready = st_str_eq(method, ST_STR("notifications/initialized"));
	bool changed = st_str_eq(method, ST_STR("notifications/roots/list_changed"));
	if (!ready && !changed)
		return;
	pthread_mutex_lock(&peer->lock);
	if (st_mcp_roots_can_ask(peer) && (changed || peer->roots.state == ST_MCP_ROOTS_UNASKED))
		ask_for_roots(peer);
	pthread_mutex_unlock(&peer->lock);
}

bool st_mcp_roots_hold(struct st_mcp_pending *pending) {
	struct st_mcp_peer *peer = pending->peer;
	struct st_mcp_roots *roots = &peer->roots;
	if (!(pending->method->traits & ST_MCP_ROOTED) || st_mcp_is_modern(pending->request.version))
		return false;
	pthread_mutex_lock(&peer->lock);
	/* Some clients do not send notifications/initialized. */
	if (st_mcp_roots_can_ask(peer) && roots->state == ST_MCP_ROOTS_UNASKED)
		send_question(peer);
	bool waiting = roots->state == ST_MCP_ROOTS_ASKED;
	if (waiting) {
		struct st_mcp_pending **link = &roots->held;
		while (*link)
			link = &(*link)->held_next;
		*link = pending;
	}
	pthread_mutex_unlock(&peer->lock);
	return waiting;
}

/* Start the waiting requests in order. A started request may be freed at once. */
static void start_waiting(struct st_mcp_peer *peer) {
	for (;;) {
		pthread_mutex_lock(&peer->lock);
		struct st_mcp_pending *pending =
			peer->roots.state == ST_MCP_ROOTS_ASKED ? NULL : peer->roots.held;
		if (pending)
			peer->roots.held = pending->held_next;
		pthread_mutex_unlock(&peer->lock);
		if (!pending)
			return;
		st_mcp_pending_start(pending);
	}
}

/* Give the roots, or NULL, to the service; then start the waiting requests. */
static void adopt_roots(struct st_mcp_peer *peer, yyjson_val *list) {
	struct st_mcp_service *service = peer->server->service;
	service->roots(service, list);
	pthread_mutex_lock(&peer->lock);
	peer->roots.state = ST_MCP_ROOTS_KNOWN;
	if (peer->roots.changed)
		send_question(peer);
	peer->roots.changed = false;
	pthread_mutex_unlock(&peer->lock);
	start_waiting(peer);
}

static yyjson_val *list_in(yyjson_val *answer) {
	yyjson_val *list = yyjson_obj_get(answer, "roots");
	return yyjson_is_arr(list) ? list : NULL;
}

bool st_mcp_roots_answer(struct st_mcp_peer *peer, const struct st_mcp_message *message) {
	yyjson_val *id = yyjson_obj_get(message->root, "id");
	pthread_mutex_lock(&peer->lock);
	bool ours = peer->roots.question > 0 && yyjson_is_uint(id) &&
	            yyjson_get_uint(id) == peer->roots.question;
	/* A late response counts too, but only once. */
	if (ours)
		peer->roots.question = 0;
	pthread_mutex_unlock(&peer->lock);
	if (ours)
		adopt_roots(peer, list_in(yyjson_obj_get(message->root, "result")));
	return ours;
}

int st_mcp_peer_timeout(struct st_mcp_peer *peer) {
	pthread_mutex_lock(&peer->lock);
	bool waiting = peer->roots.state == ST_MCP_ROOTS_ASKED;
	int64_t left = peer->roots.deadline_ms - st_now_ms();
	pthread_mutex_unlock(&peer->lock);
	return !waiting ? -1 : left > 0 ? (int)left : 0;
}

void st_mcp_peer_give_up(struct st_mcp_peer *peer) {
	pthread_mutex_lock(&peer->lock);
	bool waiting = peer->roots.state == ST_MCP_ROOTS_ASKED;
	/* Do not ask again: the client does not answer. */
	peer->roots.changed = false;
	pthread_mutex_unlock(&peer->lock);
	if (waiting)
		adopt_roots(peer, NULL);
}

void st_mcp_roots_close(struct st_mcp_peer *peer) {
	pthread_mutex_lock(&peer->lock);
	peer->roots.state = ST_MCP_ROOTS_KNOWN;
	pthread_mutex_unlock(&peer->lock);
	start_waiting(peer);
}

/* ---- modern ---- */

/* The protocol allows questions only in the answers of these methods. */
static bool may_need_input(const struct st_mcp_request *request) {
	static const char *const methods[] = {"tools/call", "prompts/get", "resources/read"};
	for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
		if (st_str_eq(request->method, st_str(methods[i])))
			return true;
	}
	return false;
}

bool st_mcp_roots_need(struct st_mcp_pending *pending) {
	struct st_mcp_request *request = &pending->request;
	struct st_mcp_service *service = request->service;
	if (!service->roots || !st_mcp_is_modern(request->version) || !may_need_input(request) ||
	    pending->peer->roots.state == ST_MCP_ROOTS_KNOWN || !st_mcp_client_can(request, KEY))
		return false;
	yyjson_val *answer = st_mcp_input(request, KEY);
	if (answer) {
		adopt_roots(pending->peer, list_in(answer));
		return false;
	}
	static const char question[] = "{\"" KEY "\":{\"method\":\"" METHOD "\",\"params\":{}}}";
	/* If this fails, it has set the request's error. */
	st_mcp_need_input(request, st_str(question), ST_STR(""));
	return true;
}
