#include "fs/tree/ignore_file.h"

#include <limits.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cancel.h"
#include "fs/tree/gitdir.h"
#include "fs/path/sys.h"

/* Read a small regular file. Returns 1 with its bytes, 0 if there is none, -1 with errno. */
static int read_rules_file(int dir, const char *name, int flags, size_t max, struct st_buf *out) {
	st_autofd fd = st_retry(openat(dir, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC | flags));
	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? 0 : -1;
	struct stat st;
	if (st_retry(fstat(fd, &st)) < 0)
		return -1;
	if (!S_ISREG(st.st_mode))
		return 0;
	if ((uintmax_t)st.st_size > max) {
		errno = EFBIG;
		return -1;
	}
	st_buf_clear(out);
	for (;;) {
		if (!st_buf_reserve(out, (size_t)st.st_size - out->len + 1)) {
			errno = ENOMEM;
			return -1;
		}
		ssize_t len = st_retry(read(fd, out->ptr + out->len, (size_t)st.st_size - out->len));
		if (len <= 0)
			return len < 0 ? -1 : 1;
		st_buf_truncate(out, out->len + (size_t)len);
	}
}

static int fail_load(int errnum, struct st_str dir, const char *name, struct stet_error *err) {
	st_auto(st_buf) path = ST_BUF_INIT;
	st_buf_add(&path, dir);
	st_buf_adds(&path, dir.len ? "/" : "");
	st_buf_adds(&path, name);
	if (path.failed)
		return st_fail_nomem(err);
	if (errnum == EFBIG)
		return st_fail(
			err, STET_E_TOO_BIG,
			"The ignore rules in %s were not applied: the file is larger than %zu bytes.",
			st_quoted_str(st_buf_str(&path)), ST_IGNORE_FILE_MAX);
	return st_fail_errno(err, errnum, "The ignore rules in %s were not applied",
	                     st_quoted_str(st_buf_str(&path)));
}

static int load_rules_file(struct st_ignore *parent, int dir, const char *name, int flags,
                           struct st_str path, struct st_ignore **node, struct stet_error *err) {
	st_auto(st_buf) bytes = ST_BUF_INIT;
	int found = read_rules_file(dir, name, flags, ST_IGNORE_FILE_MAX, &bytes);
	*node = found > 0 ? st_ignore_new(parent, path, st_buf_str(&bytes)) : NULL;
	/* To compile a rule takes longer than to read it. */
	st_cancel_progress(4 * bytes.len);
	if (*node)
		return 0;
	int errnum = found > 0 ? ENOMEM : errno;
	*node = st_ignore_keep(parent);
	return found == 0 ? 0 : fail_load(errnum, path, name, err);
}

int st_ignore_load(struct st_ignore *parent, int dir, struct st_str path, struct st_ignore **node,
                   struct stet_error *err) {
	return load_rules_file(parent, dir, ".gitignore", O_NOFOLLOW, path, node, err);
}

int st_ignore_load_exclude(int root, struct st_ignore **node, struct stet_error *err) {
	*node = NULL;
	int gitdir = st_gitdir_open(root);
	st_autofd git = gitdir < 0 ? -1 : st_gitdir_common(gitdir);
	return git < 0 ? 0 : load_rules_file(NULL, git, "info/exclude", 0, ST_STR(""), node, err);
}

/* The current directory on the way down to a path (-1 if it does not exist), and its rules. */
struct descent {
	int dir;
	struct st_ignore *node;
};

static void descent_release(struct descent *descent) {
	st_close_at(&descent->dir);
	st_ignore_drop(descent->node);
}

static int descent_load(struct descent *descent, struct st_str path, struct stet_error *err) {
	if (descent->dir < 0)
		return 0;
	struct st_ignore *above = descent->node;
	int code = st_ignore_load(above, descent->dir, path, &descent->node, err);
	st_ignore_drop(above);
	return code;
}

static void descent_enter(struct descent *descent, struct st_str name) {
	char copy[NAME_MAX + 1];
	int next = -1;
	if (descent->dir >= 0 && name.len < sizeof copy) {
		memcpy(copy, name.ptr, name.len);
		copy[name.len] = '\0';
		next = st_retry(openat(descent->dir, copy, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
	}
	st_close_at(&descent->dir);
	descent->dir = next;
}

static int descent_start(struct descent *descent, int root, unsigned flags,
                         struct stet_error *err) {
	if (flags & ST_IGNORE_NO_FILES)
		return 0;
	descent->dir = st_retry(openat(root, ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
	if (descent->dir < 0)
		return st_fail_errno(err, errno, "Cannot open the root");
	return st_ignore_load_exclude(root, &descent->node, err);
}

int st_ignore_path(int root, struct st_str path, bool is_dir, unsigned flags,
                   struct stet_error *err) {
	st_auto(descent) descent = {.dir = -1};
	int code = descent_start(&descent, root, flags, err);

	for (size_t start = 0, end; code == 0 && start < path.len; start = end + 1) {
		const char *slash = memchr(path.ptr + start, '/', path.len - start);
		end = slash ? (size_t)(slash - path.ptr) : path.len;
		struct st_str name = st_str_slice(path, start, end), above = st_str_slice(path, 0, start);
		above.len -= start > 0;

		code = descent_load(&descent, above, err);
		if (code < 0)
			break;
		bool dir = slash || is_dir;
		if ((!(flags & ST_IGNORE_NO_BUILTIN) && st_ignore_builtin(name, dir)) ||
		    st_ignore_match(descent.node, st_str_slice(path, 0, end), dir, NULL))
			return 1;
		if (slash)
			descent_enter(&descent, name);
	}
	return code;
}
