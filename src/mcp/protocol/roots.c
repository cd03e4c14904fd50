/*
 * The client's roots, for a service that wants to know them. A legacy client
 * is asked when it has initialized, and again when it says that they changed;
 * requests that need files wait for its answer, for a bounded time. A modern
 * client cannot be asked: the first request that needs files is answered with
 * the question, and repeated with the answer.
 */
#include "base/clock.h"
#include "mcp/protocol/protocol_state.h"
#include "mcp/protocol/wire.h"

/* How long requests wait for the answer. It needs no person, so that most clients give it at once. */
enum { PATIENCE_MS = 10000 };

#define KEY "roots"
#define METHOD "roots/list"

/* With the lock. The peer's own sink is where it hears of what belongs to no request. */
static void ask(struct st_mcp_peer *peer) {
	struct st_mcp_roots *roots = &peer->roots;
	st_auto(st_buf) message = ST_BUF_INIT;
	roots->question = ++peer->last_question;
	st_mcp_wire_request(&message, roots->question, METHOD, ST_STR(""));
	roots->state = ST_MCP_ROOTS_KNOWN;
	if (message.failed || !peer->sink)
		return;
	roots->state = ST_MCP_ROOTS_ASKED;
	roots->deadline_ms = st_now_ms() + PATIENCE_MS;
	peer->sink->event(peer->sink, &message);
}

/* With the lock: whether a legacy client can be asked. */
static bool can_ask(const struct st_mcp_peer *peer) {
	yyjson_val *all = yyjson_doc_get_root(peer->client);
	return peer->server->service->roots && peer->version != ST_MCP_NONE &&
	       yyjson_is_obj(yyjson_obj_get(all, "roots"));
}

/* With the lock. One question at a time: a change meanwhile is asked about afterwards. */
static void ask_anew(struct st_mcp_peer *peer) {
	if (peer->roots.state == ST_MCP_ROOTS_ASKED)
		peer->roots.changed = true;
	else
		ask(peer);
}

void st_mcp_roots_notice(struct st_mcp_peer *peer, struct st_str method) {
	bool ready = st_str_eq(method, ST_STR("notifications/initialized"));
	bool changed = st_str_eq(method, ST_STR("notifications/roots/list_changed"));
	if (!ready && !changed)
		return;
	pthread_mutex_lock(&peer->lock);
	if (can_ask(peer) && (changed || peer->roots.state == ST_MCP_ROOTS_UNASKED))
		ask_anew(peer);
	pthread_mutex_unlock(&peer->lock);
}

bool st_mcp_roots_hold(struct st_mcp_pending *pending) {
	struct st_mcp_peer *peer = pending->peer;
	struct st_mcp_roots *roots = &peer->roots;
	if (!(pending->method->traits & ST_MCP_ROOTED) || st_mcp_is_modern(pending->request.version))
		return false;
	pthread_mutex_lock(&peer->lock);
	/* Some clients forget to say that they have initialized. */
	if (can_ask(peer) && roots->state == ST_MCP_ROOTS_UNASKED)
		ask(peer);
	bool waits = roots->state == ST_MCP_ROOTS_ASKED;
	if (waits) {
		struct st_mcp_pending **link = &roots->held;
		while (*link)
			link = &(*link)->held_next;
		*link = pending;
	}
	pthread_mutex_unlock(&peer->lock);
	return waits;
}

/* Go on with the requests that waited, in their order. Each may be gone when it has been started. */
static void release(struct st_mcp_peer *peer) {
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

/* What the client said, or NULL; then whatever waited for it. */
static void adopt_roots(struct st_mcp_peer *peer, yyjson_val *list) {
	struct st_mcp_service *service = peer->server->service;
	service->roots(service, list);
	pthread_mutex_lock(&peer->lock);
	peer->roots.state = ST_MCP_ROOTS_KNOWN;
	if (peer->roots.changed)
		ask(peer);
	peer->roots.changed = false;
	pthread_mutex_unlock(&peer->lock);
	release(peer);
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
	/* One that comes too late counts all the same, once. */
	if (ours)
		peer->roots.question = 0;
	pthread_mutex_unlock(&peer->lock);
	if (ours)
		adopt_roots(peer, list_in(yyjson_obj_get(message->root, "result")));
	return ours;
}

int st_mcp_peer_timeout(struct st_mcp_peer *peer) {
	pthread_mutex_lock(&peer->lock);
	bool waits = peer->roots.state == ST_MCP_ROOTS_ASKED;
	int64_t left = peer->roots.deadline_ms - st_now_ms();
	pthread_mutex_unlock(&peer->lock);
	return !waits ? -1 : left > 0 ? (int)left : 0;
}

void st_mcp_peer_give_up(struct st_mcp_peer *peer) {
	pthread_mutex_lock(&peer->lock);
	bool waits = peer->roots.state == ST_MCP_ROOTS_ASKED;
	/* Whoever does not answer is not asked again by itself. */
	peer->roots.changed = false;
	pthread_mutex_unlock(&peer->lock);
	if (waits)
		adopt_roots(peer, NULL);
}

void st_mcp_roots_close(struct st_mcp_peer *peer) {
	pthread_mutex_lock(&peer->lock);
	peer->roots.state = ST_MCP_ROOTS_KNOWN;
	pthread_mutex_unlock(&peer->lock);
	release(peer);
}

/* ---- modern ---- */

/* Requests that may be answered with a question. */
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
	/* Where it fails, the request is answered with that. */
	st_mcp_need_input(request, st_str(question), ST_STR(""));
	return true;
}
