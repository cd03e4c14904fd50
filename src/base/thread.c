#include "base/thread.h"

#include <signal.h>

/* Block signals before creating the thread: it inherits the mask, so that none can arrive too early. */
bool st_thread_start(pthread_t *thread, void *(*run)(void *), void *arg) {
	sigset_t all, before;
	sigfillset(&all);
	if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0)
		return false;
	bool started = pthread_create(thread, NULL, run, arg) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return started;
}

void st_cond_init(pthread_cond_t *cond) {
	pthread_condattr_t clock;
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &clock);
	pthread_condattr_destroy(&clock);
}

struct timespec st_cond_deadline(int64_t ms) {
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	int64_t ns = time.tv_nsec + ms % 1000 * 1000000;
	time.tv_sec += ms / 1000 + ns / 1000000000;
	time.tv_nsec = ns % 1000000000;
	return time;
}
