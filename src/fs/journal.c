#include "fs/journal.h"

#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "base/auto.h"
#include "fs/sys.h"

/* The name of a block device, as the kernel's own messages have it; false if there is none. */
static bool device_name(dev_t dev, char *name, size_t size) {
	char link[64], target[PATH_MAX];
	snprintf(link, sizeof link, "/sys/dev/block/%u:%u", major(dev), minor(dev));
	ssize_t len = st_retry(readlinkat(AT_FDCWD, link, target, sizeof target - 1));
	if (len <= 0)
		return false;
	target[len] = '\0';
	const char *slash = strrchr(target, '/');
	return (size_t)snprintf(name, size, "%s", slash ? slash + 1 : target) < size;
}

/* Whether there is a journal, on the device itself: one on another is listed by that one's name. */
static bool has_journal(const char *device) {
	char path[NAME_MAX + 32];
	snprintf(path, sizeof path, "/proc/fs/jbd2/%s-8", device);
	return st_retry(faccessat(AT_FDCWD, path, F_OK, 0)) == 0;
}

/* Whether bytes are written to their place, and not by way of the journal, or in no order at all. */
static bool is_ordered(const char *device) {
	char path[NAME_MAX + 32], options[4096];
	snprintf(path, sizeof path, "/proc/fs/ext4/%s/options", device);
	st_autofd fd = st_retry(openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC));
	ssize_t len = fd < 0 ? -1 : st_retry(read(fd, options, sizeof options - 1));
	options[len > 0 ? len : 0] = '\0';
	return strstr(options, "\ndata=ordered\n") != NULL;
}

/* Asked every time: what is mounted where, and how, may change, and the answer must not be an old one. */
bool st_journal_flushes_first(int dirfd) {
	struct statfs fs;
	struct stat st;
	char device[NAME_MAX + 1];
	return fstatfs(dirfd, &fs) == 0 && fs.f_type == EXT4_SUPER_MAGIC &&
	       st_retry(fstat(dirfd, &st)) == 0 && device_name(st.st_dev, device, sizeof device) &&
	       has_journal(device) && is_ordered(device);
}
