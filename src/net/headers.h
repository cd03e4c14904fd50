/**
 * The headers of a modern request must match its body, so that proxies can rely
 * on the headers.
 */
#ifndef STET_NET_HEADERS_H
#define STET_NET_HEADERS_H

#include "mcp/protocol/message.h"

/**
 * Refuse a request whose headers are missing or do not match.
 *
 * @version  The values of MCP-Protocol-Version, Mcp-Method and Mcp-Name; NULL
 * @method   if missing. Clients encode a value that is not plain ASCII as
 * @name     `=?base64?...?=`.
 */
void st_headers_compare(struct st_mcp_message *message, const char *version, const char *method,
                        const char *name);

#endif
