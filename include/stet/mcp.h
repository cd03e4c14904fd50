/**
 * The MCP server: the tools, resources and prompts of a desk, for agents that
 * speak the Model Context Protocol (2024-11-05 to 2025-11-25, and 2026-07-28).
 *
 *     if (stet_host_open(roots, count, &desk, err) == 0)
 *             stet_mcp_stdio(desk, NULL, STDIN_FILENO, STDOUT_FILENO, -1, err);
 *     stet_host_close(desk);
 */
#ifndef STET_MCP_H
#define STET_MCP_H

#include "stet/host.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Serve one client: a message per line in, a message per line out.
 *
 * Returns when the client closes its end, when `out` is closed, or when
 * `stop` becomes readable; what was received before is answered first. The
 * program should ignore SIGPIPE.
 *
 * @tools  The groups of tools to offer, separated by commas, of files, text
 *         and state; NULL for all.
 * @in     A pipe, file, terminal or socket to read from.
 * @out    The same, to write to.
 * @stop   A descriptor that becomes readable when it is to end, such as a
 *         signalfd; -1 for none.
 * @return 0, STET_E_INVALID (no such group), STET_E_NOMEM, STET_E_LIMIT,
 *         STET_E_IO.
 */
STET_API STET_NODISCARD int stet_mcp_stdio(struct stet_host *host, const char *tools, int in,
                                           int out, int stop, struct stet_error *err);

#ifdef __cplusplus
}
#endif

#endif
