#include "torture/steps.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/vfs.h>

static step_fn *hook;
static void *hook_arg;
static int count;
static unsigned lacking;

static void step(const char *call, bool is_exchange) {
	if (!hook)
		return;
	int saved = errno;
	step_fn *function = hook;
	struct step next = {call, ++count, is_exchange};
	hook = NULL;
	function(&next, hook_arg);
	hook = function;
	errno = saved;
}

int steps_watch(step_fn *function, void *arg) {
	int before = count;
	count = 0;
	hook = function;
	hook_arg = arg;
	return before;
}

void steps_lack(unsigned lacks) {
	lacking = lacks;
}

/* A call that is made as it is, after the step. */
#define PLAIN(type, name, parameters, arguments) \
	type __real_##name parameters; \
	type __wrap_##name parameters; \
	type __wrap_##name parameters { \
		step(#name, false); \
		return __real_##name arguments; \
	}

PLAIN(int, faccessat, (int dirfd, const char *path, int mode, int flags),
      (dirfd, path, mode, flags))
PLAIN(int, fallocate64, (int fd, int mode, off_t at, off_t len), (fd, mode, at, len))
PLAIN(int, fchmod, (int fd, mode_t mode), (fd, mode))
PLAIN(int, flock, (int fd, int operation), (fd, operation))
PLAIN(int, fstat64, (int fd, struct stat *st), (fd, st))
PLAIN(int, fstatat64, (int dirfd, const char *path, struct stat *st, int flags),
      (dirfd, path, st, flags))
PLAIN(int, fsync, (int fd), (fd))
PLAIN(int, ftruncate64, (int fd, off_t len), (fd, len))
PLAIN(int, linkat, (int from, const char *old, int to, const char *new, int flags),
      (from, old, to, new, flags))
PLAIN(int, mkdirat, (int dirfd, const char *path, mode_t mode), (dirfd, path, mode))
PLAIN(ssize_t, pread64, (int fd, void *to, size_t len, off_t at), (fd, to, len, at))
PLAIN(ssize_t, pwrite64, (int fd, const void *from, size_t len, off_t at), (fd, from, len, at))
PLAIN(int, renameat, (int from, const char *old, int to, const char *new), (from, old, to, new))
PLAIN(int, unlinkat, (int dirfd, const char *path, int flags), (dirfd, path, flags))

int __real_openat64(int dirfd, const char *path, int flags, ...);
int __wrap_openat64(int dirfd, const char *path, int flags, ...);
int __wrap_openat64(int dirfd, const char *path, int flags, ...) {
	va_list args;
	va_start(args, flags);
	mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
	va_end(args);
	step("openat64", false);
	return __real_openat64(dirfd, path, flags, mode);
}

int __real_fcntl64(int fd, int command, ...);
int __wrap_fcntl64(int fd, int command, ...);
int __wrap_fcntl64(int fd, int command, ...) {
	va_list args;
	va_start(args, command);
	int value = va_arg(args, int);
	va_end(args);
	step("fcntl64", false);
	if (command == F_SETLEASE && lacking & STEPS_LACK_LEASES) {
		errno = EINVAL;
		return -1;
	}
	return __real_fcntl64(fd, command, value);
}

int __real_renameat2(int from, const char *old, int to, const char *new, unsigned flags);
int __wrap_renameat2(int from, const char *old, int to, const char *new, unsigned flags);
int __wrap_renameat2(int from, const char *old, int to, const char *new, unsigned flags) {
	step("renameat2", flags & RENAME_EXCHANGE);
	if (flags & RENAME_EXCHANGE && lacking & STEPS_LACK_EXCHANGE) {
		errno = EINVAL;
		return -1;
	}
	return __real_renameat2(from, old, to, new, flags);
}

int __real_fstatfs64(int fd, struct statfs *fs);
int __wrap_fstatfs64(int fd, struct statfs *fs);
int __wrap_fstatfs64(int fd, struct statfs *fs) {
	step("fstatfs64", false);
	int failed = __real_fstatfs64(fd, fs);
	if (failed == 0 && lacking & STEPS_LACK_TRUST)
		fs->f_type = FUSE_SUPER_MAGIC;
	return failed;
}
