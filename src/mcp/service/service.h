/**
 * The service that stet offers: the tools over the workspaces of a desk, and
 * what they hold as resources, prompts and completions.
 *
 *     struct st_service *service = NULL;
 *     if (st_service_new(desk, "files,text", &service, err) < 0)
 *             ...
 *     st_mcp_server_new(st_service_base(service), executor, &server, err);
 *     st_service_serve(service, server);
 *
 * Files that somebody subscribed to are watched: when st_service_fd() is
 * readable, a transport calls st_service_dispatch().
 */
#ifndef STET_MCP_SERVICE_SERVICE_H
#define STET_MCP_SERVICE_SERVICE_H

#include "mcp/protocol/service.h"
#include "stet/host.h"

struct st_service;

/**
 * A service over a desk, which lives longer.
 *
 * @tools   Which tools are listed, separated by commas: default, core, all, or
 *          the groups files, text, state; NULL for the default. All can be called.
 * @return  0, STET_E_INVALID (no such list), STET_E_NOMEM, STET_E_LIMIT.
 */
[[nodiscard]] int st_service_new(struct stet_host *host, const char *tools, struct st_service **out,
                                 struct stet_error *err);

/** Free a service whose server is freed; NULL is fine. */
void st_service_free(struct st_service *service);

/** It as the core sees it. */
struct st_mcp_service *st_service_base(struct st_service *service);

/** Say whom changes are to be told to; NULL before that server goes. */
void st_service_serve(struct st_service *service, struct st_mcp_server *server);

/** A descriptor that is readable when something may have changed. It stays the same. */
int st_service_fd(const struct st_service *service);

/**
 * Have each call of a tool reported when it has been made, from the thread
 * that made it: its name, 0 or the code, and the microseconds it took. Set it
 * before there are calls.
 */
typedef void st_service_called(void *arg, struct st_str tool, int code, int64_t micros);
void st_service_observe(struct st_service *service, st_service_called *called, void *arg);

/** Tell subscribers what has changed. Does not wait. From one thread at a time. */
void st_service_dispatch(struct st_service *service);

#endif
