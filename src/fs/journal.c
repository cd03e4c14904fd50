#include "fs/journal.h"

#include <limits.h>
#include <linux/magic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "base/auto.h"
#include "fs/sys.h"

/* Each answers 1 for yes, 0 for no, -1 if it could not be found out this time. */
static int no_or_failed(void) {
	return errno == ENOENT || errno == EACCES ? 0 : -1;
}

/* The name of a block device, as the kernel's own messages have it. */
static int device_name(dev_t dev, char *name, size_t size) {
	char link[64], target[PATH_MAX];
	snprintf(link, sizeof link, "/sys/dev/block/%u:%u", major(dev), minor(dev));
	ssize_t len = st_retry(readlinkat(AT_FDCWD, link, target, sizeof target - 1));
	if (len < 0)
		return no_or_failed();
	target[len] = '\0';
	const char *slash = strrchr(target, '/');
	return (size_t)snprintf(name, size, "%s", slash ? slash + 1 : target) < size;
}

/* Whether there is a journal, on the device itself: one on another is listed by that one's name. */
static int has_journal(const char *device) {
	char path[NAME_MAX + 32];
	snprintf(path, sizeof path, "/proc/fs/jbd2/%s-8", device);
	return st_retry(faccessat(AT_FDCWD, path, F_OK, 0)) == 0 ? 1 : no_or_failed();
}

/* Whether bytes are written to their place, and not by way of the journal, or in no order at all. */
static int is_ordered(const char *device) {
	char path[NAME_MAX + 32], options[4096];
	snprintf(path, sizeof path, "/proc/fs/ext4/%s/options", device);
	st_autofd fd = st_retry(openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC));
	if (fd < 0)
		return no_or_failed();
	ssize_t len = st_retry(read(fd, options, sizeof options - 1));
	if (len < 0)
		return -1;
	options[len] = '\0';
	return strstr(options, "\ndata=ordered\n") != NULL;
}

static int ask(int dirfd, dev_t dev) {
	struct statfs fs;
	char device[NAME_MAX + 1];
	if (fstatfs(dirfd, &fs) < 0)
		return -1;
	int found = fs.f_type == EXT4_SUPER_MAGIC;
	if (found == 1)
		found = device_name(dev, device, sizeof device);
	if (found == 1)
		found = has_journal(device);
	return found == 1 ? is_ordered(device) : found;
}

/* Since Linux 6.8; not in every linux/stat.h. */
#ifndef STATX_MNT_ID_UNIQUE
#define STATX_MNT_ID_UNIQUE 0x4000U
#endif

/*
 * To ask takes a while, and the answer holds for as long as the filesystem is
 * mounted. Where a mount has a number that no other will ever have, it is
 * remembered for that one; everything else may come to mean another filesystem.
 */
bool st_journal_flushes_first(int dirfd) {
	static _Thread_local uint64_t last;
	static _Thread_local bool known;
	struct statx st;
	if (st_retry(statx(dirfd, "", AT_EMPTY_PATH, STATX_MNT_ID_UNIQUE, &st)) < 0)
		return false;
	bool numbered = st.stx_mask & STATX_MNT_ID_UNIQUE;
	if (numbered && st.stx_mnt_id == last)
		return known;
	int found = ask(dirfd, makedev(st.stx_dev_major, st.stx_dev_minor));
	last = numbered && found >= 0 ? st.stx_mnt_id : 0;
	known = found == 1;
	return known;
}
