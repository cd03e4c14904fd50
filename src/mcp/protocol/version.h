/**
 * Versions of the protocol. In the *legacy* ones, up to 2025-11-25, a client
 * begins with `initialize`. In the *modern* ones, from 2026-07-28 on, every
 * request is independent and names its version in params._meta.
 */
#ifndef STET_MCP_PROTOCOL_VERSION_H
#define STET_MCP_PROTOCOL_VERSION_H

#include "base/str.h"

enum st_mcp_version {
	/** Unknown, or not negotiated yet. */
	ST_MCP_NONE,
	ST_MCP_2024_10_07,
	ST_MCP_2024_11_05,
	ST_MCP_2025_03_26,
	ST_MCP_2025_06_18,
	ST_MCP_2025_11_25,
	ST_MCP_2026_07_28,
};

/** The newest version for `initialize`. */
#define ST_MCP_LEGACY_LATEST ST_MCP_2025_11_25

static inline bool st_mcp_is_modern(enum st_mcp_version version) {
	return version >= ST_MCP_2026_07_28;
}

/** The version with a name such as "2025-06-18"; ST_MCP_NONE if unknown. */
enum st_mcp_version st_mcp_version_find(struct st_str name);

/** The name of a version; "" for ST_MCP_NONE. */
const char *st_mcp_version_name(enum st_mcp_version version);

/* The keys of _meta that the protocol defines. */
#define ST_MCP_META "io.modelcontextprotocol/"
#define ST_MCP_META_VERSION ST_MCP_META "protocolVersion"
#define ST_MCP_META_CAPABILITIES ST_MCP_META "clientCapabilities"
#define ST_MCP_META_CLIENT ST_MCP_META "clientInfo"
#define ST_MCP_META_LOG_LEVEL ST_MCP_META "logLevel"
#define ST_MCP_META_SERVER ST_MCP_META "serverInfo"
#define ST_MCP_META_SUBSCRIPTION ST_MCP_META "subscriptionId"

#endif
