/**
 * src/mcp/service offers stet over the protocol of src/mcp/protocol: the tools of
 * a host as MCP tools, its files and state as resources, prompts, completions.
 *
 *     struct st_service *service = NULL;
 *     if (st_service_new(host, "files,text", &service, err) < 0 ||
 *         st_mcp_server_new(st_service_base(service), executor, &server, err) < 0)
 *             return 1;
 *     st_service_serve(service, server);
 *
 * The service watches the files that clients subscribe to: when st_service_fd()
 * is readable, the transport calls st_service_dispatch().
 */
#ifndef STET_MCP_SERVICE_SERVICE_H
#define STET_MCP_SERVICE_SERVICE_H

#include "mcp/protocol/service.h"
#include "stet/host.h"

struct st_service;

/**
 * Make a service for a host, which must outlive it.
 *
 * @tools   The tools that tools/list shows, separated by commas: default, core,
 *          all, or the groups files, text, state; NULL for default. Clients can
 *          call all tools.
 * @return  0, STET_E_INVALID (unknown list), STET_E_NOMEM, STET_E_LIMIT.
 */
[[nodiscard]] int st_service_new(struct stet_host *host, const char *tools, struct st_service **out,
                                 struct stet_error *err);

/** Free a service, after its server; NULL is fine. */
void st_service_free(struct st_service *service);

/** The service for st_mcp_server_new(). */
struct st_mcp_service *st_service_base(struct st_service *service);

/** Set the server that notifies clients of changes; NULL before that server is freed. */
void st_service_serve(struct st_service *service, struct st_mcp_server *server);

/** A descriptor that is readable when files may have changed; always the same. */
int st_service_fd(const struct st_service *service);

/**
 * Set a callback for every finished tool call: its name, 0 or the error code, and
 * the time in microseconds. The calling thread runs it. Set it before the first
 * call.
 */
typedef void st_service_called(void *arg, struct st_str tool, int code, int64_t micros);
void st_service_observe(struct st_service *service, st_service_called *called, void *arg);

/** Notify subscribers of changed files, without waiting. Call it from one thread at a time. */
void st_service_dispatch(struct st_service *service);

#endif
