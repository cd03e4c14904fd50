/**
 * Threads of the library. They take no signals: those are the program's.
 */
#ifndef STET_BASE_THREAD_H
#define STET_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/** Start a thread that is to be joined; false if there can be none. */
[[nodiscard]] bool st_thread_start(pthread_t *thread, void *(*run)(void *), void *arg);

/** Fill a condition that is waited for by the monotonic clock, whatever becomes of the time of day. */
void st_cond_init(pthread_cond_t *cond);

/** Until when to wait for such a condition: so many milliseconds from now. */
struct timespec st_cond_deadline(int64_t ms);

/** A thread that begins when it is first needed; zero before. A forked child does not have it. */
struct st_worker {
	pthread_t thread;
	/** The process that began it; looked at without a lock, too. */
	_Atomic pid_t begun_by;
};

/** Begin unless it has begun. Returns whether it is there, in this process. */
bool st_worker_begin(struct st_worker *worker, void *(*run)(void *), void *arg);

/** Whether it began in another process, from which this one was forked: its lock may never be free again. */
bool st_worker_is_elsewhere(const struct st_worker *worker);

/** Wait for its end, where it is. */
void st_worker_join(const struct st_worker *worker);

#endif
