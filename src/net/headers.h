/**
 * What a modern request says in its headers has to be what its body says, so
 * that whatever stands in between can go by the headers.
 */
#ifndef STET_NET_HEADERS_H
#define STET_NET_HEADERS_H

#include "mcp/protocol/message.h"

/**
 * Refuse a request whose headers are missing or say something else.
 *
 * @version  The values of MCP-Protocol-Version, Mcp-Method and Mcp-Name; NULL
 * @method   for one that is not there. A value that is no plain ASCII comes as
 * @name     `=?base64?...?=`.
 */
void st_headers_compare(struct st_mcp_message *message, const char *version, const char *method,
                        const char *name);

#endif
