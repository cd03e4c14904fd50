#include "fs/tree/gitdir.h"

#include <limits.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/str.h"
#include "fs/path/sys.h"

/* A pointer file holds "gitdir: " or nothing, a path and a line end. */
enum { POINTER_MAX = PATH_MAX + 16 };

static int fail_errno(int errnum) {
	errno = errnum;
	return -1;
}

static int open_pointer(int dir, const char *name) {
	struct stat st;
	/* Stat first: opening a FIFO or a device could block or have effects. */
	if (st_retry(fstatat(dir, name, &st, 0)) < 0)
		return -1;
	if (!S_ISREG(st.st_mode))
		return fail_errno(ENOENT);
	return st_retry(openat(dir, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

/* Read the path that follows the prefix in a file. Returns 0, or -1 with errno. */
static int read_pointer(int dir, const char *name, struct st_str prefix, char path[POINTER_MAX]) {
	st_autofd fd = open_pointer(dir, name);
	ssize_t got = fd < 0 ? -1 : st_retry(pread(fd, path, POINTER_MAX - 1, 0));
	if (got < 0)
		return -1;
	struct st_str text = st_strn(path, (size_t)got);
	while (text.len && (text.ptr[text.len - 1] == '\n' || text.ptr[text.len - 1] == '\r'))
		text.len--;
	if (text.len == prefix.len || !st_str_starts(text, prefix) || memchr(text.ptr, '\0', text.len))
		return fail_errno(ENOENT);
	memmove(path, text.ptr + prefix.len, text.len - prefix.len);
	path[text.len - prefix.len] = '\0';
	return 0;
}

int st_gitdir_open(int top) {
	int fd = st_retry(openat(top, ".git", O_PATH | O_DIRECTORY | O_CLOEXEC));
	char path[POINTER_MAX];
	if (fd >= 0 || errno != ENOTDIR)
		return fd;
	if (read_pointer(top, ".git", ST_STR("gitdir: "), path) < 0)
		return -1;
	return st_retry(openat(top, path, O_PATH | O_DIRECTORY | O_CLOEXEC));
}

int st_gitdir_common(int gitdir) {
	char path[POINTER_MAX];
	if (read_pointer(gitdir, "commondir", ST_STR(""), path) < 0)
		return gitdir;
	int common = st_retry(openat(gitdir, path, O_PATH | O_DIRECTORY | O_CLOEXEC));
	int errnum = errno;
	close(gitdir);
	errno = errnum;
	return common;
}
