#include "net/work.h"

#include <stdlib.h>

struct task {
	struct st_job job;
	struct st_mcp_job *work;
};

static void run(struct st_job *job) {
	struct task *task = (struct task *)job;
	task->work->run(task->work);
}

static void done(struct st_job *job) {
	free(job);
}

static bool submit(struct st_mcp_executor *executor, struct st_mcp_job *work) {
	struct st_work *self = (struct st_work *)executor;
	struct task *task = calloc(1, sizeof *task);
	if (!task)
		return false;
	task->job = (struct st_job){.run = run, .done = done, .keys = {work->keys[0], work->keys[1]}};
	task->work = work;
	if (st_pool_submit(self->pool, &task->job))
		return true;
	free(task);
	return false;
}

void st_work_init(struct st_work *work, struct st_pool *pool) {
	*work = (struct st_work){.executor.submit = submit, .pool = pool};
}
