/**
 * A service: what a server offers, apart from how the protocol speaks of it.
 *
 * A service embeds `struct st_mcp_service` and fills it. For each method it
 * offers there is a handler, which writes the members of its result, as JSON:
 *
 *     static int call_tool(struct st_mcp_request *request) {
 *             struct my_service *mine = (struct my_service *)request->service;
 *             if (!st_str_eq(request->name, ST_STR("echo")))
 *                     return st_mcp_fail(request, ST_MCP_INVALID_PARAMS, "There is no such tool.");
 *             st_buf_adds(request->result, "{\"content\":[]}");
 *             return 0;
 *     }
 *
 * What an era wants besides (resultType, ttlMs, serverInfo) the core adds.
 * Handlers run on the executor's threads, several at once.
 */
#ifndef STET_MCP_PROTOCOL_SERVICE_H
#define STET_MCP_PROTOCOL_SERVICE_H

#include "mcp/protocol/peer.h"

struct st_mcp_request;
struct st_mcp_service;

/** 0 with the result appended to request->result; or the return value of st_mcp_fail(). */
typedef int st_mcp_handler(struct st_mcp_request *request);

/** What changes are announced. */
enum st_mcp_announces {
	ST_MCP_TOOLS_CHANGE = 1,
	ST_MCP_PROMPTS_CHANGE = 2,
	ST_MCP_RESOURCES_CHANGE = 4,
};

struct st_mcp_service {
	/** Of the Implementation object. */
	const char *name, *title, *version;
	/** For the model; may be NULL. */
	const char *instructions;
	/** Which lists may change: st_mcp_announces. */
	unsigned announces;

	/** What is not offered is NULL, and so are the capabilities of it. */
	st_mcp_handler *tools_list, *tools_call;
	st_mcp_handler *resources_list, *resources_templates, *resources_read;
	st_mcp_handler *prompts_list, *prompts_get;
	st_mcp_handler *complete;

	/**
	 * Somebody begins to (or no longer does) watch a resource; called once per
	 * subscriber. From then on st_mcp_server_updated() is called when it
	 * changes. NULL if resources cannot be subscribed to.
	 *
	 * @return 0; on failure with err filled, which the subscriber gets.
	 */
	int (*watch)(struct st_mcp_service *service, struct st_str uri, struct stet_error *err);
	void (*unwatch)(struct st_mcp_service *service, struct st_str uri);

	/**
	 * A peer comes: returns what the service keeps for it, request->user from
	 * then on. Called before its first request that is handled by the service.
	 * NULL with err filled if it cannot be. Both may be NULL.
	 */
	void *(*enter)(struct st_mcp_service *service, enum st_mcp_peer_kind kind, const char *owner,
	               struct stet_error *err);
	void (*leave)(struct st_mcp_service *service, void *user);

	/**
	 * The client's roots: an array as `roots/list` answers it, or NULL if the
	 * client did not answer. Called before the first request that needs files,
	 * and when they change, while no request is at work: only for a server whose
	 * executor does all work at once. NULL if roots are not asked for.
	 */
	void (*roots)(struct st_mcp_service *service, yyjson_val *list);

	/**
	 * A client initializes: append what it is told besides `instructions`, which
	 * it can do without. st_mcp_client_name() knows it by now. May be NULL.
	 */
	void (*greet)(struct st_mcp_request *request, struct st_buf *out);

	/** What a request must not share with another at work (struct st_mcp_task); may be NULL. */
	void (*keys)(struct st_mcp_request *request, uint64_t keys[2]);
};

/** A request at work. All but `result` is read only; views and values live as long as it. */
struct st_mcp_request {
	struct st_mcp_service *service;
	/** What enter() returned for its peer. */
	void *user;
	/** The version it is served in. */
	enum st_mcp_version version;
	/** How this peer is connected. */
	enum st_mcp_peer_kind peer_kind;
	struct st_str method, name;
	/** May be NULL. */
	yyjson_val *params;
	/** The JSON object that answers; empty at first. */
	struct st_buf *result;
};

/** Fail with a code and a message. Returns a negative number. */
__attribute__((format(printf, 3, 4))) int st_mcp_fail(struct st_mcp_request *request, int code,
                                                      const char *format, ...);

/** The same with `data`, an object as JSON. */
int st_mcp_fail_data(struct st_mcp_request *request, int code, const char *message,
                     struct st_str data);

/** A resource that is not there, as its era says it. */
int st_mcp_fail_no_resource(struct st_mcp_request *request, struct st_str uri);

/** Whether nobody waits for the answer any more. Long work asks now and then. */
bool st_mcp_cancelled(struct st_mcp_request *request);

/** Whether the client wants to hear of progress. */
bool st_mcp_wants_progress(struct st_mcp_request *request);

/** Tell how far it is; nothing if the client did not ask. total 0 is unknown; message may be NULL. */
void st_mcp_progress(struct st_mcp_request *request, double progress, double total,
                     const char *message);

/** Levels of log messages, in the order of syslog. */
enum st_mcp_level {
	ST_MCP_DEBUG,
	ST_MCP_INFO,
	ST_MCP_NOTICE,
	ST_MCP_WARNING,
	ST_MCP_ERROR,
	ST_MCP_CRITICAL,
	ST_MCP_ALERT,
	ST_MCP_EMERGENCY,
	/** Log nothing. */
	ST_MCP_SILENT,
};

/** Log to the client, if it wants to hear this level. */
void st_mcp_log(struct st_mcp_request *request, enum st_mcp_level level, const char *logger,
                struct st_str text);

/** Whether the client declared a capability, such as "sampling" or "elicitation". */
bool st_mcp_client_can(struct st_mcp_request *request, const char *capability);

/** What the client calls itself, as `claude-code`, in one line; empty if it does not say. */
enum { ST_MCP_CLIENT_MAX = 65 };
void st_mcp_client_name(struct st_mcp_request *request, char name[ST_MCP_CLIENT_MAX]);

/** What enter() returns for the peer of a request that the core answers; NULL if it fails. */
void *st_mcp_enter(struct st_mcp_request *request);

/** Fail because it did not, as its era says it. */
int st_mcp_fail_missing(struct st_mcp_request *request, const char *capability);

/**
 * Ask the client something and wait for its answer (legacy only; a modern
 * handler answers with st_mcp_need_input()).
 *
 * @params  A JSON object.
 * @answer  Receives the result, to be freed with yyjson_doc_free().
 * @return  0; or what st_mcp_fail() returned: it answered with an error, went
 *          away, cancelled, or has no such era.
 */
int st_mcp_ask(struct st_mcp_request *request, const char *method, struct st_str params,
               yyjson_doc **answer);

/**
 * Answer that input is needed (modern only): the client repeats the request
 * with inputResponses.
 *
 * @requests  A JSON object of {key: {method, params}}. Those for which the
 *            client lacks the capability make the request fail.
 * @state     What the repeated request is to bring back, any bytes; it is
 *            signed. Empty for nothing.
 * @return    0, or what st_mcp_fail() returned.
 */
int st_mcp_need_input(struct st_mcp_request *request, struct st_str requests, struct st_str state);

/** The answer for a key that an earlier round asked for; NULL if it is not there. */
yyjson_val *st_mcp_input(struct st_mcp_request *request, const char *key);

/**
 * The state that an earlier round of this request sent along.
 *
 * @return 1 with state filled; 0 if there is none; or what st_mcp_fail()
 *         returned: it is not one of ours, or was changed.
 */
int st_mcp_input_state(struct st_mcp_request *request, struct st_buf *state);

/** A resource changed: all who watch it are told. From any thread, but from within sinks and watch(). */
void st_mcp_server_updated(struct st_mcp_server *server, struct st_str uri);

/** Lists changed (st_mcp_announces). As above. */
void st_mcp_server_lists_changed(struct st_mcp_server *server, unsigned lists);

#endif
