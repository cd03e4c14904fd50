/** An executor for an MCP server that runs tasks on a pool. */
#ifndef STET_NET_EXECUTOR_H
#define STET_NET_EXECUTOR_H

#include "mcp/protocol/peer.h"
#include "net/pool.h"

struct st_executor {
	struct st_mcp_executor executor;
	struct st_pool *pool;
};

/** Initialize an executor. Only the loop's thread may then pass messages to the server. */
void st_executor_init(struct st_executor *executor, struct st_pool *pool);

#endif
