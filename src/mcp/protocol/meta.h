/** The keys of _meta that the protocol defines. */
#ifndef STET_MCP_PROTOCOL_META_H
#define STET_MCP_PROTOCOL_META_H

#define ST_MCP_META "io.modelcontextprotocol/"
#define ST_MCP_META_VERSION ST_MCP_META "protocolVersion"
#define ST_MCP_META_CAPABILITIES ST_MCP_META "clientCapabilities"
#define ST_MCP_META_CLIENT ST_MCP_META "clientInfo"
#define ST_MCP_META_LOG_LEVEL ST_MCP_META "logLevel"
#define ST_MCP_META_SERVER ST_MCP_META "serverInfo"
#define ST_MCP_META_SUBSCRIPTION ST_MCP_META "subscriptionId"

#endif
