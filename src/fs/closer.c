#include "fs/closer.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

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

static void finish(const struct st_closing *file) {
	if (file->new)
		(void)sync_file_range(file->fd, 0, 0, SYNC_FILE_RANGE_WRITE);
	close(file->fd);
}

static void *work(void *data) {
	struct st_closer *closer = data;
	pthread_mutex_lock(&closer->lock);
	while (!closer->stop) {
		if (closer->count == 0) {
			rest(closer);
			continue;
		}
		struct st_closing file = closer->files[0];
		memmove(closer->files, closer->files + 1, --closer->count * sizeof file);
		closer->busy = true;
		pthread_mutex_unlock(&closer->lock);
		finish(&file);
		pthread_mutex_lock(&closer->lock);
		closer->busy = false;
	}
	pthread_mutex_unlock(&closer->lock);
	return NULL;
}

void st_closer_init(struct st_closer *closer, size_t most) {
	*closer = (struct st_closer){.most = most < ST_CLOSER_MAX ? most : ST_CLOSER_MAX};
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
		finish(&closer->files[--closer->count]);
	pthread_cond_destroy(&closer->wake);
	pthread_mutex_destroy(&closer->lock);
}

static void take(struct st_closer *closer, struct st_closing file) {
	if (st_worker_is_elsewhere(&closer->worker)) {
		finish(&file);
		return;
	}
	pthread_mutex_lock(&closer->lock);
	bool waits = closer->count < closer->most && st_worker_begin(&closer->worker, work, closer);
	if (waits) {
		closer->files[closer->count++] = file;
		if (closer->asleep)
			pthread_cond_signal(&closer->wake);
	}
	pthread_mutex_unlock(&closer->lock);
	if (!waits)
		finish(&file);
}

void st_closer_take(struct st_closer *closer, int fd) {
	take(closer, (struct st_closing){.fd = fd});
}

void st_closer_take_new(struct st_closer *closer, int fd) {
	take(closer, (struct st_closing){.fd = fd, .new = true});
}

static bool is_settled(struct st_closer *closer) {
	pthread_mutex_lock(&closer->lock);
	bool settled = closer->count == 0 && !closer->busy;
	pthread_mutex_unlock(&closer->lock);
	return settled;
}

void st_closer_settle(struct st_closer *closer) {
	enum { LOOKS = 100 };
	if (st_worker_is_elsewhere(&closer->worker))
		return;
	for (int i = 0; i < LOOKS && !is_settled(closer); i++)
		st_sleep_ms(1);
}
