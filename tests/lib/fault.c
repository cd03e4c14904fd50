#include "lib/fault.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

/* The functions that are wrapped, each under the names that a compiler may call it by. */
#define ALLOCATIONS(X) \
	X(malloc) \
	X(calloc) X(realloc) X(strdup) X(asprintf) X(__asprintf_chk) X(vasprintf) X(__vasprintf_chk)

/* The calls that a signal can interrupt on some filesystem. */
#define CALLS(X) \
	X(open64) \
	X(openat64) \
	X(syscall) \
	X(read) \
	X(__read_chk) \
	X(pread64) \
	X(__pread64_chk) \
	X(write) \
	X(pwrite64) \
	X(fstat64) \
	X(fstatat64) \
	X(stat64) \
	X(fstatfs64) \
	X(statx) \
	X(fcntl64) \
	X(flock) \
	X(fsync) \
	X(ftruncate64) \
	X(fallocate64) \
	X(fdatasync) \
	X(renameat) \
	X(renameat2) \
	X(linkat) \
	X(unlinkat) \
	X(mkdirat) \
	X(readlinkat) \
	X(__readlinkat_chk) \
	X(faccessat) \
	X(fchown) \
	X(fchmod) \
	X(futimens) \
	X(flistxattr) \
	X(fgetxattr) X(fsetxattr) X(fremovexattr) X(getrandom) X(close) X(dup3) X(utimensat)

/* These make several system calls, or none that waits. */
#define LIBRARY_CALLS(X) X(getcwd) X(realpath) X(__realpath_chk) X(fdopendir) X(readdir64)

enum function {
#define X(name) CALL_##name,
	ALLOCATIONS(X) CALLS(X) LIBRARY_CALLS(X)
#undef X
		CALL_COUNT,
};

static const char *const names[] = {
#define X(name) #name,
	ALLOCATIONS(X) CALLS(X) LIBRARY_CALLS(X)
#undef X
};

static size_t hits[CALL_COUNT];

/* Only the thread that armed it: what others do at the same time would change the count. */
static _Thread_local struct {
	bool on;
	enum fault_kind kind;
	unsigned nth;
	unsigned seen;
	int errnum;
	bool forever;
	bool fired;
	enum function where;
} armed;

static void arm(enum fault_kind kind, unsigned nth, int errnum, bool forever) {
	armed =
		(typeof(armed)){.on = true, .kind = kind, .nth = nth, .errnum = errnum, .forever = forever};
}

void fault_arm(enum fault_kind kind, unsigned nth, int errnum) {
	arm(kind, nth, errnum, false);
}

void fault_arm_from(enum fault_kind kind, unsigned nth, int errnum) {
	arm(kind, nth, errnum, true);
}

void fault_off(void) {
	armed.on = false;
}

static bool lacks_exchange;

void fault_lack_exchange(bool lack) {
	lacks_exchange = lack;
}

/* Of the thread that the tests are about; others work behind its back. */
static _Thread_local struct fault_order order;

struct fault_order fault_order_take(void) {
	struct fault_order taken = order;
	order = (struct fault_order){0};
	return taken;
}

bool fault_fired(void) {
	return armed.fired;
}

const char *fault_where(void) {
	return armed.fired ? names[armed.where] : "nowhere";
}

size_t fault_hits(const char *name) {
	for (size_t i = 0; i < CALL_COUNT; i++) {
		if (strcmp(names[i], name) == 0)
			return hits[i];
	}
	return 0;
}

const char *fault_name(size_t i) {
	return i < CALL_COUNT ? names[i] : NULL;
}

/* Count a call; true if it has to fail, with errno set. */
static bool fails(enum function function) {
	if (!armed.on || (function >= CALL_open64) != (armed.kind == FAULT_SYSTEM))
		return false;
	if (armed.errnum == EINTR && function >= CALL_getcwd)
		return false;
	armed.seen++;
	if (armed.seen < armed.nth || (armed.seen > armed.nth && !armed.forever))
		return false;
	if (!armed.fired)
		armed.where = function;
	armed.fired = true;
	hits[function]++;
	errno = armed.errnum;
	return true;
}

/* One wrapped function: what it is, its parameters, how they are passed on, what failure looks like. */
#define WRAP(type, name, parameters, arguments, failure) \
	type __real_##name parameters; \
	type __wrap_##name parameters; \
	type __wrap_##name parameters { \
		if (fails(CALL_##name)) \
			return failure; \
		return __real_##name arguments; \
	}

WRAP(void *, malloc, (size_t size), (size), NULL)
WRAP(void *, calloc, (size_t count, size_t size), (count, size), NULL)
WRAP(void *, realloc, (void *old, size_t size), (old, size), NULL)
WRAP(char *, strdup, (const char *text), (text), NULL)
WRAP(int, vasprintf, (char **out, const char *format, va_list args), (out, format, args), -1)
WRAP(int, __vasprintf_chk, (char **out, int flag, const char *format, va_list args),
     (out, flag, format, args), -1)

WRAP(ssize_t, read, (int fd, void *to, size_t len), (fd, to, len), -1)
WRAP(ssize_t, __read_chk, (int fd, void *to, size_t len, size_t room), (fd, to, len, room), -1)
WRAP(ssize_t, pread64, (int fd, void *to, size_t len, off_t at), (fd, to, len, at), -1)
WRAP(ssize_t, __pread64_chk, (int fd, void *to, size_t len, off_t at, size_t room),
     (fd, to, len, at, room), -1)
WRAP(ssize_t, write, (int fd, const void *from, size_t len), (fd, from, len), -1)
WRAP(ssize_t, pwrite64, (int fd, const void *from, size_t len, off_t at), (fd, from, len, at), -1)
WRAP(int, fstat64, (int fd, struct stat *st), (fd, st), -1)
WRAP(int, fstatat64, (int fd, const char *path, struct stat *st, int flags), (fd, path, st, flags),
     -1)
WRAP(int, stat64, (const char *path, struct stat *st), (path, st), -1)
WRAP(int, statx, (int fd, const char *path, int flags, unsigned mask, struct statx *st),
     (fd, path, flags, mask, st), -1)
WRAP(int, fstatfs64, (int fd, struct statfs *fs), (fd, fs), -1)
WRAP(int, flock, (int fd, int how), (fd, how), -1)
WRAP(int, ftruncate64, (int fd, off_t size), (fd, size), -1)
WRAP(int, fallocate64, (int fd, int mode, off_t at, off_t len), (fd, mode, at, len), -1)
WRAP(int, renameat, (int from, const char *old, int to, const char *new), (from, old, to, new), -1)
WRAP(int, linkat, (int from, const char *old, int to, const char *new, int flags),
     (from, old, to, new, flags), -1)
WRAP(int, unlinkat, (int fd, const char *path, int flags), (fd, path, flags), -1)
WRAP(int, mkdirat, (int fd, const char *path, mode_t mode), (fd, path, mode), -1)
WRAP(ssize_t, readlinkat, (int fd, const char *path, char *to, size_t len), (fd, path, to, len), -1)
WRAP(ssize_t, __readlinkat_chk, (int fd, const char *path, char *to, size_t len, size_t room),
     (fd, path, to, len, room), -1)
WRAP(int, faccessat, (int fd, const char *path, int mode, int flags), (fd, path, mode, flags), -1)
WRAP(int, fchown, (int fd, uid_t owner, gid_t group), (fd, owner, group), -1)
WRAP(int, fchmod, (int fd, mode_t mode), (fd, mode), -1)
WRAP(int, dup3, (int from, int to, int flags), (from, to, flags), -1)
WRAP(int, utimensat, (int fd, const char *path, const struct timespec times[2], int flags),
     (fd, path, times, flags), -1)
WRAP(int, futimens, (int fd, const struct timespec times[2]), (fd, times), -1)
WRAP(ssize_t, flistxattr, (int fd, char *to, size_t len), (fd, to, len), -1)
WRAP(ssize_t, fgetxattr, (int fd, const char *name, void *to, size_t len), (fd, name, to, len), -1)
WRAP(int, fsetxattr, (int fd, const char *name, const void *from, size_t len, int flags),
     (fd, name, from, len, flags), -1)
WRAP(int, fremovexattr, (int fd, const char *name), (fd, name), -1)
WRAP(ssize_t, getrandom, (void *to, size_t len, unsigned flags), (to, len, flags), -1)
WRAP(char *, getcwd, (char *to, size_t len), (to, len), NULL)
WRAP(char *, realpath, (const char *path, char *to), (path, to), NULL)
WRAP(char *, __realpath_chk, (const char *path, char *to, size_t room), (path, to, room), NULL)
WRAP(DIR *, fdopendir, (int fd), (fd), NULL)
WRAP(struct dirent *, readdir64, (DIR * dir), (dir), NULL)

/* The rest takes a variable number of arguments, or does its work even when it fails. */

int __wrap_asprintf(char **out, const char *format, ...);
int __wrap_asprintf(char **out, const char *format, ...) {
	if (fails(CALL_asprintf))
		return -1;
	va_list args;
	va_start(args, format);
	int len = __real_vasprintf(out, format, args);
	va_end(args);
	return len;
}

int __wrap___asprintf_chk(char **out, int flag, const char *format, ...);
int __wrap___asprintf_chk(char **out, int flag, const char *format, ...) {
	if (fails(CALL___asprintf_chk))
		return -1;
	va_list args;
	va_start(args, format);
	int len = __real___vasprintf_chk(out, flag, format, args);
	va_end(args);
	return len;
}

static mode_t mode_argument(int flags, va_list args) {
	return flags & O_CREAT ? va_arg(args, mode_t) : 0;
}

int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...) {
	if (fails(CALL_open64))
		return -1;
	va_list args;
	va_start(args, flags);
	mode_t mode = mode_argument(flags, args);
	va_end(args);
	return __real_open64(path, flags, mode);
}

int __real_openat64(int dirfd, const char *path, int flags, ...);
int __wrap_openat64(int dirfd, const char *path, int flags, ...);
int __wrap_openat64(int dirfd, const char *path, int flags, ...) {
	if (fails(CALL_openat64))
		return -1;
	va_list args;
	va_start(args, flags);
	mode_t mode = mode_argument(flags, args);
	va_end(args);
	return __real_openat64(dirfd, path, flags, mode);
}

int __real_fcntl64(int fd, int command, ...);
int __wrap_fcntl64(int fd, int command, ...);
int __wrap_fcntl64(int fd, int command, ...) {
	if (fails(CALL_fcntl64))
		return -1;
	if (command == F_GETLEASE)
		return __real_fcntl64(fd, command);
	va_list args;
	va_start(args, command);
	long value = va_arg(args, long);
	va_end(args);
	return __real_fcntl64(fd, command, value);
}

/* Only openat2() comes this way. */
long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...) {
	if (number != SYS_openat2)
		abort();
	if (fails(CALL_syscall))
		return -1;
	va_list args;
	va_start(args, number);
	int dirfd = va_arg(args, int);
	const char *path = va_arg(args, const char *);
	const void *how = va_arg(args, const void *);
	size_t size = va_arg(args, size_t);
	va_end(args);
	return __real_syscall(number, dirfd, path, how, size);
}

int __real_renameat2(int from, const char *old, int to, const char *new, unsigned flags);
int __wrap_renameat2(int from, const char *old, int to, const char *new, unsigned flags);
int __wrap_renameat2(int from, const char *old, int to, const char *new, unsigned flags) {
	if (fails(CALL_renameat2))
		return -1;
	if (lacks_exchange && flags != 0) {
		errno = EINVAL;
		return -1;
	}
	order.renamed = true;
	return __real_renameat2(from, old, to, new, flags);
}

/* Nobody pulls the plug here, and the disk takes its time. */
static int sync_nothing(enum function function) {
	if (fails(function))
		return -1;
	if (order.renamed)
		order.synced_after++;
	else
		order.synced_before++;
	return 0;
}

int __wrap_fsync(int fd);
int __wrap_fsync(int fd) {
	(void)fd;
	return sync_nothing(CALL_fsync);
}

int __wrap_fdatasync(int fd);
int __wrap_fdatasync(int fd) {
	(void)fd;
	return sync_nothing(CALL_fdatasync);
}

int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd) {
	bool failed = fails(CALL_close);
	int saved = errno;
	int result = __real_close(fd);
	if (!failed)
		return result;
	errno = saved;
	return -1;
}
