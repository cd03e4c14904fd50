/** System calls: what libc does not wrap, and a macro that repeats interrupted calls. */
#ifndef STET_FS_PATH_SYS_H
#define STET_FS_PATH_SYS_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/auto.h"

/** Repeat a system call for as long as it fails with EINTR. */
#define st_retry(call) \
	({ \
		typeof(call) result_; \
		do \
			result_ = (call); \
		while (result_ < 0 && errno == EINTR); \
		result_; \
	})

static inline int st_openat2(int dirfd, const char *path, const struct open_how *how) {
	return (int)syscall(SYS_openat2, dirfd, path, how, sizeof *how);
}

/** Read an open directory from its first entry. The caller closes the stream. NULL with errno. */
static inline DIR *st_dir_stream(int dirfd) {
	int fd = st_retry(openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	DIR *stream = fd < 0 ? NULL : fdopendir(fd);
	if (!stream)
		st_close_at(&fd);
	return stream;
}

#endif
