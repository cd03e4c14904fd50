#include "fs/closer.h"

#include <unistd.h>

static void *work(void *data) {
	struct st_closer *closer = data;
	pthread_mutex_lock(&closer->lock);
	while (!closer->stop) {
		if (closer->count == 0) {
			pthread_cond_wait(&closer->wake, &closer->lock);
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
	pthread_cond_init(&closer->wake, NULL);
}

void st_closer_release(struct st_closer *closer) {
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
	pthread_mutex_lock(&closer->lock);
	bool waits = closer->count < ST_CLOSER_MAX && st_worker_begin(&closer->worker, work, closer);
	if (waits) {
		closer->fds[closer->count++] = fd;
		pthread_cond_signal(&closer->wake);
	}
	pthread_mutex_unlock(&closer->lock);
	if (!waits)
		close(fd);
}
