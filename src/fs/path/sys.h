/** System calls that libc does not wrap, and a macro that repeats interrupted calls. */
#ifndef STET_FS_PATH_SYS_H
#define STET_FS_PATH_SYS_H

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

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

#endif
