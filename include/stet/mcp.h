/**
 * The MCP server: offers the tools, resources and prompts of a host to a client
 * that speaks the Model Context Protocol (2024-11-05 to 2025-11-25, and
 * 2026-07-28).
 *
 *     const char *roots[] = {"."};
 *     struct stet_host *host = NULL;
 *
 *     if (stet_host_open(roots, 1, &host, err) < 0 ||
 *         stet_mcp_stdio(host, NULL, STDIN_FILENO, STDOUT_FILENO, -1, err) < 0)
 *             fprintf(stderr, "%s\n", stet_error_message(err));
 *     stet_host_close(host);
 */
#ifndef STET_MCP_H
#define STET_MCP_H

#include "stet/host.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Serve one client, with one message per line in both directions.
 *
 * Returns when the client closes its end, when `out` is closed, or when `stop`
 * becomes readable. Messages received before are still answered. The program
 * should ignore SIGPIPE.
 *
 * @tools  The groups of tools to offer: files, text, state, separated by
 *         commas; NULL for all.
 * @in     A pipe, file, terminal or socket to read from.
 * @out    A pipe, file, terminal or socket to write to.
 * @stop   A descriptor that becomes readable to end the call, such as a
 *         signalfd; -1 for none.
 * @return 0, STET_E_INVALID (unknown group), STET_E_NOMEM, STET_E_LIMIT,
 *         STET_E_IO.
 */
STET_API STET_NODISCARD int stet_mcp_stdio(struct stet_host *host, const char *tools, int in,
                                           int out, int stop, struct stet_error *err);

#ifdef __cplusplus
}
#endif

#endif
