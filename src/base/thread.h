/**
 * Threads. They block all signals, so that the program's own threads receive them.
 */
#ifndef STET_BASE_THREAD_H
#define STET_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/** Start a thread, to be joined; false if that fails. */
[[nodiscard]] bool st_thread_start(pthread_t *thread, void *(*run)(void *), void *arg);

/** Initialize a condition variable that uses the monotonic clock for timeouts. */
void st_cond_init(pthread_cond_t *cond);

/** The timeout for such a condition variable: this many milliseconds from now. */
struct timespec st_cond_deadline(int64_t ms);

/** A thread that is started when first needed. Zeroed before. A forked child does not have it. */
struct st_worker {
	pthread_t thread;
	/** The process that started it; atomic, because it is read without a lock too. */
	_Atomic pid_t begun_by;
};

/** Start the thread unless it runs. Returns whether it runs in this process. */
bool st_worker_begin(struct st_worker *worker, void *(*run)(void *), void *arg);

/** Whether this process is a forked child of the one that started it: a lock may then be held forever. */
bool st_worker_is_elsewhere(const struct st_worker *worker);

/** Join the thread, if it runs in this process. */
void st_worker_join(const struct st_worker *worker);

#endif
