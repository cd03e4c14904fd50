/**
 * A service: the methods that a server offers.
 *
 * A service embeds `struct st_mcp_service` and fills it. For each method it has
 * a handler, which writes the result as JSON:
 *
 *     static int call_tool(struct st_mcp_request *request) {
 *             struct my_service *mine = (struct my_service *)request->service;
 *             if (!st_str_eq(request->name, ST_STR("echo")))
 *                     return st_mcp_fail(request, ST_MCP_INVALID_PARAMS, "Tool not found.");
 *             st_buf_adds(request->result, "{\"content\":[]}");
 *             return 0;
 *     }
 *
 * The protocol adds the members that a version requires (resultType, ttlMs,
 * serverInfo). Handlers run in parallel on the executor's threads.
 */
#ifndef STET_MCP_PROTOCOL_SERVICE_H
#define STET_MCP_PROTOCOL_SERVICE_H

#include "mcp/protocol/peer.h"

struct st_mcp_request;
struct st_mcp_service;

/** Appends the result to request->result and returns 0; or returns what st_mcp_fail() returned. */
typedef int st_mcp_handler(struct st_mcp_request *request);

/** Lists whose changes are announced, as bits. */
enum st_mcp_announces {
	ST_MCP_TOOLS_CHANGE = 1,
	ST_MCP_PROMPTS_CHANGE = 2,
	ST_MCP_RESOURCES_CHANGE = 4,
};

struct st_mcp_service {
	/** For serverInfo. */
	const char *name, *title, *version;
	/** For the model; may be NULL. */
	const char *instructions;
	/** The lists that may change: st_mcp_announces. */
	unsigned announces;

	/** NULL for methods that are not offered. */
	st_mcp_handler *tools_list, *tools_call;
	st_mcp_handler *resources_list, *resources_templates, *resources_read;
	st_mcp_handler *prompts_list, *prompts_get;
	st_mcp_handler *complete;

	/**
	 * Start and stop watching a resource; called once per subscriber. The
	 * service calls st_mcp_server_updated() when it changes. NULL if clients
	 * cannot subscribe to resources.
	 *
	 * @user   Of the subscriber; NULL if open_peer() failed.
	 * @return 0, or a code with err filled for the subscriber.
	 */
	int (*watch)(struct st_mcp_service *service, void *user, struct st_str uri,
	             struct stet_error *err);
	void (*unwatch)(struct st_mcp_service *service, struct st_str uri);

	/**
	 * Make and free the service's data for a peer, request->user. open_peer() is
	 * called before the peer's first request that the service handles; on
	 * failure it returns NULL and fills err. Both may be NULL.
	 */
	void *(*open_peer)(struct st_mcp_service *service, enum st_mcp_peer_kind kind,
	                   const char *owner, struct stet_error *err);
	void (*close_peer)(struct st_mcp_service *service, void *user);

	/**
	 * Receives the client's roots: the array of `roots/list`, or NULL if the
	 * client did not answer. Called before the first request that needs files,
	 * and when the roots change, while no request runs; therefore only for a
	 * server whose executor runs tasks at once. NULL to ignore roots.
	 */
	void (*roots)(struct st_mcp_service *service, yyjson_val *list);

	/**
	 * Called for `initialize`: appends optional text to `instructions`.
	 * st_mcp_client_name() already knows the client. May be NULL.
	 */
	void (*greet)(struct st_mcp_request *request, struct st_buf *out);

	/** Fills the keys of the request's task (struct st_mcp_task); may be NULL. */
	void (*keys)(struct st_mcp_request *request, uint64_t keys[2]);
};

/** A running request. Only `result` may be changed. Views and values are valid as long as it. */
struct st_mcp_request {
	struct st_mcp_service *service;
	/** What open_peer() returned. */
	void *user;
	/** The protocol version of the answer. */
	enum st_mcp_version version;
	enum st_mcp_peer_kind peer_kind;
	struct st_str method, name;
	/** May be NULL. */
	yyjson_val *params;
	/** Receives the result, a JSON object. */
	struct st_buf *result;
};

/** Make the request fail with a code and a message. Returns a negative number. */
__attribute__((format(printf, 3, 4))) int st_mcp_fail(struct st_mcp_request *request, int code,
                                                      const char *format, ...);

/** Like st_mcp_fail(), with `data`, a JSON object. */
int st_mcp_fail_data(struct st_mcp_request *request, int code, const char *message,
                     struct st_str data);

/** Fail because a resource does not exist, with the code of the protocol version. */
int st_mcp_fail_no_resource(struct st_mcp_request *request, struct st_str uri);

/** Whether the client no longer waits for the answer. Long handlers check it now and then. */
bool st_mcp_cancelled(struct st_mcp_request *request);

/** Notify the client of progress, if it asked for it. total is 0 if unknown; message may be NULL. */
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

/** Send a log message to the client, if it wants this level. */
void st_mcp_log(struct st_mcp_request *request, enum st_mcp_level level, const char *logger,
                struct st_str text);

/** Whether the client declared a capability, such as "sampling" or "elicitation". */
bool st_mcp_client_can(struct st_mcp_request *request, const char *capability);

/** The client's name, such as `claude-code`; empty if unknown. */
enum { ST_MCP_CLIENT_MAX = 65 };
void st_mcp_client_name(struct st_mcp_request *request, char name[ST_MCP_CLIENT_MAX]);

/** Call open_peer() for the peer of a request that the protocol handles; NULL if it fails. */
void *st_mcp_open_peer(struct st_mcp_request *request);

/** Fail because the client lacks a capability, with the code of the protocol version. */
int st_mcp_fail_missing(struct st_mcp_request *request, const char *capability);

/**
 * Send the client a request and wait for the response. Only for legacy requests;
 * handlers of modern ones use st_mcp_need_input().
 *
 * @params  A JSON object.
 * @answer  Receives the result, to be freed with yyjson_doc_free().
 * @return  0, or what st_mcp_fail() returned: the client answered with an error,
 *          disconnected or cancelled, or the request is a modern one.
 */
int st_mcp_ask(struct st_mcp_request *request, const char *method, struct st_str params,
               yyjson_doc **answer);

/**
 * Answer a modern request with questions: the client repeats the request with
 * inputResponses.
 *
 * @requests  A JSON object of {key: {method, params}}. Fails if the client lacks
 *            the capability for one of them.
 * @state     Bytes that the client sends back with the repeated request, signed
 *            by the server. Empty for none.
 * @return    0, or what st_mcp_fail() returned.
 */
int st_mcp_need_input(struct st_mcp_request *request, struct st_str requests, struct st_str state);

/** The client's answer to the question of a key; NULL if there is none. */
yyjson_val *st_mcp_input(struct st_mcp_request *request, const char *key);

/**
 * The state of st_mcp_need_input() in a repeated request.
 *
 * @return 1 with state filled; 0 if there is none; or what st_mcp_fail()
 *         returned: the signature is wrong.
 */
int st_mcp_input_state(struct st_mcp_request *request, struct st_buf *state);

/** Notify all subscribers of a resource. May be called from any thread, but not from sinks and watch(). */
void st_mcp_server_updated(struct st_mcp_server *server, struct st_str uri);

/** Notify clients that lists changed (st_mcp_announces). From the same threads. */
void st_mcp_server_lists_changed(struct st_mcp_server *server, unsigned lists);

#endif
