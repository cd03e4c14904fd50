/**
 * One message as it came in, parsed and classified but not yet judged by
 * anything the connection knows.
 *
 * A transport that has headers to compare with the body looks at it before it
 * hands it on:
 *
 *     struct st_mcp_message *message = st_mcp_message_new(body);
 *     if (!message)
 *             ...                        // out of memory
 *     if (!st_str_eq(message->method, header))
 *             st_mcp_refuse(message, ST_MCP_HEADER_MISMATCH, "...");
 *     st_mcp_dispatch(peer, message, sink);    // frees it
 */
#ifndef STET_MCP_PROTOCOL_MESSAGE_H
#define STET_MCP_PROTOCOL_MESSAGE_H

#include "base/json.h"
#include "mcp/protocol/version.h"

/** Codes of JSON-RPC and MCP. */
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
	/** Not a message; `code` and `problem` say why. */
	ST_MCP_BROKEN,
	ST_MCP_REQUEST,
	ST_MCP_NOTIFICATION,
	/** The answer to a request of ours. */
	ST_MCP_RESPONSE,
	/** An array of messages. */
	ST_MCP_BATCH,
};

/** What params._meta says about the protocol. */
enum st_mcp_claim {
	/** Nothing: legacy. */
	ST_MCP_CLAIM_NONE,
	/** A protocol version and capabilities, as a modern request must. */
	ST_MCP_CLAIM_WHOLE,
	/** A protocol version, but the rest is missing or of the wrong type. */
	ST_MCP_CLAIM_MALFORMED,
};

/** Views borrow from the message; empty for what is not there. */
struct st_mcp_message {
	enum st_mcp_kind kind;
	/** Why a broken one is; 0 for others. */
	int code;
	struct st_buf problem;
	/** Half a surrogate pair was in it, which no text can hold, and is U+FFFD now. */
	bool mended;
	/** The JSON of its id; "null" if it has none that can be used. */
	struct st_buf id;
	struct st_str method;
	/** What a request is about: params.name, or params.uri of the resource methods. */
	struct st_str name;
	/** What _meta claims, and the version as it was written and as we know it. */
	enum st_mcp_claim claim;
	struct st_str claimed;
	enum st_mcp_version version;
	/** params, always an object or NULL; and its _meta, or NULL. */
	yyjson_val *params, *meta;
	yyjson_val *root;
	yyjson_doc *doc;
};

/** Parse. Never fails but for memory: NULL. What is wrong is in the message. */
struct st_mcp_message *st_mcp_message_new(struct st_str bytes);

/**
 * The same for one that was too long to be kept: it is broken.
 *
 * @head, @tail  Its first and last bytes, so that the answer may have its id.
 * @limit        How long it might have been.
 */
struct st_mcp_message *st_mcp_message_oversized(struct st_str head, struct st_str tail,
                                                size_t limit);

/** Have it answered with this error by st_mcp_dispatch(), whatever it is: it is broken now. */
__attribute__((format(printf, 3, 4))) void st_mcp_refuse(struct st_mcp_message *message, int code,
                                                         const char *format, ...);

/** NULL is fine. */
void st_mcp_message_free(struct st_mcp_message *message);

#endif
