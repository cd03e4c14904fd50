/**
 * A small pool of threads for work that may block: tool calls.
 *
 * A job has up to ST_POOL_KEYS keys, such as its session and its file. Jobs
 * that share a key run one after the other, in the order they were given;
 * others run side by side. So a hung mount holds up the calls that touch it,
 * and a session's calls keep their order.
 *
 * Threads are made when first needed. There are few; when all of them have
 * been stuck for a while st_pool_tend() adds further ones.
 *
 *     job->run = call_tool;    // on a thread of the pool
 *     job->done = answer;      // then, on the loop's thread
 *     job->keys[0] = session_key;
 *     if (!st_pool_submit(pool, job))
 *             ...              // too much is waiting already: say so
 */
#ifndef STET_NET_POOL_H
#define STET_NET_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/loop.h"

enum {
	ST_POOL_KEYS = 2,
	/** How many jobs may wait or run at once. */
	ST_POOL_JOBS_MAX = 4096,
	/** How many threads there are at most, stuck ones included. */
	ST_POOL_THREADS_MAX = 64,
};

struct st_pool;

/** A job; part of what it is about. All but the first three members are the pool's. */
struct st_pool_task {
	/** On a thread of the pool. */
	void (*run)(struct st_pool_task *task);
	/** Afterwards, on the loop's thread; may free the job. */
	void (*done)(struct st_pool_task *task);
	/** What it must not share with a job at work; 0 for none. */
	uint64_t keys[ST_POOL_KEYS];

	struct st_task task;
	struct st_pool_task *next, *previous, *next_ready;
	/* Unfinished jobs before it that share a key. */
	size_t blockers;
};

/** What a pool is doing. */
struct st_pool_load {
	size_t running, waiting, threads;
};

/**
 * A pool that reports to a loop.
 *
 * @threads  How many threads there are unless all of them are stuck; 0 for as
 *           many as fit this machine.
 * @return   0 or STET_E_NOMEM.
 */
[[nodiscard]] int st_pool_new(struct st_loop *loop, size_t threads, struct st_pool **out,
                              struct stet_error *err);

/** Free a pool, when the jobs it was given have run; they are not reported any more. */
void st_pool_free(struct st_pool *pool);

/**
 * Give it a job; only from the loop's thread.
 *
 * @return False, and nothing will happen, if too many wait already or no
 *         thread can be made.
 */
[[nodiscard]] bool st_pool_submit(struct st_pool *pool, struct st_pool_task *task);

/** Look after it, a few times a second: where nothing moves, add a thread. */
void st_pool_tend(struct st_pool *pool);

struct st_pool_load st_pool_load(struct st_pool *pool);

#endif
