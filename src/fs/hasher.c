#include "fs/hasher.h"

#include <sched.h>

/*
 * A thread that is woken is put on the core of whoever woke it, if the kernel
 * takes the others for asleep, as it does in virtual machines; then it would
 * only stop him. So it keeps off that core.
 */
static void keep_off(struct st_hasher *hasher, int core) {
	if (core == hasher->avoided || core < 0)
		return;
	cpu_set_t cores = hasher->cores;
	CPU_CLR((size_t)core, &cores);
	(void)pthread_setaffinity_np(hasher->worker.thread, sizeof cores, &cores);
	hasher->avoided = core;
}

static void *work(void *data) {
	struct st_hasher *hasher = data;
	pthread_mutex_lock(&hasher->lock);
	while (!hasher->stop) {
		if (hasher->state != ST_HASHER_ASKED) {
			pthread_cond_wait(&hasher->asked, &hasher->lock);
			continue;
		}
		hasher->state = ST_HASHER_BUSY;
		pthread_mutex_unlock(&hasher->lock);
		int code = st_hash_of(hasher->bytes, &hasher->hash, NULL);
		pthread_mutex_lock(&hasher->lock);
		hasher->code = code;
		hasher->state = ST_HASHER_DONE;
		pthread_cond_signal(&hasher->done);
	}
	pthread_mutex_unlock(&hasher->lock);
	return NULL;
}

void st_hasher_init(struct st_hasher *hasher) {
	*hasher = (struct st_hasher){0};
	pthread_mutex_init(&hasher->lock, NULL);
	pthread_cond_init(&hasher->asked, NULL);
	pthread_cond_init(&hasher->done, NULL);
	hasher->avoided = -1;
	if (sched_getaffinity(0, sizeof hasher->cores, &hasher->cores) < 0)
		CPU_ZERO(&hasher->cores);
}

void st_hasher_release(struct st_hasher *hasher) {
	if (st_worker_is_elsewhere(&hasher->worker))
		return;
	pthread_mutex_lock(&hasher->lock);
	hasher->stop = true;
	pthread_cond_signal(&hasher->asked);
	pthread_mutex_unlock(&hasher->lock);
	st_worker_join(&hasher->worker);
	pthread_cond_destroy(&hasher->done);
	pthread_cond_destroy(&hasher->asked);
	pthread_mutex_destroy(&hasher->lock);
}

/* Hand bytes to the thread; false if it has others, or there is none. */
static bool ask(struct st_hasher *hasher, struct st_str bytes) {
	if (bytes.len < ST_HASHER_MIN || CPU_COUNT(&hasher->cores) < 2 ||
	    st_worker_is_elsewhere(&hasher->worker))
		return false;
	pthread_mutex_lock(&hasher->lock);
	bool takes = hasher->state == ST_HASHER_FREE && st_worker_begin(&hasher->worker, work, hasher);
	if (takes) {
		hasher->state = ST_HASHER_ASKED;
		hasher->bytes = bytes;
		keep_off(hasher, sched_getcpu());
	}
	pthread_mutex_unlock(&hasher->lock);
	if (takes)
		pthread_cond_signal(&hasher->asked);
	return takes;
}

/* Take the bytes back. Whether they were hashed. */
static bool take(struct st_hashing *hashing) {
	struct st_hasher *hasher = hashing->hasher;
	pthread_mutex_lock(&hasher->lock);
	while (hasher->state == ST_HASHER_BUSY)
		pthread_cond_wait(&hasher->done, &hasher->lock);
	bool hashed = hasher->state == ST_HASHER_DONE && hasher->code == 0;
	if (hashed)
		hashing->hash = hasher->hash;
	hasher->state = ST_HASHER_FREE;
	pthread_mutex_unlock(&hasher->lock);
	hashing->hasher = NULL;
	return hashed;
}

void st_hashing_begin(struct st_hashing *hashing, struct st_hasher *hasher, struct st_str bytes) {
	*hashing = (struct st_hashing){.bytes = bytes, .hasher = ask(hasher, bytes) ? hasher : NULL};
}

int st_hashing_end(struct st_hashing *hashing, struct st_hash *hash, struct stet_error *err) {
	if (!hashing->known && hashing->hasher)
		hashing->known = take(hashing);
	if (!hashing->known) {
		int code = st_hash_of(hashing->bytes, &hashing->hash, err);
		if (code < 0)
			return code;
		hashing->known = true;
	}
	*hash = hashing->hash;
	return 0;
}

void st_hashing_release(struct st_hashing *hashing) {
	if (hashing->hasher)
		(void)take(hashing);
}
