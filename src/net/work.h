/** The pool as the executor of an MCP server. */
#ifndef STET_NET_WORK_H
#define STET_NET_WORK_H

#include "mcp/peer.h"
#include "net/pool.h"

struct st_work {
	struct st_mcp_executor executor;
	struct st_pool *pool;
};

/** Fill it; only the loop's thread may then bring messages to the server. */
void st_work_init(struct st_work *work, struct st_pool *pool);

#endif
