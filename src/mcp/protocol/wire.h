/** Writing JSON-RPC messages. */
#ifndef STET_MCP_PROTOCOL_WIRE_H
#define STET_MCP_PROTOCOL_WIRE_H

#include "base/json.h"

/** Begin a response. The caller then appends the result, a JSON object. */
void st_mcp_wire_begin(struct st_buf *out, struct st_str id);

/** Add members to the result, which begins at start, and end the response. */
void st_mcp_wire_end(struct st_buf *out, size_t start, struct st_str more);

/** Append an error response; data is a JSON value, or empty for none. */
void st_mcp_wire_error(struct st_buf *out, struct st_str id, int code, struct st_str message,
                       struct st_str data);

/** Append a notification; params is a JSON object. */
void st_mcp_wire_notification(struct st_buf *out, const char *method, struct st_str params);

/** Append a request to the client. */
void st_mcp_wire_request(struct st_buf *out, uint64_t id, const char *method, struct st_str params);

/** Append a parsed value as JSON. */
void st_mcp_wire_value(struct st_buf *out, yyjson_val *value);

#endif
