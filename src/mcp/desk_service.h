/**
 * The service that stet offers: the tools over the workspaces of a desk, and
 * what they hold as resources, prompts and completions.
 *
 *     struct st_desk_service *service = NULL;
 *     if (st_desk_service_new(desk, "files,text", &service, err) < 0)
 *             ...
 *     st_mcp_server_new(st_desk_service_base(service), executor, &server, err);
 */
#ifndef STET_MCP_DESK_SERVICE_H
#define STET_MCP_DESK_SERVICE_H

#include "mcp/service.h"
#include "stet/desk.h"

struct st_desk_service;

/**
 * A service over a desk, which lives longer.
 *
 * @groups  Which groups of tools there are, separated by commas; NULL for all.
 * @return  0, STET_E_INVALID (no such group), STET_E_NOMEM, STET_E_LIMIT.
 */
[[nodiscard]] int st_desk_service_new(struct stet_desk *desk, const char *groups,
                                      struct st_desk_service **out, struct stet_error *err);

/** Free a service whose server is freed; NULL is fine. */
void st_desk_service_free(struct st_desk_service *service);

/** It as the core sees it. */
struct st_mcp_service *st_desk_service_base(struct st_desk_service *service);

#endif
