#include "fs/closer.h"

#include <unistd.h>

/* How often it looks for another file by itself, and how long in between. */
enum { NAPS = 50, NAP_MS = 2 };

static void nap(struct st_closer *closer) {
	struct timespec until = st_cond_deadline(NAP_MS);
	pthread_cond_timedwait(&closer->wake, &closer->lock, &until);
}

/* Wait for a file, or the end. */
static void rest(struct st_closer *closer) {
	for (int i = 0; i < NAPS && closer->count == 0 && !closer->stop; i++)
		nap(closer);
	closer->asleep = true;
	while (closer->count == 0 && !closer->stop)
		pthread_cond_wait(&closer->wake, &closer->lock);
	closer->asleep = false;
}

static void *work(void *data) {
	struct st_closer *closer = data;
	pthread_mutex_lock(&closer->lock);
	while (!closer->stop) {
		if (closer->count == 0) {
			rest(closer);
			continue;
		}
		int fd = closer->fds[--closer->count];
		pthread_mutex_unlock(&closer->lock);
		close(fd);
		pthread_mutex_lock(&closer->lock);
	}
	pthread_mutex_unlock(&closer->lock);
	return NULL;
}

void st_closer_init(struct st_closer *closer) {
	*closer = (struct st_closer){0};
	pthread_mutex_init(&closer->lock, NULL);
	st_cond_init(&closer->wake);
}

void st_closer_release(struct st_closer *closer) {
	if (st_worker_is_elsewhere(&closer->worker))
		return;
	pthread_mutex_lock(&closer->lock);
	closer->stop = true;
	pthread_cond_signal(&closer->wake);
	pthread_mutex_unlock(&closer->lock);
	st_worker_join(&closer->worker);
	while (closer->count > 0)
		close(closer->fds[--closer->count]);
	pthread_cond_destroy(&closer->wake);
	pthread_mutex_destroy(&closer->lock);
}

void st_closer_take(struct st_closer *closer, int fd) {
	if (st_worker_is_elsewhere(&closer->worker)) {
		close(fd);
		return;
	}
	pthread_mutex_lock(&closer->lock);
	bool waits = closer->count < ST_CLOSER_MAX && st_worker_begin(&closer->worker, work, closer);
	if (waits) {
		closer->fds[closer->count++] = fd;
		if (closer->asleep)
			pthread_cond_signal(&closer->wake);
	}
	pthread_mutex_unlock(&closer->lock);
	if (!waits)
		close(fd);
}
