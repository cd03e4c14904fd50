/**
 * The root: a directory that nothing gets out of.
 *
 * A path is resolved once, from the root's descriptor, to a *place*: a
 * descriptor of the directory that holds the file, and the file's name in it.
 * Whatever happens to the path afterwards, the place stays what it was, and
 * every later call works on it. Symbolic links are followed while they stay
 * inside, so a place never names a link, and its path is the one true path of
 * the file below the root.
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
#include "fs/path/protected.h"
#include "fs/path/trust.h"

struct st_root {
	int fd;
	/** Its absolute path without links, and the absolute path as the caller spelled it. */
	char *path;
	char *spelled;
	dev_t dev;
	ino_t ino;
	/** How far its filesystem is trusted; others may be mounted below it. */
	enum st_trust trust;
	/** The kernel has no openat2 (or a sandbox forbids it): walk by hand. */
	bool no_openat2;
};

#define ST_ROOT_INIT \
	{ .fd = -1 }

/** How far the filesystem of an open file below the root is trusted; dev is its device. */
static inline enum st_trust st_root_trust(const struct st_root *root, int fd, dev_t dev) {
	return dev == root->dev ? root->trust : st_trust_of(fd, dev);
}

/** A file that is there or could be. */
struct st_place {
	int dirfd;
	/** Path below the root: no links, no dots, no leading slash. */
	char *path;
	/** Its last component, pointing into path. */
	const char *name;
	/** Whether something of that name exists, and its lstat if so. */
	bool exists;
	struct stat st;
};

#define ST_PLACE_INIT \
	{ .dirfd = -1 }

/**
 * Open a root.
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
 * @path   Relative to the root, or absolute and below it in any spelling.
 * @return 0 (whether or not the file itself exists), STET_E_INVALID (empty,
 *         too long, a NUL byte), STET_E_OUTSIDE, STET_E_NOT_FOUND (a
 *         directory on the way), STET_E_KIND (the path can only name a
 *         directory), STET_E_ACCESS, STET_E_NOMEM, STET_E_LIMIT, STET_E_IO.
 */
[[nodiscard]] int st_root_locate(const struct st_root *root, struct st_str path,
                                 struct st_place *place, struct stet_error *err);
void st_place_release(struct st_place *place);

enum st_locate_flags {
	/** A link at the end is meant itself: the place is the link's. */
	ST_LOCATE_LINK = 1 << 0,
	/** "." and "a/.." and "a/" will do too: the place is then `.` in that directory. */
	ST_LOCATE_DIR = 1 << 1,
};

/** As st_root_locate(), with flags of enum st_locate_flags. The root's own path is "". */
[[nodiscard]] int st_root_locate_as(const struct st_root *root, struct st_str path, unsigned flags,
                                    struct st_place *place, struct stet_error *err);

/**
 * Look at a file by a path that st_root_locate() gave, without opening it.
 *
 * @return 1 with *st filled, 0 if nothing is there or the way now leads
 *         through a link (locate it anew), or a negative code.
 */
[[nodiscard]] int st_root_peek(const struct st_root *root, const char *path, struct stat *st,
                               struct stet_error *err);

/**
 * The path below the root, if the spelling alone tells: relative, or absolute
 * with the root in front, and no "." or ".." or empty component in it. It is
 * a place's path only if no link is on the way, which st_root_peek() shows.
 *
 * @return A part of path, or NULL.
 */
const char *st_root_plain(const struct st_root *root, const char *path);

/**
 * A path as it is spelled, in one form: relative to the root, without "." and
 * doubled slashes. Links and ".." stay as they are.
 *
 * @return False if it is not below the root, or memory is short.
 */
bool st_root_spelling(const struct st_root *root, const char *path, struct st_buf *out);

/**
 * The path below the root of a file that need not exist, and neither the
 * directories on the way to it: then its spelling has to do.
 *
 * @place  What st_root_locate() gave, if it did.
 * @below  Receives a part of path, or of the place.
 * @return 0 or the codes of st_root_locate().
 */
[[nodiscard]] int st_root_relative_path(const struct st_root *root, const char *path,
                                        struct st_place *place, const char **relative_path,
                                        struct stet_error *err);

/**
 * Open a regular file by a path as st_root_plain() gives it, if no link is on
 * the way. Never blocks.
 *
 * @st     Receives what the file was just before it was opened.
 * @return A descriptor to read from, or -1: st_root_locate() will tell more.
 */
int st_root_open_plain(const struct st_root *root, const char *plain, struct stat *st);

#endif
