/** The revisions of the protocol. Up to 2025-11-25 a client begins with `initialize`; from 2026-07-28 on every request stands alone. */
#ifndef STET_MCP_PROTOCOL_VERSION_H
#define STET_MCP_PROTOCOL_VERSION_H

#include "base/str.h"

enum st_mcp_version {
	/** None yet, or one we do not know. */
	ST_MCP_NONE,
	ST_MCP_2024_10_07,
	ST_MCP_2024_11_05,
	ST_MCP_2025_03_26,
	ST_MCP_2025_06_18,
	ST_MCP_2025_11_25,
	ST_MCP_2026_07_28,
};

/** The newest that `initialize` can lead to. */
#define ST_MCP_LEGACY_LATEST ST_MCP_2025_11_25

static inline bool st_mcp_is_modern(enum st_mcp_version version) {
	return version >= ST_MCP_2026_07_28;
}

/** The revision of a name such as "2025-06-18"; ST_MCP_NONE if we do not have it. */
enum st_mcp_version st_mcp_version_find(struct st_str name);

/** Its name; "" for ST_MCP_NONE. */
const char *st_mcp_version_name(enum st_mcp_version version);

#endif
