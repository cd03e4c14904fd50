/*
 * Progress: a thread that wakes up after half a second and prints, so that the
 * code that does the work need not report anything.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "cli/output.h"

/* Print nothing for half a second, then update five times a second. */
enum { QUIET_MS = 500, TICK_MS = 200 };

static struct {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t stop;
	bool running;
	bool stopping;
	const char *what;
	atomic_size_t count;
} state = {.lock = PTHREAD_MUTEX_INITIALIZER, .stop = PTHREAD_COND_INITIALIZER};

/* Wait, with the lock held. Returns true if the thread has to stop. */
static bool wait_ms(long ms) {
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += ms * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	while (!state.stopping && pthread_cond_timedwait(&state.stop, &state.lock, &until) == 0)
		;
	return state.stopping;
}

static void *print_progress(void *unused) {
	pthread_mutex_lock(&state.lock);
	bool visible = false;
	for (long ms = QUIET_MS; !wait_ms(ms); ms = TICK_MS) {
		size_t count = atomic_load(&state.count);
		if (count > 0)
			fprintf(stderr, "\r%s: %zu ", state.what, count);
		else
			fprintf(stderr, "\r%s ...", state.what);
		visible = true;
	}
	if (visible)
		fputs("\r\033[K", stderr);
	pthread_mutex_unlock(&state.lock);
	return unused;
}

void progress_begin(const char *what) {
	if (state.running || !isatty(STDERR_FILENO))
		return;
	state.what = what;
	state.stopping = false;
	atomic_store(&state.count, 0);
	state.running = pthread_create(&state.thread, NULL, print_progress, NULL) == 0;
}

void progress_count(size_t count) {
	atomic_store(&state.count, count);
}

void progress_end(void) {
	if (!state.running)
		return;
	pthread_mutex_lock(&state.lock);
	state.stopping = true;
	pthread_cond_signal(&state.stop);
	pthread_mutex_unlock(&state.lock);
	pthread_join(state.thread, NULL);
	state.running = false;
}
