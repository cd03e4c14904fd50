#include "mcp/protocol/version.h"

static const char *const names[] = {
	[ST_MCP_NONE] = "",
	[ST_MCP_2024_10_07] = "2024-10-07",
	[ST_MCP_2024_11_05] = "2024-11-05",
	[ST_MCP_2025_03_26] = "2025-03-26",
	[ST_MCP_2025_06_18] = "2025-06-18",
	[ST_MCP_2025_11_25] = "2025-11-25",
	[ST_MCP_2026_07_28] = "2026-07-28",
};

enum st_mcp_version st_mcp_version_find(struct st_str name) {
	for (enum st_mcp_version version = ST_MCP_2026_07_28; version > ST_MCP_NONE; version--) {
		if (st_str_eq(st_str(names[version]), name))
			return version;
	}
	return ST_MCP_NONE;
}

const char *st_mcp_version_name(enum st_mcp_version version) {
	return names[version];
}
