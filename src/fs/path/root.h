/**
 * fs/path turns the paths that callers write into files below one directory,
 * the root. This header has the root itself.
 *
 * st_root_locate() resolves a path once, from the root's descriptor, to a
 * *place*: an open descriptor of the directory that holds the file, and the
 * file's name in it. All later calls work on the place, so nobody can redirect
 * them by moving directories or links. Symbolic links are followed as long as
 * they stay below the root; a place therefore never names a link, and its path
 * is the canonical one.
 *
 *     st_auto(st_place) place = ST_PLACE_INIT;
 *     if (st_root_locate(&root, ST_STR("src/../a.c"), &place, err) < 0)
 *             return err->code;
 *     int fd = openat(place.dirfd, place.name, O_RDONLY | O_NOFOLLOW);
 */
#ifndef STET_FS_PATH_ROOT_H
#define STET_FS_PATH_ROOT_H

#include <sys/stat.h>

#include "base/buf.h"
#include "base/error.h"
#include "fs/path/filesystem.h"

struct st_root {
	int fd;
	/** The canonical absolute path, and the absolute path as the caller spelled it. */
	char *path;
	char *spelled;
	dev_t dev;
	ino_t ino;
	/** Of the root's own filesystem; others may be mounted below it. */
	enum st_trust trust;
	/** Resolve paths without openat2. Tests set it; old kernels are recognised call by call. */
	bool no_openat2;
};

#define ST_ROOT_INIT \
	{ .fd = -1 }

/** How far stet trusts the filesystem of an open file below the root; dev is the file's device. */
static inline enum st_trust st_root_trust(const struct st_root *root, int fd, dev_t dev) {
	return dev == root->dev ? root->trust : st_trust_of(fd, dev);
}

/** Where a file is, or could be created. */
struct st_place {
	int dirfd;
	/** Relative to the root, without links, "." and "..", without a leading slash. */
	char *path;
	/** The last component; points into path. */
	const char *name;
	/** Whether the name existed when it was located, and its lstat if so. */
	bool exists;
	struct stat st;
};

#define ST_PLACE_INIT \
	{ .dirfd = -1 }

/**
 * Open a root. Nothing below `.git` or a state directory can be one: the names
 * that are protected stand above it, where nobody would look for them.
 *
 * @path   A directory; relative ones start from the working directory.
 * @return 0, STET_E_NOT_FOUND, STET_E_KIND (not a directory), STET_E_ACCESS,
 *         STET_E_NOMEM, STET_E_LIMIT, STET_E_IO.
 */
[[nodiscard]] int st_root_open(struct st_root *root, const char *path, struct stet_error *err);
void st_root_release(struct st_root *root);

/**
 * Find the place of a path.
 *
 * @path   Relative to the root, or an absolute path below it in any spelling.
 * @return 0 (whether or not the file itself exists), STET_E_INVALID (empty,
 *         too long, a NUL byte), STET_E_OUTSIDE, STET_E_NOT_FOUND (a
 *         directory on the way), STET_E_KIND (the path can only name a
 *         directory), STET_E_ACCESS, STET_E_NOMEM, STET_E_LIMIT, STET_E_IO.
 */
[[nodiscard]] int st_root_locate(const struct st_root *root, struct st_str path,
                                 struct st_place *place, struct stet_error *err);
void st_place_release(struct st_place *place);

enum st_locate_flags {
	/** Do not follow a link in the last component: locate the link itself. */
	ST_LOCATE_LINK = 1 << 0,
	/** Accept ".", "a/.." and "a/" too: the place is then `.` in that directory. */
	ST_LOCATE_DIR = 1 << 1,
};

/** Like st_root_locate(), with flags of enum st_locate_flags. The root's own path is "". */
[[nodiscard]] int st_root_locate_as(const struct st_root *root, struct st_str path, unsigned flags,
                                    struct st_place *place, struct stet_error *err);

/**
 * Stat a file by the path of a place, without opening it.
 *
 * @return 1 with *st filled, 0 if the file is gone or the path now leads
 *         through a link (locate it again), or a negative code.
 */
[[nodiscard]] int st_root_peek(const struct st_root *root, const char *path, struct stat *st,
                               struct stet_error *err);

/**
 * The path relative to the root, if the spelling alone tells it: path is
 * relative, or begins with the root's path, and has no ".", ".." or empty
 * component. It is canonical only if it leads through no link, which
 * st_root_peek() checks.
 *
 * @return A part of path, or NULL.
 */
const char *st_root_plain(const struct st_root *root, const char *path);

/**
 * Make a path relative to the root and drop "." and doubled slashes. Links and
 * ".." stay as they are.
 *
 * @return False if the path is not below the root, or memory is short.
 */
bool st_root_spelling(const struct st_root *root, const char *path, struct st_buf *out);

/**
 * The path relative to the root of a file whose directories need not exist. If
 * they do not, the path is as the caller spelled it.
 *
 * @place          Receives the place, if the directories exist.
 * @relative_path  Receives a part of path, or of the place.
 * @return         0 or the codes of st_root_locate().
 */
[[nodiscard]] int st_root_relative_path(const struct st_root *root, const char *path,
                                        struct st_place *place, const char **relative_path,
                                        struct stet_error *err);

/**
 * Open a regular file by a path from st_root_plain(), if the path leads
 * through no link. Never blocks.
 *
 * @st     Receives the file's stat, taken just before the open.
 * @return A descriptor to read from, or -1: st_root_locate() tells why.
 */
int st_root_open_plain(const struct st_root *root, const char *plain, struct stat *st);

#endif
