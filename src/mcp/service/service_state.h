/** The internal state of a service, for the files in this folder. */
#ifndef STET_MCP_SERVICE_SERVICE_STATE_H
#define STET_MCP_SERVICE_SERVICE_STATE_H

#include <pthread.h>

#include "core/workspace/workspace.h"
#include "mcp/service/service.h"

struct st_service_watch;

struct st_service {
	struct st_mcp_service base;
	struct stet_host *host;
	/** Notifies clients of changes; may be NULL. */
	struct st_mcp_server *server;
	/** Protects the watches. */
	pthread_mutex_t lock;
	struct st_service_watch *watches;
	/** Readable when the watcher of a workspace is. */
	int epoll;
	/** Called after each tool call; may be NULL. */
	st_service_called *called;
	void *called_arg;
	/** The lists of tools that tools/list shows; see st_service_lists(). */
	unsigned lists;
};

struct st_tool;

/** Whether tools/list shows a tool. */
bool st_service_lists(const struct st_service *service, const struct st_tool *tool);

static inline struct st_service *st_service_of(struct st_mcp_request *request) {
	return (struct st_service *)request->service;
}

static inline struct stet_client *st_service_client_of(struct st_mcp_request *request) {
	return request->user;
}

/** Check that params has request->name, as this member. Returns 0 or what st_mcp_fail() returned. */
static inline int st_service_check_name(struct st_mcp_request *request, const char *member) {
	if (yyjson_is_str(yyjson_obj_get(request->params, member)))
		return 0;
	return st_mcp_fail(request, ST_MCP_INVALID_PARAMS, "%.*s needs \"%s\", a string.",
	                   (int)request->method.len, request->method.ptr, member);
}

/** Refuse a cursor: lists have one page. Returns 0 or what st_mcp_fail() returned. */
int st_service_one_page(struct st_mcp_request *request);

/**
 * Call a tool for a resource, prompt or completion.
 *
 * @args    A JSON object.
 * @answer  Receives the parsed answer, to be freed with yyjson_doc_free().
 * @return  0, or the tool's code with err filled.
 */
[[nodiscard]] int st_service_call_tool(struct st_mcp_request *request, const char *tool,
                                       const char *args, yyjson_doc **answer,
                                       struct stet_error *err);

/** The text of a tool's answer. */
struct st_str st_service_answer_text(yyjson_doc *answer);

int st_service_tools_list(struct st_mcp_request *request);
int st_service_tools_call(struct st_mcp_request *request);
int st_service_resources_list(struct st_mcp_request *request);
int st_service_resources_templates(struct st_mcp_request *request);
int st_service_resources_read(struct st_mcp_request *request);
int st_service_prompts_list(struct st_mcp_request *request);
int st_service_prompts_get(struct st_mcp_request *request);
int st_service_complete(struct st_mcp_request *request);

int st_service_watch(struct st_mcp_service *base, void *user, struct st_str uri,
                     struct stet_error *err);
void st_service_unwatch(struct st_mcp_service *base, struct st_str uri);

/** Unwatch all files before the host moves, and watch them again afterwards. */
void st_service_watch_pause(struct st_service *service);
void st_service_watch_resume(struct st_service *service);

/** Move the host to the client's roots. */
void st_service_use_roots(struct st_mcp_service *base, yyjson_val *list);

#endif
