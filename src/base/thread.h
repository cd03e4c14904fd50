/**
 * Threads of the library. They take no signals: those are the program's.
 */
#ifndef STET_BASE_THREAD_H
#define STET_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/** Start a thread that is to be joined; false if there can be none. */
[[nodiscard]] bool st_thread_start(pthread_t *thread, void *(*run)(void *), void *arg);

#endif
