#include "fs/path/relative_path.h"

#include <limits.h>
#include <string.h>

#include "base/auto.h"
#include "fs/path/sys.h"

/* For kernels without openat2: open one component after the other. */
static int open_by_steps(int base, char *path) {
	int fd = st_retry(openat(base, ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
	for (char *name = path; fd >= 0 && name;) {
		char *slash = strchr(name, '/');
		if (slash)
			*slash = '\0';
		int flags = slash ? O_PATH : O_RDONLY;
		int next = st_retry(openat(fd, name, flags | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
		if (slash)
			*slash = '/';
		st_close_at(&fd);
		fd = next;
		name = slash ? slash + 1 : NULL;
	}
	return fd;
}

int st_open_relative(int base, char *path) {
	struct open_how how = {
		.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS,
	};
	int fd = st_retry(st_openat2(base, path, &how));
	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		fd = open_by_steps(base, path);
	return fd;
}

int st_open_far_relative(int base, char *path) {
	if (!*path)
		return st_retry(openat(base, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	st_autofd near = -1;
	while (strlen(path) >= PATH_MAX) {
		char *slash = memrchr(path, '/', PATH_MAX - 1);
		*slash = '\0';
		int next = st_open_relative(near < 0 ? base : near, path);
		*slash = '/';
		st_close_at(&near);
		near = next;
		if (near < 0)
			return -1;
		path = slash + 1;
	}
	return st_open_relative(near < 0 ? base : near, path);
}
