#include "fs/stamp.h"

#include <linux/magic.h>
#include <stddef.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <time.h>

#define NS_PER_S 1000000000

/* Not in every linux/magic.h. */
#define MAGIC_CIFS 0xFF534D42u
#define MAGIC_EXFAT 0x2011BAB0u
#define MAGIC_FUSE 0x65735546u
#define MAGIC_SMB2 0xFE534D42u

/* Some filesystems take years that do not fit; those wrap around, and differ all the same. */
static int64_t to_ns(struct timespec time) {
	return (int64_t)((uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec);
}

/* How fine a filesystem's times are. */
enum grain {
	/* They stand still within a tick of the clock. */
	GRAIN_TICK,
	/* They may be whole or even seconds, or of another machine's clock. */
	GRAIN_COARSE,
};

static enum grain grain_of(int fd) {
	struct statfs fs;
	if (fd < 0 || fstatfs(fd, &fs) < 0)
		return GRAIN_TICK;
	switch ((uint32_t)fs.f_type) {
	case NFS_SUPER_MAGIC:
	case MSDOS_SUPER_MAGIC:
	case V9FS_MAGIC:
	case MAGIC_CIFS:
	case MAGIC_EXFAT:
	case MAGIC_FUSE:
	case MAGIC_SMB2:
		return GRAIN_COARSE;
	default:
		return GRAIN_TICK;
	}
}

/*
 * Asking the filesystem costs a system call. A block device keeps its number
 * and its filesystem while it is mounted; the numbers of all others come and go.
 */
static enum grain grain_of_device(int fd, dev_t dev) {
	static _Thread_local dev_t last;
	static _Thread_local bool known;
	static _Thread_local enum grain grain;
	if (major(dev) == 0)
		return grain_of(fd);
	if (!known || last != dev) {
		grain = grain_of(fd);
		known = fd >= 0;
		last = dev;
	}
	return grain;
}

/*
 * A ctime, which nobody can set, without a fraction: an ext3, or an ext4 with
 * small inodes, has room for whole seconds only. By chance it is rare.
 */
static bool is_whole_second(const struct st_stamp *stamp) {
	return stamp->ctime_ns % NS_PER_S == 0;
}

/* The moment after which a change may have left no trace in the times. */
static int64_t racy_since(int fd, const struct st_stamp *stamp) {
	struct timespec now, tick;
	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	enum grain grain = grain_of_device(fd, (dev_t)stamp->dev);
	switch (is_whole_second(stamp) ? GRAIN_COARSE : grain) {
	case GRAIN_COARSE:
		return to_ns(now) - 2 * (int64_t)NS_PER_S;
	default:
		clock_getres(CLOCK_REALTIME_COARSE, &tick);
		return to_ns(now) - 2 * to_ns(tick);
	}
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
