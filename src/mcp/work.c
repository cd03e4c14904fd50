/* Requests: judged, run, answered. */
#include "base/cancel.h"
#include "base/utf8.h"
#include "mcp/state.h"
#include "mcp/wire.h"

/* More than the shortest answer takes around the id. */
enum { EXCUSE = 200 };

static void link_work(struct st_mcp_work *work) {
	struct st_mcp_peer *peer = work->peer;
	pthread_mutex_lock(&peer->lock);
	peer->references++;
	/* A peer that went while this was on its way gets no answer. */
	work->cancelled = peer->closed;
	work->next = peer->works;
	if (work->next)
		work->next->previous = work;
	peer->works = work;
	pthread_mutex_unlock(&peer->lock);
}

/* With the lock held. */
static void unlink_work(struct st_mcp_work *work) {
	if (work->next)
		work->next->previous = work->previous;
	if (work->previous)
		work->previous->next = work->next;
	else
		work->peer->works = work->next;
}

static void free_work(struct st_mcp_work *work) {
	st_mcp_unwatch_all(work->request.service, &work->uris);
	st_mcp_message_free(work->message);
	st_buf_release(&work->answer);
	st_buf_release(&work->problem);
	st_buf_release(&work->data);
	free(work);
}

/* The members that every modern result has. */
static void add_modern(struct st_buf *out, const struct st_mcp_work *work) {
	const struct st_mcp_service *service = work->request.service;
	st_buf_addf(out, "\"resultType\":\"%s\"", work->input_required ? "input_required" : "complete");
	if (work->method->traits & ST_MCP_CACHED)
		st_buf_addf(out, ",\"ttlMs\":%d,\"cacheScope\":\"private\"",
		            work->method->traits & ST_MCP_STABLE ? 60000 : 0);
	st_buf_adds(out, ",\"_meta\":{");
	/* What ends here is a subscription. */
	if (work->method->run == st_mcp_listen)
		st_buf_addf(out, "\"" ST_MCP_META_SUBSCRIPTION "\":%s,", st_buf_cstr(&work->message->id));
	st_buf_addf(out, "\"" ST_MCP_META_SERVER "\":{\"name\":\"%s\",\"version\":\"%s\"}}",
	            service->name, service->version);
}

/* As HTTP says it. What a handler finds wrong with its arguments is an answer like any other. */
static int status_of(const struct st_mcp_work *work) {
	if (work->code == 0)
		return 200;
	if (!st_mcp_is_modern(work->request.version))
		return work->malformed ? 400 : 200;
	switch (work->code) {
	case ST_MCP_METHOD_NOT_FOUND:
		return 404;
	case ST_MCP_INTERNAL_ERROR:
		return 500;
	case ST_MCP_HEADER_MISMATCH:
	case ST_MCP_MISSING_CAPABILITY:
	case ST_MCP_UNSUPPORTED_VERSION:
		return 400;
	default:
		return work->malformed ? 400 : 200;
	}
}

static void write_error(struct st_mcp_work *work, struct st_str problem, struct st_str data) {
	st_buf_clear(&work->answer);
	st_mcp_wire_error(&work->answer, st_buf_str(&work->message->id), work->code, problem, data);
}

static void write_answer(struct st_mcp_work *work) {
	if (work->code != 0) {
		write_error(work, st_buf_str(&work->problem), st_buf_str(&work->data));
		work->answer.failed |= work->problem.failed || work->data.failed;
		return;
	}
	st_auto(st_buf) more = ST_BUF_INIT;
	if (st_mcp_is_modern(work->request.version))
		add_modern(&more, work);
	st_mcp_wire_end(&work->answer, work->result_start, st_buf_str(&more));
	work->answer.failed |= more.failed;
}

/* Answers that memory did not suffice for become short errors, for which there is room. */
static void write_or_excuse(struct st_mcp_work *work) {
	write_answer(work);
	if (!work->answer.failed)
		return;
	work->code = ST_MCP_INTERNAL_ERROR;
	write_error(work, ST_STR("Out of memory."), ST_STR(""));
}

void st_mcp_work_end(struct st_mcp_work *work) {
	struct st_mcp_peer *peer = work->peer;
	if (!work->cancelled)
		write_or_excuse(work);
	pthread_mutex_lock(&peer->lock);
	unlink_work(work);
	if (!work->cancelled && !work->answer.failed)
		work->sink->answer(work->sink, &work->answer, status_of(work));
	work->sink->done(work->sink);
	pthread_mutex_unlock(&peer->lock);
	free_work(work);
	st_mcp_peer_unref(peer);
}

void st_mcp_work_cancel(struct st_mcp_work *work) {
	work->cancelled = true;
	pthread_cond_broadcast(&work->peer->news);
}

/* Who waits for a handler, for the layers below, which know of no requests. */
struct client {
	struct st_cancel cancel;
	struct st_mcp_request *request;
};

static bool is_cancelled(struct st_cancel *cancel) {
	return st_mcp_cancelled(((struct client *)cancel)->request);
}

static int handle(struct st_mcp_work *work, st_mcp_handler *handler) {
	struct client client = {.cancel.cancelled = is_cancelled, .request = &work->request};
	struct st_cancel *before = st_cancel_set(&client.cancel);
	int code = handler(&work->request);
	st_cancel_set(before);
	return code;
}

static void run(struct st_mcp_job *job) {
	struct st_mcp_work *work = (struct st_mcp_work *)job;
	st_mcp_handler *handler = work->method->run;
	if (work->method->served)
		handler = work->method->served(work->request.service);
	st_mcp_wire_begin(&work->answer, st_buf_str(&work->message->id));
	work->result_start = work->answer.len;
	int code = 0;
	if (!work->cancelled && !st_mcp_roots_need(work))
		code = handle(work, handler);
	/* It listens from now on, and may have ended and gone by the time we look. */
	if (code == ST_MCP_STAYS)
		return;
	if (code < 0 && work->code == 0)
		st_mcp_fail(&work->request, ST_MCP_INTERNAL_ERROR, "Out of memory.");
	st_mcp_work_end(work);
}

/* What the service keeps for this peer. */
static void enter(struct st_mcp_work *work, struct stet_error *why) {
	struct st_mcp_peer *peer = work->peer;
	struct st_mcp_service *service = work->request.service;
	pthread_mutex_lock(&peer->lock);
	if (!peer->entered && service->enter) {
		peer->user = service->enter(service, peer->kind, peer->owner, why);
		peer->entered = peer->user != NULL;
	}
	work->request.user = peer->user;
	pthread_mutex_unlock(&peer->lock);
}

void *st_mcp_enter(struct st_mcp_request *request) {
	struct stet_error why = {0};
	enter(st_mcp_work_of(request), &why);
	return request->user;
}

static int enter_or_fail(struct st_mcp_work *work) {
	struct stet_error why = {0};
	enter(work, &why);
	return why.code < 0 ? st_mcp_fail(&work->request, ST_MCP_INTERNAL_ERROR, "%s", why.message) : 0;
}

static bool submit(struct st_mcp_work *work) {
	struct st_mcp_service *service = work->request.service;
	struct st_mcp_executor *executor = work->peer->server->executor;
	if (!executor || !executor->submit) {
		run(&work->job);
		return true;
	}
	if (service->keys)
		service->keys(&work->request, work->job.keys);
	return executor->submit(executor, &work->job);
}

void st_mcp_work_start(struct st_mcp_work *work) {
	if (!(work->method->traits & ST_MCP_SERVED)) {
		run(&work->job);
	} else if (enter_or_fail(work) < 0) {
		st_mcp_work_end(work);
	} else if (!submit(work)) {
		st_mcp_fail(&work->request, ST_MCP_INTERNAL_ERROR,
		            "The server has too much to do at the moment. Try again.");
		st_mcp_work_end(work);
	}
}

static int fail_version(struct st_mcp_work *work) {
	st_auto(st_buf) data = ST_BUF_INIT;
	st_buf_addf(&data,
	            "{\"supported\":[\"%s\"],\"requested\":", st_mcp_version_name(ST_MCP_2026_07_28));
	st_json_quote(&data, work->message->claimed);
	st_buf_addc(&data, '}');
	return st_mcp_fail_data(&work->request, ST_MCP_UNSUPPORTED_VERSION,
	                        "This protocol version is not supported for requests that stand alone.",
	                        st_buf_str(&data));
}

static int fail_claim(struct st_mcp_work *work) {
	return st_mcp_fail(&work->request, ST_MCP_INVALID_PARAMS,
	                   "params._meta needs \"" ST_MCP_META_VERSION
	                   "\" (a string) and \"" ST_MCP_META_CAPABILITIES "\" (an object).");
}

/* Which version a request is served in: what it claims, or what the connection agreed on. */
static int judge_version(struct st_mcp_work *work) {
	const struct st_mcp_message *message = work->message;
	enum st_mcp_version agreed = st_mcp_peer_version(work->peer);
	work->request.version = ST_MCP_2026_07_28;
	if (message->claim == ST_MCP_CLAIM_MALFORMED)
		return fail_claim(work);
	if (message->claim == ST_MCP_CLAIM_WHOLE)
		return st_mcp_is_modern(message->version) ? 0 : fail_version(work);
	bool discovers = st_str_eq(message->method, ST_STR("server/discover"));
	if (work->peer->kind == ST_MCP_STATELESS || (discovers && agreed == ST_MCP_NONE))
		return fail_claim(work);
	work->request.version = agreed != ST_MCP_NONE ? agreed : ST_MCP_LEGACY_LATEST;
	if (agreed == ST_MCP_NONE && !st_str_eq(message->method, ST_STR("initialize")) &&
	    !st_str_eq(message->method, ST_STR("ping")))
		return st_mcp_fail(
			&work->request, ST_MCP_INVALID_REQUEST,
			"Send \"initialize\" first, or say in params._meta which protocol version "
			"this request is of.");
	return 0;
}

static int judge_level(struct st_mcp_work *work) {
	yyjson_val *level = yyjson_obj_get(work->message->meta, ST_MCP_META_LOG_LEVEL);
	if (!st_mcp_is_modern(work->request.version)) {
		pthread_mutex_lock(&work->peer->lock);
		work->level = work->peer->level;
		pthread_mutex_unlock(&work->peer->lock);
		return 0;
	}
	work->level = ST_MCP_SILENT;
	if (!level)
		return 0;
	int found = st_mcp_level_find(st_json_str(level));
	if (found < 0)
		return st_mcp_fail(&work->request, ST_MCP_INVALID_PARAMS,
		                   "\"" ST_MCP_META_LOG_LEVEL "\" is none of the levels of logging.");
	work->level = (enum st_mcp_level)found;
	return 0;
}

static int judge_method(struct st_mcp_work *work) {
	struct st_mcp_request *request = &work->request;
	work->method =
		st_mcp_method_find(request->service, request->method, st_mcp_is_modern(request->version));
	if (work->method)
		return 0;
	return st_mcp_fail(request, ST_MCP_METHOD_NOT_FOUND,
	                   "There is no method \"%.*s\" in protocol version %s.",
	                   (int)st_utf8_cut(request->method, 100), request->method.ptr,
	                   st_mcp_version_name(request->version));
}

/* What the client meant to say is not known; a tool says so itself, where the model reads it. */
static int judge_text(struct st_mcp_work *work) {
	if (!work->message->mended || st_str_eq(work->message->method, ST_STR("tools/call")))
		return 0;
	return st_mcp_fail(&work->request, ST_MCP_INVALID_PARAMS, "%s", ST_MCP_HALF_A_PAIR);
}

static bool judge(struct st_mcp_work *work) {
	work->malformed = judge_version(work) < 0 || judge_method(work) < 0 || judge_level(work) < 0 ||
	                  judge_text(work) < 0;
	return !work->malformed;
}

static void fail_without_memory(struct st_mcp_peer *peer, struct st_mcp_message *message,
                                struct st_mcp_sink *sink) {
	st_auto(st_buf) answer = ST_BUF_INIT;
	st_mcp_wire_error(&answer, st_buf_str(&message->id), ST_MCP_INTERNAL_ERROR,
	                  ST_STR("Out of memory."), ST_STR(""));
	pthread_mutex_lock(&peer->lock);
	if (!answer.failed)
		sink->answer(sink, &answer, 500);
	sink->done(sink);
	pthread_mutex_unlock(&peer->lock);
	st_mcp_message_free(message);
}

void st_mcp_work_begin(struct st_mcp_peer *peer, struct st_mcp_message *message,
                       struct st_mcp_sink *sink, struct st_mcp_sink *outer) {
	struct st_mcp_work *work = calloc(1, sizeof *work);
	if (!work) {
		fail_without_memory(peer, message, sink);
		return;
	}
	work->job.run = run;
	work->peer = peer;
	work->message = message;
	work->sink = sink;
	work->outer = outer;
	work->request = (struct st_mcp_request){
		.service = peer->server->service,
		.peer_kind = peer->kind,
		.method = message->method,
		.name = message->name,
		.params = message->params,
		.result = &work->answer,
	};
	/* Whatever happens, there is to be room for an excuse. */
	st_buf_reserve(&work->answer, message->id.len + EXCUSE);
	link_work(work);
	if (!judge(work))
		st_mcp_work_end(work);
	else if (!st_mcp_roots_hold(work))
		st_mcp_work_start(work);
}
