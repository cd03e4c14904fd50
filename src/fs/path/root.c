#include "fs/path/root.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "fs/path/sys.h"

/* Linux itself follows 40 links; 50,000 directories take a fraction of a second. */
enum { LINKS_MAX = 40, STEPS_MAX = 50000, RACES_MAX = 64, WALKS_MAX = 8 };

/* Results of a step besides 0 and error codes; RACED: another process changed the path meanwhile. */
enum { ARRIVED = 1, RACED = 2 };

static int fail_outside(struct stet_error *err, struct st_str path, const struct st_root *root) {
	return st_fail(err, STET_E_OUTSIDE, "%s is outside the workspace %s. Use a path inside it.",
	               st_quoted_str(path), root->path);
}

static int fail_unreachable(struct stet_error *err, int errnum, struct st_str path) {
	switch (errnum) {
	case ENOENT:
		return st_fail(err, STET_E_NOT_FOUND, "The directory of %s was not found. Create it first.",
		               st_quoted_str(path));
	case ENOTDIR:
		return st_fail(err, STET_E_NOT_FOUND,
		               "%s was not found: a part of the path is not a directory. Check the path.",
		               st_quoted_str(path));
	case ELOOP:
		return st_fail(err, STET_E_OUTSIDE,
		               "%s leads through too many symbolic links. Use the path of the file itself.",
		               st_quoted_str(path));
	default:
		return st_fail_errno(err, errnum, "Cannot reach %s", st_quoted_str(path));
	}
}

/* Whether path is base or lies below it; *rest receives the part after base. */
static bool strip_prefix(struct st_str path, const char *base, struct st_str *rest) {
	struct st_str prefix = st_str(base);
	while (prefix.len > 0 && prefix.ptr[prefix.len - 1] == '/')
		prefix.len--;
	if (!st_str_starts(path, prefix))
		return false;
	*rest = st_str_slice(path, prefix.len, path.len);
	return rest->len == 0 || rest->ptr[0] == '/';
}

/* Take the first component off a path; false at the end. */
static bool next_component(struct st_str *path, struct st_str *component) {
	size_t start = 0;
	while (start < path->len && path->ptr[start] == '/')
		start++;
	size_t end = start;
	while (end < path->len && path->ptr[end] != '/')
		end++;
	*component = st_str_slice(*path, start, end);
	*path = st_str_slice(*path, end, path->len);
	return component->len > 0;
}

static bool is_dot(struct st_str component) {
	return st_str_eq(component, ST_STR("."));
}

static bool is_dotdot(struct st_str component) {
	return st_str_eq(component, ST_STR(".."));
}

/* Whether a path has more ".." than components before them at some point. */
static bool climbs_above_root(struct st_str path) {
	struct st_str component;
	long depth = 0;
	while (depth >= 0 && next_component(&path, &component)) {
		if (is_dotdot(component))
			depth--;
		else if (!is_dot(component))
			depth++;
	}
	return depth < 0;
}

/*
 * Recognise other spellings of the root, such as through links or "..", by
 * device and inode: find the longest prefix that is the root directory.
 * Returns 1 if there is one, 0 if not, -1 with errno.
 */
static int strip_alias(const struct st_root *root, struct st_str path, struct st_str *rest) {
	char prefix[PATH_MAX];
	for (size_t end = path.len; end > 0; end--) {
		if (end < path.len && path.ptr[end] != '/')
			continue;
		memcpy(prefix, path.ptr, end);
		prefix[end] = '\0';
		struct stat st;
		if (st_retry(stat(prefix, &st)) < 0) {
			if (errno == ENOENT || errno == ENOTDIR || errno == EACCES || errno == ELOOP ||
			    errno == ENAMETOOLONG)
				continue;
			return -1;
		}
		if (st.st_dev == root->dev && st.st_ino == root->ino) {
			*rest = st_str_slice(path, end, path.len);
			return 1;
		}
	}
	return 0;
}

/* Make an absolute path relative to the root. Returns 1, 0 if it is outside, or -1 with errno. */
static int relative_to_root(const struct st_root *root, struct st_str path, struct st_str *rest) {
	int found = 1;
	if (path.len == 0 || path.ptr[0] != '/')
		*rest = path;
	else if (!(strip_prefix(path, root->path, rest) || strip_prefix(path, root->spelled, rest)) ||
	         climbs_above_root(*rest))
		found = strip_alias(root, path, rest);
	while (found == 1 && rest->len > 0 && rest->ptr[0] == '/')
		*rest = st_str_slice(*rest, 1, rest->len);
	return found;
}

static void path_push(struct st_buf *path, struct st_str component) {
	if (path->len > 0)
		st_buf_addc(path, '/');
	st_buf_add(path, component);
}

static void path_pop(struct st_buf *path) {
	size_t len = path->len;
	while (len > 0 && path->ptr[len - 1] != '/')
		len--;
	st_buf_truncate(path, len > 0 ? len - 1 : 0);
}

/* Correct only for a path that leads through no link. False if it climbs above the root. */
static bool normalise(struct st_str path, struct st_buf *out) {
	struct st_str component;
	while (next_component(&path, &component)) {
		if (is_dot(component))
			continue;
		if (!is_dotdot(component))
			path_push(out, component);
		else if (out->len == 0)
			return false;
		else
			path_pop(out);
	}
	return true;
}

/* Split off the last component; false if it is missing, "." or "..". */
static bool split_path(struct st_str path, struct st_str *dir, struct st_str *name) {
	size_t start = path.len;
	while (start > 0 && path.ptr[start - 1] != '/')
		start--;
	*dir = st_str_slice(path, 0, start);
	*name = st_str_slice(path, start, path.len);
	return name->len > 0 && !is_dot(*name) && !is_dotdot(*name);
}

static int openat2_retry(int dirfd, const char *path, const struct open_how *how) {
	int fd = -1;
	for (int i = 0; i < RACES_MAX; i++) {
		fd = st_retry(st_openat2(dirfd, path, how));
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	return fd;
}

/* Commits lock and sync a directory, which needs O_RDONLY, but can do without if it is not readable. */
static int open_step(int dirfd, const char *name) {
	int flags = O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int fd = st_retry(openat(dirfd, name, O_RDONLY | flags));
	if (fd < 0 && errno == EACCES)
		fd = st_retry(openat(dirfd, name, O_PATH | flags));
	return fd;
}

static int open_dir_beneath(const struct st_root *root, const char *path) {
	struct open_how how = {
		.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS,
	};
	int fd = openat2_retry(root->fd, path, &how);
	if (fd < 0 && errno == EACCES) {
		how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
		fd = openat2_retry(root->fd, path, &how);
	}
	return fd;
}

static int finish_place(struct st_place *place, int dirfd, struct st_buf *path,
                        struct stet_error *err) {
	if (path->failed) {
		close(dirfd);
		return st_fail_nomem(err);
	}
	assert(path->ptr && dirfd >= 0);
	place->dirfd = dirfd;
	place->path = path->ptr;
	*path = (struct st_buf)ST_BUF_INIT;
	const char *slash = strrchr(place->path, '/');
	place->name = slash ? slash + 1 : place->path;
	return 0;
}

/*
 * The fast path for a path without links. Returns ARRIVED, an error, or 0 if
 * locate_by_walk() has to decide.
 */
static int locate_without_links(const struct st_root *root, struct st_str path, unsigned flags,
                                struct st_place *place, struct stet_error *err) {
	struct st_str dir, name;
	if (root->no_openat2 || !split_path(path, &dir, &name))
		return 0;

	char text[PATH_MAX];
	memcpy(text, dir.ptr, dir.len);
	text[dir.len] = '\0';
	int dirfd = open_dir_beneath(root, dir.len > 0 ? text : ".");
	if (dirfd < 0) {
		if (errno == ELOOP || errno == ENOSYS || errno == EPERM || errno == EXDEV ||
		    errno == EAGAIN)
			return 0;
		return fail_unreachable(err, errno, path);
	}

	st_auto(st_buf) canonical = ST_BUF_INIT;
	memcpy(text, name.ptr, name.len);
	text[name.len] = '\0';
	struct stat st;
	bool exists = st_retry(fstatat(dirfd, text, &st, AT_SYMLINK_NOFOLLOW)) == 0;
	int errnum = exists ? 0 : errno;
	if ((!exists && errnum != ENOENT) ||
	    (exists && S_ISLNK(st.st_mode) && !(flags & ST_LOCATE_LINK)) ||
	    !normalise(path, &canonical)) {
		close(dirfd);
		return exists || errnum == ENOENT ? 0 : fail_unreachable(err, errnum, path);
	}
	int code = finish_place(place, dirfd, &canonical, err);
	place->exists = exists;
	place->st = exists ? st : (struct stat){0};
	return code < 0 ? code : ARRIVED;
}

/* The slow path: resolve a path component by component. */
struct walk {
	const struct st_root *root;
	struct st_str asked;
	unsigned flags;
	/* The current directory, by descriptor and by path. */
	int dirfd;
	struct st_buf path;
	/* The components still to resolve; begins with a slash after the first step. */
	struct st_buf left;
	int links;
	int steps;
};

static void walk_release(struct walk *walk) {
	st_close_at(&walk->dirfd);
	st_buf_release(&walk->path);
	st_buf_release(&walk->left);
}

static int walk_into(struct walk *walk, int from, const char *name) {
	/* Each ".." walks down from the root again: links full of ".." could take minutes. */
	if (++walk->steps > STEPS_MAX) {
		errno = ELOOP;
		return -1;
	}
	int dirfd = open_step(from, name);
	if (dirfd < 0)
		return -1;
	st_close_at(&walk->dirfd);
	walk->dirfd = dirfd;
	return 0;
}

/* The directory existed a moment ago, so ENOTDIR and ENOENT mean that another process changed it. */
static int fail_walk_into(const struct walk *walk, struct stet_error *err) {
	return errno == ENOTDIR || errno == ENOENT ? RACED : fail_unreachable(err, errno, walk->asked);
}

/* Walk from the root down to walk->path; it led through no link when it was resolved. */
static int walk_from_root(struct walk *walk, struct stet_error *err) {
	if (walk_into(walk, walk->root->fd, ".") < 0)
		return fail_unreachable(err, errno, walk->asked);
	struct st_str left = st_buf_str(&walk->path), component;
	while (next_component(&left, &component)) {
		char name[NAME_MAX + 1];
		memcpy(name, component.ptr, component.len);
		name[component.len] = '\0';
		if (walk_into(walk, walk->dirfd, name) < 0)
			return fail_walk_into(walk, err);
	}
	return 0;
}

/* Prepend a link's target to the components that are left. */
static int walk_link(struct walk *walk, const char *name, struct stet_error *err) {
	char target[PATH_MAX];
	ssize_t len = st_retry(readlinkat(walk->dirfd, name, target, sizeof target));
	if (len < 0)
		return errno == EINVAL || errno == ENOENT ? RACED
		                                          : fail_unreachable(err, errno, walk->asked);
	if (++walk->links > LINKS_MAX || (size_t)len == sizeof target)
		return fail_unreachable(err, ELOOP, walk->asked);

	struct st_str rest, whole = st_strn(target, (size_t)len);
	int found = relative_to_root(walk->root, whole, &rest);
	if (found <= 0)
		return found < 0 ? fail_unreachable(err, errno, walk->asked)
		                 : fail_outside(err, walk->asked, walk->root);
	st_auto(st_buf) left = ST_BUF_INIT;
	st_buf_add(&left, rest);
	st_buf_add(&left, st_buf_str(&walk->left));
	if (left.failed)
		return st_fail_nomem(err);
	st_buf_move(&walk->left, &left);

	if (whole.len == 0 || whole.ptr[0] != '/')
		return 0;
	st_buf_truncate(&walk->path, 0);
	return walk_from_root(walk, err);
}

static int walk_up(struct walk *walk, struct stet_error *err) {
	if (walk->path.len == 0)
		return fail_outside(err, walk->asked, walk->root);
	path_pop(&walk->path);
	return walk_from_root(walk, err);
}

/* Take the next component, skipping ".". Returns 1, or 0 at the end. */
static int walk_next(struct walk *walk, char name[NAME_MAX + 1], bool *last,
                     struct stet_error *err) {
	struct st_str left = st_buf_str(&walk->left), component;
	do {
		if (!next_component(&left, &component))
			return 0;
	} while (is_dot(component));
	if (component.len > NAME_MAX)
		return fail_unreachable(err, ENAMETOOLONG, walk->asked);
	memcpy(name, component.ptr, component.len);
	name[component.len] = '\0';

	struct st_str after = left, ignored;
	*last = !next_component(&after, &ignored);
	memmove(walk->left.ptr, left.ptr, left.len);
	st_buf_truncate(&walk->left, left.len);
	return 1;
}

/* Fill in the place: name (NULL for the directory itself) in the walk's directory. */
static int walk_arrive(struct walk *walk, const char *name, bool exists, const struct stat *st,
                       struct st_place *place, struct stet_error *err) {
	if (name)
		path_push(&walk->path, st_str(name));
	int dirfd = walk->dirfd;
	walk->dirfd = -1;
	place->exists = exists;
	place->st = *st;
	int code = finish_place(place, dirfd, &walk->path, err);
	return code < 0 ? code : ARRIVED;
}

static int walk_step(struct walk *walk, const char *name, bool last, struct st_place *place,
                     struct stet_error *err) {
	if (strcmp(name, "..") == 0)
		return walk_up(walk, err);

	struct stat st = {0};
	bool exists = st_retry(fstatat(walk->dirfd, name, &st, AT_SYMLINK_NOFOLLOW)) == 0;
	if (!exists && (errno != ENOENT || !last))
		return fail_unreachable(err, errno, walk->asked);
	bool names_dir = walk->left.len > 0;
	bool itself = last && !names_dir && walk->flags & ST_LOCATE_LINK;
	if (exists && S_ISLNK(st.st_mode) && !itself)
		return walk_link(walk, name, err);
	if (last && !names_dir)
		return walk_arrive(walk, name, exists, &st, place, err);

	if (walk_into(walk, walk->dirfd, name) < 0)
		return S_ISDIR(st.st_mode) ? fail_walk_into(walk, err)
		                           : fail_unreachable(err, errno, walk->asked);
	path_push(&walk->path, st_str(name));
	return walk->path.failed ? st_fail_nomem(err) : 0;
}

/* No component is left: the path names a directory. */
static int walk_end(struct walk *walk, struct st_place *place, struct stet_error *err) {
	struct st_str path = walk->asked;
	if (!(walk->flags & ST_LOCATE_DIR))
		return st_fail(err, STET_E_KIND, "%s is a directory. Name a file in it.",
		               st_quoted_str(path.len > 0 ? path : ST_STR(".")));
	struct stat st;
	if (st_retry(fstat(walk->dirfd, &st)) < 0)
		return fail_unreachable(err, errno, path);
	int code = walk_arrive(walk, NULL, true, &st, place, err);
	if (code == ARRIVED)
		place->name = ".";
	return code;
}

/* Follow links by hand, so that no link leads out of the root. */
static int locate_by_walk(const struct st_root *root, struct st_str path, unsigned flags,
                          struct st_place *place, struct stet_error *err) {
	__attribute__((cleanup(walk_release))) struct walk walk = {
		.root = root, .asked = path, .flags = flags, .dirfd = -1};
	st_buf_add(&walk.left, path);
	st_buf_add(&walk.path, ST_STR(""));
	if (walk.left.failed || walk.path.failed)
		return st_fail_nomem(err);

	char name[NAME_MAX + 1];
	bool last = false;
	int code = walk_from_root(&walk, err), more = 1;
	while (code == 0 && more == 1) {
		more = walk_next(&walk, name, &last, err);
		if (more == 1)
			code = walk_step(&walk, name, last, place, err);
	}
	if (code != 0 || more < 0)
		return code != 0 ? code : more;
	return walk_end(&walk, place, err);
}

static int check_spelling(struct st_str path, struct stet_error *err) {
	if (path.len == 0)
		return st_fail(err, STET_E_INVALID, "The path is empty. Name a file in the workspace.");
	if (memchr(path.ptr, '\0', path.len))
		return st_fail(err, STET_E_INVALID,
		               "The path holds a NUL byte, which no file name can. Check the path.");
	if (path.len >= PATH_MAX)
		return st_fail(err, STET_E_INVALID, "The path is %zu bytes long; %d is the limit.",
		               path.len, PATH_MAX - 1);
	return 0;
}

int st_root_locate_as(const struct st_root *root, struct st_str path, unsigned flags,
                      struct st_place *place, struct stet_error *err) {
	int code = check_spelling(path, err);
	if (code < 0)
		return code;
	struct st_str rest;
	int found = relative_to_root(root, path, &rest);
	if (found <= 0)
		return found < 0 ? fail_unreachable(err, errno, path) : fail_outside(err, path, root);

	st_place_release(place);
	code = locate_without_links(root, rest, flags, place, err);
	for (int i = 0; i < WALKS_MAX && (code == 0 || code == RACED); i++)
		code = locate_by_walk(root, rest, flags, place, err);
	if (code == RACED)
		return fail_unreachable(err, ENOTDIR, rest);
	return code < 0 ? code : 0;
}

int st_root_locate(const struct st_root *root, struct st_str path, struct st_place *place,
                   struct stet_error *err) {
	return st_root_locate_as(root, path, 0, place, err);
}

void st_place_release(struct st_place *place) {
	st_close_at(&place->dirfd);
	free(place->path);
	*place = (struct st_place)ST_PLACE_INIT;
}

int st_root_open_plain(const struct st_root *root, const char *plain, struct stat *st) {
	const char *slash = strrchr(plain, '/');
	const char *name = slash ? slash + 1 : plain;
	char dir[PATH_MAX];
	if (root->no_openat2 || (slash && (size_t)(slash - plain) >= sizeof dir))
		return -1;

	st_autofd opened = -1;
	if (slash) {
		struct open_how how = {
			.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
			.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS,
		};
		memcpy(dir, plain, (size_t)(slash - plain));
		dir[slash - plain] = '\0';
		opened = openat2_retry(root->fd, dir, &how);
		if (opened < 0)
			return -1;
	}
	int dirfd = slash ? opened : root->fd;
	/* Stat before the open: opening a FIFO would wake a process that waits for a reader. */
	if (st_retry(fstatat(dirfd, name, st, AT_SYMLINK_NOFOLLOW)) < 0 || !S_ISREG(st->st_mode))
		return -1;
	return st_retry(openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

int st_root_peek(const struct st_root *root, const char *path, struct stat *st,
                 struct stet_error *err) {
	struct open_how how = {
		.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS,
	};
	st_autofd fd = root->no_openat2 ? -1 : openat2_retry(root->fd, path, &how);
	if (fd >= 0) {
		if (st_retry(fstat(fd, st)) == 0)
			return !S_ISLNK(st->st_mode);
		return st_fail_errno(err, errno, "Cannot stat %s", st_quoted(path));
	}

	st_auto(st_place) place = ST_PLACE_INIT;
	int code = st_root_locate(root, st_str(path), &place, err);
	if (code == STET_E_NOT_FOUND)
		return 0;
	if (code < 0)
		return code;
	*st = place.st;
	return place.exists && strcmp(place.path, path) == 0;
}

const char *st_root_plain(const struct st_root *root, const char *path) {
	struct st_str rest = st_str(path);
	if (path[0] == '/' && (!strip_prefix(rest, root->path, &rest) || rest.len == 0))
		return NULL;
	const char *plain = path[0] == '/' ? rest.ptr + 1 : rest.ptr;

	for (const char *from = plain;; from++) {
		size_t len = strcspn(from, "/");
		struct st_str component = st_strn(from, len);
		if (len == 0 || is_dot(component) || is_dotdot(component))
			return NULL;
		from += len;
		if (*from == '\0')
			return plain;
	}
}

bool st_root_spelling(const struct st_root *root, const char *path, struct st_buf *out) {
	struct st_str rest, component;
	if (relative_to_root(root, st_str(path), &rest) != 1)
		return false;
	while (next_component(&rest, &component)) {
		if (!is_dot(component))
			path_push(out, component);
	}
	return out->len > 0 && !out->failed;
}

static char *absolute(const char *path) {
	if (path[0] == '/')
		return strdup(path);
	st_autofree char *cwd = getcwd(NULL, 0);
	char *joined = NULL;
	if (!cwd || asprintf(&joined, "%s/%s", cwd, path) < 0)
		return NULL;
	return joined;
}

int st_root_open(struct st_root *root, const char *path, struct stet_error *err) {
	*root = (struct st_root)ST_ROOT_INIT;
	st_autofd fd = st_retry(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	if (fd < 0 && errno == ENOTDIR)
		return st_fail(err, STET_E_KIND, "The workspace %s is not a directory.", st_quoted(path));
	struct stat st;
	if (fd < 0 || st_retry(fstat(fd, &st)) < 0)
		return st_fail_errno(err, errno, "Cannot open the workspace %s", st_quoted(path));

	root->path = realpath(path, NULL);
	root->spelled = absolute(path);
	if (!root->path || !root->spelled) {
		int errnum = errno;
		st_root_release(root);
		return st_fail_errno(err, errnum, "Cannot open the workspace %s", st_quoted(path));
	}
	if (st_path_is_protected(root->path, ST_STATE_DIR)) {
		st_root_release(root);
		return st_fail(err, STET_E_ACCESS,
		               "The workspace %s is not allowed: it is, or lies in, a directory of git or "
		               "stet.",
		               st_quoted(path));
	}
	root->dev = st.st_dev;
	root->ino = st.st_ino;
	root->trust = st_trust_of(fd, st.st_dev);
	root->fd = fd;
	fd = -1;
	return 0;
}

int st_root_relative_path(const struct st_root *root, const char *path, struct st_place *place,
                          const char **relative_path, struct stet_error *err) {
	int code = st_root_locate(root, st_str(path), place, err);
	if (code == 0)
		*relative_path = place->path;
	const char *plain = code == STET_E_NOT_FOUND ? st_root_plain(root, path) : NULL;
	if (plain)
		*relative_path = plain;
	return plain ? 0 : code;
}

void st_root_release(struct st_root *root) {
	st_close_at(&root->fd);
	free(root->path);
	free(root->spelled);
	*root = (struct st_root)ST_ROOT_INIT;
}
