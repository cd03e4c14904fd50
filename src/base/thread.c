#include "base/thread.h"

#include <signal.h>

/* A thread inherits what is blocked, so that no signal can come before it has blocked them. */
bool st_thread_start(pthread_t *thread, void *(*run)(void *), void *arg) {
	sigset_t all, before;
	sigfillset(&all);
	if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0)
		return false;
	bool started = pthread_create(thread, NULL, run, arg) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return started;
}
