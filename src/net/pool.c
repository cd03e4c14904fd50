#include "net/pool.h"

#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/thread.h"

struct st_pool {
	struct st_loop *loop;
	pthread_mutex_t lock;
	/* A task is ready, or the pool is closing. */
	pthread_cond_t ready_or_closing;
	/* A thread has ended. */
	pthread_cond_t ended;
	bool closing;
	/* All unfinished tasks, in the order of submission. */
	struct st_pool_task *first, *last;
	size_t count;
	/* The tasks that no other task blocks. */
	struct st_pool_task *ready, **ready_last;
	size_t usual, threads, idle, running;
	/* The thread that ended last, if any. Each thread joins the one that ended before it. */
	bool any_ended;
	pthread_t last_ended;
	/* The number of finished tasks, now and at the last tick. */
	uint64_t finished, finished_at_tick;
};

static bool share_key(const struct st_pool_task *a, const struct st_pool_task *b) {
	for (size_t i = 0; i < ST_POOL_KEYS; i++) {
		for (size_t j = 0; j < ST_POOL_KEYS; j++) {
			if (a->keys[i] != 0 && a->keys[i] == b->keys[j])
				return true;
		}
	}
	return false;
}

static void make_ready(struct st_pool *pool, struct st_pool_task *task) {
	task->next_ready = NULL;
	*pool->ready_last = task;
	pool->ready_last = &task->next_ready;
	pthread_cond_signal(&pool->ready_or_closing);
}

static struct st_pool_task *take_ready(struct st_pool *pool) {
	struct st_pool_task *task = pool->ready;
	if (!task)
		return NULL;
	pool->ready = task->next_ready;
	if (!pool->ready)
		pool->ready_last = &pool->ready;
	return task;
}

static void queue_task(struct st_pool *pool, struct st_pool_task *task) {
	task->blockers = 0;
	for (struct st_pool_task *other = pool->first; other; other = other->next)
		task->blockers += share_key(task, other);
	task->next = NULL;
	task->previous = pool->last;
	*(pool->last ? &pool->last->next : &pool->first) = task;
	pool->last = task;
	pool->count++;
}

static void finish_task(struct st_pool *pool, struct st_pool_task *task) {
	*(task->previous ? &task->previous->next : &pool->first) = task->next;
	*(task->next ? &task->next->previous : &pool->last) = task->previous;
	assert(task->blockers == 0);
	pool->count--;
	pool->finished++;
	for (struct st_pool_task *other = task->next; other; other = other->next) {
		if (share_key(task, other) && --other->blockers == 0)
			make_ready(pool, other);
	}
}

static void call_done(struct st_task *queued) {
	struct st_pool_task *task =
		(struct st_pool_task *)((char *)queued - offsetof(struct st_pool_task, task));
	task->done(task);
}

/* Wait for the next task. NULL if the thread should end. */
static struct st_pool_task *next_task(struct st_pool *pool) {
	struct st_pool_task *task;
	while (!(task = take_ready(pool)) && !pool->closing && pool->threads <= pool->usual) {
		pool->idle++;
		pthread_cond_wait(&pool->ready_or_closing, &pool->lock);
		pool->idle--;
	}
	return task;
}

static void *run_pool_tasks(void *arg) {
	struct st_pool *pool = arg;
	pthread_mutex_lock(&pool->lock);
	for (struct st_pool_task *task; (task = next_task(pool));) {
		pool->running++;
		pthread_mutex_unlock(&pool->lock);
		task->run(task);
		pthread_mutex_lock(&pool->lock);
		pool->running--;
		finish_task(pool, task);
		task->task.run = call_done;
		st_loop_queue(pool->loop, &task->task);
	}
	bool any_before = pool->any_ended;
	pthread_t before = pool->last_ended;
	pool->any_ended = true;
	pool->last_ended = pthread_self();
	pool->threads--;
	pthread_cond_signal(&pool->ended);
	pthread_mutex_unlock(&pool->lock);
	if (any_before)
		pthread_join(before, NULL);
	return NULL;
}

static bool add_thread(struct st_pool *pool) {
	pthread_t thread;
	bool made = st_thread_start(&thread, run_pool_tasks, pool);
	pool->threads += made;
	return made;
}

static size_t default_threads(void) {
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	return cores < 2 ? 4 : cores > 8 ? 16 : (size_t)cores * 2;
}

int st_pool_new(struct st_loop *loop, size_t threads, struct st_pool **out,
                struct stet_error *err) {
	struct st_pool *pool = calloc(1, sizeof *pool);
	if (!pool)
		return st_fail_nomem(err);
	pool->loop = loop;
	pool->usual = threads ? threads : default_threads();
	pool->ready_last = &pool->ready;
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->ready_or_closing, NULL);
	pthread_cond_init(&pool->ended, NULL);
	*out = pool;
	return 0;
}

/*
 * Join all threads: before that, libraries still free their thread-local data,
 * which must not happen while the process exits.
 */
void st_pool_free(struct st_pool *pool) {
	if (!pool)
		return;
	pthread_mutex_lock(&pool->lock);
	pool->closing = true;
	pthread_cond_broadcast(&pool->ready_or_closing);
	while (pool->threads > 0)
		pthread_cond_wait(&pool->ended, &pool->lock);
	pthread_mutex_unlock(&pool->lock);
	if (pool->any_ended)
		pthread_join(pool->last_ended, NULL);
	pthread_cond_destroy(&pool->ended);
	pthread_cond_destroy(&pool->ready_or_closing);
	pthread_mutex_destroy(&pool->lock);
	free(pool);
}

bool st_pool_submit(struct st_pool *pool, struct st_pool_task *task) {
	pthread_mutex_lock(&pool->lock);
	bool accepted = pool->count < ST_POOL_TASKS_MAX;
	if (accepted && pool->idle == 0 && pool->threads < pool->usual)
		accepted = add_thread(pool) || pool->threads > 0;
	if (accepted) {
		queue_task(pool, task);
		if (task->blockers == 0)
			make_ready(pool, task);
	}
	pthread_mutex_unlock(&pool->lock);
	return accepted;
}

void st_pool_tick(struct st_pool *pool) {
	pthread_mutex_lock(&pool->lock);
	bool stuck = pool->ready && pool->idle == 0 && pool->finished_at_tick == pool->finished;
	pool->finished_at_tick = pool->finished;
	if (stuck && pool->threads < ST_POOL_THREADS_MAX)
		add_thread(pool);
	pthread_mutex_unlock(&pool->lock);
}

struct st_pool_load st_pool_load(struct st_pool *pool) {
	pthread_mutex_lock(&pool->lock);
	struct st_pool_load load = {
		.running = pool->running,
		.waiting = pool->count - pool->running,
		.threads = pool->threads,
	};
	pthread_mutex_unlock(&pool->lock);
	return load;
}

/* ---- an executor for an MCP server ---- */

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
