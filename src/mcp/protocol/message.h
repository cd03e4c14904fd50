/**
 * JSON-RPC messages: reading those of the client, and writing the server's.
 *
 * A message from the client is parsed and classified. Whether it is allowed on
 * its connection is decided later, by st_mcp_dispatch().
 *
 * A transport with headers compares them with the message first:
 *
 *     struct st_mcp_message *message = st_mcp_message_new(body);
 *     if (!message)
 *             return st_fail_nomem(err);
 *     if (!st_str_eq(message->method, header))
 *             st_mcp_refuse(message, ST_MCP_HEADER_MISMATCH, "...");
 *     st_mcp_dispatch(peer, message, sink);    // frees it
 */
#ifndef STET_MCP_PROTOCOL_MESSAGE_H
#define STET_MCP_PROTOCOL_MESSAGE_H

#include "base/json.h"
#include "mcp/protocol/version.h"

/** Error codes of JSON-RPC and MCP. */
enum st_mcp_code {
	ST_MCP_PARSE_ERROR = -32700,
	ST_MCP_INVALID_REQUEST = -32600,
	ST_MCP_METHOD_NOT_FOUND = -32601,
	ST_MCP_INVALID_PARAMS = -32602,
	ST_MCP_INTERNAL_ERROR = -32603,
	/** Legacy only. */
	ST_MCP_RESOURCE_NOT_FOUND = -32002,
	/** Modern only. */
	ST_MCP_HEADER_MISMATCH = -32020,
	ST_MCP_MISSING_CAPABILITY = -32021,
	ST_MCP_UNSUPPORTED_VERSION = -32022,
};

enum st_mcp_kind {
	/** Not a valid message; see `code` and `problem`. */
	ST_MCP_BROKEN,
	ST_MCP_REQUEST,
	ST_MCP_NOTIFICATION,
	/** The answer to a request of the server. */
	ST_MCP_RESPONSE,
	/** An array of messages. */
	ST_MCP_BATCH,
};

/** Whether params._meta names a protocol version. */
enum st_mcp_claim {
	/** It does not: a legacy request. */
	ST_MCP_CLAIM_NONE,
	/** It has a version and capabilities, as a modern request must. */
	ST_MCP_CLAIM_WHOLE,
	/** A part is missing or has the wrong type. */
	ST_MCP_CLAIM_MALFORMED,
};

/** Views are valid as long as the message; those of missing parts are empty. */
struct st_mcp_message {
	enum st_mcp_kind kind;
	/** The error of a broken message; 0 for others. */
	int code;
	struct st_buf problem;
	/** It had half a surrogate pair, which is not valid text and was replaced by U+FFFD. */
	bool repaired;
	/** The JSON of its id; "null" if it has no valid one. */
	struct st_buf id;
	struct st_str method;
	/** params.name; params.uri for the resource methods. */
	struct st_str name;
	/** The version in _meta, as text and as enum. */
	enum st_mcp_claim claim;
	struct st_str claimed;
	enum st_mcp_version version;
	/** The object params and its _meta; either may be NULL. */
	yyjson_val *params, *meta;
	yyjson_val *root;
	yyjson_doc *doc;
};

/** Parse a message. NULL if out of memory; an invalid message is returned as ST_MCP_BROKEN. */
struct st_mcp_message *st_mcp_message_new(struct st_str bytes);

/**
 * Make a broken message for one that was too long to be stored.
 *
 * @head, @tail  Its first and last bytes, which may contain its id.
 * @limit        The largest length that is allowed.
 */
struct st_mcp_message *st_mcp_message_oversized(struct st_str head, struct st_str tail,
                                                size_t limit);

/** Make a message broken: st_mcp_dispatch() will answer it with this error. */
__attribute__((format(printf, 3, 4))) void st_mcp_refuse(struct st_mcp_message *message, int code,
                                                         const char *format, ...);

/** Free a message; NULL is fine. */
void st_mcp_message_free(struct st_mcp_message *message);

/* ---- writing messages ---- */

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
