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

/* The options that a filesystem is mounted with, a line each, with a newline before and after; "" if not known. */
static void read_options(const char *device, char *options, size_t size) {
	char path[NAME_MAX + 32];
	snprintf(path, sizeof path, "/proc/fs/ext4/%s/options", device);
	st_autofd fd = st_retry(openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC));
	ssize_t len = fd < 0 ? -1 : st_retry(read(fd, options + 1, size - 2));
	options[0] = len > 0 ? '\n' : '\0';
	options[len > 0 ? len + 1 : 0] = '\0';
}

static bool ask_kernel(int dirfd) {
	struct stat st;
	char device[NAME_MAX + 1], options[4096];
	if (st_retry(fstat(dirfd, &st)) < 0 || !device_name(st.st_dev, device, sizeof device))
		return false;
	read_options(device, options, sizeof options);
	/* Without a journal there is no such line. */
	return strstr(options, "\ndata=ordered\n") != NULL;
}

/* To ask takes a while, and the answer is the same for as long as a filesystem is mounted. */
bool st_journal_takes_names(int dirfd) {
	static _Thread_local fsid_t last;
	static _Thread_local bool known, takes;
	struct statfs fs;
	if (fstatfs(dirfd, &fs) < 0 || fs.f_type != EXT4_SUPER_MAGIC)
		return false;
	if (!known || memcmp(&last, &fs.f_fsid, sizeof last) != 0)
		takes = ask_kernel(dirfd);
	known = true;
	last = fs.f_fsid;
	return takes;
}
