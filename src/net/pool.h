/**
 * A small pool of threads for tasks that may block: tool calls.
 *
 * A task has up to ST_POOL_KEYS keys, such as its session and its file. Tasks
 * that share a key run one after the other, in the order of submission; others
 * run in parallel. So the calls of a session keep their order, and a hung mount
 * only delays the calls that use it.
 *
 * Threads are started when needed. There are few; if all of them are stuck,
 * st_pool_tick() adds more.
 *
 *     task->run = call_tool;       // on a thread of the pool
 *     task->done = send_answer;    // then, on the loop's thread
 *     task->keys[0] = session_key;
 *     if (!st_pool_submit(pool, task))
 *             return st_fail(err, STET_E_LIMIT, "Too many calls are waiting.");
 */
#ifndef STET_NET_POOL_H
#define STET_NET_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/loop.h"
#include "mcp/protocol/peer.h"

enum {
	ST_POOL_KEYS = 2,
	/** The most tasks that wait or run. */
	ST_POOL_TASKS_MAX = 4096,
	/** The most threads, including stuck ones. */
	ST_POOL_THREADS_MAX = 64,
};

struct st_pool;

/** A task, to be embedded in a struct. The caller sets the first three members. */
struct st_pool_task {
	/** Called on a thread of the pool. */
	void (*run)(struct st_pool_task *task);
	/** Called afterwards on the loop's thread; may free the task. */
	void (*done)(struct st_pool_task *task);
	/** 0 if unused. */
	uint64_t keys[ST_POOL_KEYS];

	struct st_task task;
	struct st_pool_task *next, *previous, *next_ready;
	/* The number of unfinished earlier tasks that share a key. */
	size_t blockers;
};

/** The numbers of running and waiting tasks, and of threads. */
struct st_pool_load {
	size_t running, waiting, threads;
};

/**
 * Make a pool that calls done() on a loop.
 *
 * @threads  The number of threads, unless all of them are stuck; 0 to choose it
 *           by the number of processors.
 * @return   0 or STET_E_NOMEM.
 */
[[nodiscard]] int st_pool_new(struct st_loop *loop, size_t threads, struct st_pool **out,
                              struct stet_error *err);

/** Wait for all tasks, then free the pool. It no longer calls done(). */
void st_pool_free(struct st_pool *pool);

/**
 * Submit a task; only on the loop's thread.
 *
 * @return False if too many tasks wait or no thread can be started; the task then
 *         does not run.
 */
[[nodiscard]] bool st_pool_submit(struct st_pool *pool, struct st_pool_task *task);

/** Add a thread if all are stuck; to be called a few times a second. */
void st_pool_tick(struct st_pool *pool);

struct st_pool_load st_pool_load(struct st_pool *pool);

/** An executor for an MCP server that runs tasks on a pool. */
struct st_executor {
	struct st_mcp_executor executor;
	struct st_pool *pool;
};

/** Initialize an executor. Only the loop's thread may then pass messages to the server. */
void st_executor_init(struct st_executor *executor, struct st_pool *pool);

#endif
