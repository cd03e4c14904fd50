/**
 * Threads. They block all signals, so that the program's own threads receive them.
 */
#ifndef STET_BASE_THREAD_H
#define STET_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/** Start a thread, to be joined; false if that fails. */
[[nodiscard]] bool st_thread_start(pthread_t *thread, void *(*run)(void *), void *arg);

/** Initialize a condition variable that uses the monotonic clock for timeouts. */
void st_cond_init(pthread_cond_t *cond);

/** The timeout for such a condition variable: this many milliseconds from now. */
struct timespec st_cond_deadline(int64_t ms);

#endif
