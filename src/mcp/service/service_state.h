/** The inside of a desk service, for its parts. */
#ifndef STET_MCP_SERVICE_SERVICE_STATE_H
#define STET_MCP_SERVICE_SERVICE_STATE_H

#include <pthread.h>

#include "core/workspace/workspace.h"
#include "mcp/service/service.h"

struct st_service_watch;

struct st_service {
	struct st_mcp_service base;
	struct stet_host *host;
	/** Whom changes are told to; NULL as long as there is nobody. */
	struct st_mcp_server *server;
	/** Guards the watches. */
	pthread_mutex_t lock;
	struct st_service_watch *watches;
	/** Readable when a workspace's watcher is. */
	int epoll;
	/** Who hears of calls; NULL for nobody. */
	st_service_called *called;
	void *called_arg;
	/** Which lists of tools clients are shown; see st_service_lists(). */
	unsigned lists;
};

struct st_tool;

/** Whether clients are shown a tool. */
bool st_service_lists(const struct st_service *service, const struct st_tool *tool);

static inline struct st_service *st_service_of(struct st_mcp_request *request) {
	return (struct st_service *)request->service;
}

static inline struct stet_client *st_service_client_of(struct st_mcp_request *request) {
	return request->user;
}

/** A string among the params, which must be there (-1 if it fails) or may be missing (0, and empty). */
int st_service_param(struct st_mcp_request *request, const char *name, bool required,
                     struct st_str *out);

/** Lists come on one page: a cursor is none of ours. 0, or what st_mcp_fail() returned. */
int st_service_one_page(struct st_mcp_request *request);

/**
 * The workspace that a path leads to, and the path below it.
 *
 * @path   Absolute, or below the first workspace.
 * @rest   Receives the part of path below the workspace's root.
 * @return NULL if it is in none.
 */
struct stet_workspace *st_service_workspace_of(struct st_service *service, const char *path,
                                               const char **rest);

/**
 * Call a tool, for its answer to be used for something else.
 *
 * @args    A JSON object.
 * @answer  Receives it parsed, to be freed with yyjson_doc_free().
 * @return  0, or a code with err filled: there is no such tool, or it failed.
 */
[[nodiscard]] int st_service_ask_tool(struct st_mcp_request *request, const char *tool,
                                      const char *args, yyjson_doc **answer,
                                      struct stet_error *err);

/** The text of such an answer. */
struct st_str st_service_answer_text(yyjson_doc *answer);

int st_service_tools_list(struct st_mcp_request *request);
int st_service_tools_call(struct st_mcp_request *request);
int st_service_resources_list(struct st_mcp_request *request);
int st_service_resources_templates(struct st_mcp_request *request);
int st_service_resources_read(struct st_mcp_request *request);
int st_service_prompts_list(struct st_mcp_request *request);
int st_service_prompts_get(struct st_mcp_request *request);
int st_service_complete(struct st_mcp_request *request);

int st_service_watch(struct st_mcp_service *base, struct st_str uri, struct stet_error *err);
void st_service_unwatch(struct st_mcp_service *base, struct st_str uri);

/** Let go of all files that are watched, before the desk moves; and watch them again. */
void st_service_watch_pause(struct st_service *service);
void st_service_watch_resume(struct st_service *service);

/** The client's roots, for a desk that goes where they are. */
void st_service_take_roots(struct st_mcp_service *base, yyjson_val *list);

#endif
