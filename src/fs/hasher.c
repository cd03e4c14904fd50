#include "fs/hasher.h"

#include <sched.h>

#include "base/clock.h"

/*
 * A thread that is woken is put on the core of whoever woke it, if the kernel
 * takes the others for asleep, as it does in virtual machines; then it would
 * only stop him. So it keeps to the other cores that he may use.
 */
static bool find_cores(cpu_set_t *cores) {
	int own = sched_getcpu();
	if (own < 0 || sched_getaffinity(0, sizeof *cores, cores) < 0)
		return false;
	CPU_CLR((size_t)own, cores);
	return CPU_COUNT(cores) > 0;
}

static bool keep_to(struct st_hasher *hasher, const cpu_set_t *cores) {
	if (CPU_EQUAL(cores, &hasher->cores))
		return true;
	if (pthread_setaffinity_np(hasher->worker.thread, sizeof *cores, cores) != 0)
		return false;
	hasher->cores = *cores;
	return true;
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
	cpu_set_t cores;
	if (bytes.len < ST_HASHER_MIN || bytes.len > ST_HASHER_MAX ||
	    st_worker_is_elsewhere(&hasher->worker) || !find_cores(&cores))
		return false;
	pthread_mutex_lock(&hasher->lock);
	bool takes = hasher->state == ST_HASHER_FREE &&
	             st_worker_begin(&hasher->worker, work, hasher) && keep_to(hasher, &cores);
	if (takes) {
		hasher->state = ST_HASHER_ASKED;
		hasher->bytes = bytes;
	}
	pthread_mutex_unlock(&hasher->lock);
	if (takes)
		pthread_cond_signal(&hasher->asked);
	return takes;
}

/* To go to sleep and be woken takes about as long, so that the rest of a short text is awaited awake. */
enum { AWAKE_US = 50 };

static void stay_awake(const struct st_hasher *hasher) {
	int64_t until = st_now_us() + AWAKE_US;
	while (hasher->state == ST_HASHER_BUSY && st_now_us() < until)
		continue;
}

/* Take the bytes back. Whether they were hashed. */
static bool take(struct st_hashing *hashing) {
	struct st_hasher *hasher = hashing->hasher;
	stay_awake(hasher);
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
		int code = st_hash_watched(hashing->bytes, &hashing->hash, err);
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
