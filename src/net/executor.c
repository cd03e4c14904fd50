#include "net/executor.h"

#include <stdlib.h>

struct call {
	struct st_pool_task task;
	struct st_mcp_task *mcp_task;
};

static void run_call(struct st_pool_task *task) {
	struct call *call = (struct call *)task;
	call->mcp_task->run(call->mcp_task);
}

static void free_call(struct st_pool_task *task) {
	free(task);
}

static bool submit_call(struct st_mcp_executor *executor, struct st_mcp_task *mcp_task) {
	struct st_executor *self = (struct st_executor *)executor;
	struct call *call = calloc(1, sizeof *call);
	if (!call)
		return false;
	call->task = (struct st_pool_task){
		.run = run_call, .done = free_call, .keys = {mcp_task->keys[0], mcp_task->keys[1]}};
	call->mcp_task = mcp_task;
	if (st_pool_submit(self->pool, &call->task))
		return true;
	free(call);
	return false;
}

void st_executor_init(struct st_executor *executor, struct st_pool *pool) {
	*executor = (struct st_executor){.executor.submit = submit_call, .pool = pool};
}
