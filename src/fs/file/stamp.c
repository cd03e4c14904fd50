#include "fs/file/stamp.h"

#include <time.h>

#include "fs/path/trust.h"

#define NS_PER_S 1000000000

/* Times that do not fit wrap around, which is good enough to tell them apart. */
static int64_t to_ns(struct timespec time) {
	return (int64_t)((uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec);
}

/*
 * ext3, and ext4 with small inodes, store whole seconds only. No program can
 * set ctime, and by chance it rarely falls on a whole second.
 */
static bool is_whole_second(const struct st_stamp *stamp) {
	return stamp->ctime_ns % NS_PER_S == 0;
}

/* Another write after this moment may leave the times unchanged. */
static int64_t racy_since(int fd, const struct st_stamp *stamp) {
	struct timespec now, tick;
	enum st_trust trust = st_trust_of(fd, (dev_t)stamp->dev);
	/* A writer behind the kernel's back may never change the times that we see. */
	if (trust == ST_TRUST_NONE)
		return INT64_MIN;
	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	if (trust == ST_TRUST_COARSE || is_whole_second(stamp))
		return to_ns(now) - 2 * (int64_t)NS_PER_S;
	clock_getres(CLOCK_REALTIME_COARSE, &tick);
	return to_ns(now) - 2 * to_ns(tick);
}

struct st_stamp st_stamp_of(const struct stat *st) {
	return (struct st_stamp){
		.dev = st->st_dev,
		.ino = st->st_ino,
		.size = (uint64_t)st->st_size,
		.mtime_ns = to_ns(st->st_mtim),
		.ctime_ns = to_ns(st->st_ctim),
	};
}

struct st_stamp st_stamp_take(int fd, const struct stat *st) {
	struct st_stamp stamp = st_stamp_of(st);
	int64_t since = racy_since(fd, &stamp);
	stamp.racy = stamp.mtime_ns >= since || stamp.ctime_ns >= since;
	return stamp;
}

bool st_stamp_written_just_now(int fd, const struct st_stamp *stamp) {
	return stamp->mtime_ns >= racy_since(fd, stamp);
}

bool st_stamp_eq_content(const struct st_stamp *a, const struct st_stamp *b) {
	return a->dev == b->dev && a->ino == b->ino && a->size == b->size && a->mtime_ns == b->mtime_ns;
}

bool st_stamp_eq(const struct st_stamp *a, const struct st_stamp *b) {
	return st_stamp_eq_content(a, b) && a->ctime_ns == b->ctime_ns;
}
