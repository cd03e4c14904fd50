/**
 * Directories below a root: opening, listing and making them.
 *
 * A listing is sorted by name, so that it can be shown in parts.
 *
 *     st_auto(st_dir) dir = ST_DIR_INIT;
 *     st_auto(st_listing) listing = {0};
 *
 *     if (st_dir_open(&root, ST_STR("src"), &dir, err) < 0 ||
 *         st_dir_list(&dir, &listing, err) < 0)
 *             return err->code;
 */
#ifndef STET_FS_PATH_DIRS_H
#define STET_FS_PATH_DIRS_H

#include <dirent.h>

#include "fs/path/root.h"

/** More entries of one directory are not listed. */
enum { ST_LISTING_MAX = 100000 };

struct st_dir {
	int fd;
	/** Below the root, links resolved; "" for the root. */
	char *path;
};

#define ST_DIR_INIT \
	{ .fd = -1 }

void st_dir_release(struct st_dir *dir);

/**
 * Open a directory for reading.
 *
 * @path   In any spelling that st_root_locate_as() takes.
 * @return 0, its codes, STET_E_KIND (not a directory), STET_E_ACCESS, STET_E_LIMIT.
 */
[[nodiscard]] int st_dir_open(const struct st_root *root, struct st_str path, struct st_dir *dir,
                              struct stet_error *err);

struct st_dir_entry {
	char *name;
	/** The S_IFMT bits. */
	mode_t type;
	/** As of st_dir_measure(). */
	int64_t size;
};

struct st_listing {
	struct st_dir_entry *entries;
	size_t count;
	/** There are more than ST_LISTING_MAX; the rest is not here. */
	bool cut;
};

void st_listing_release(struct st_listing *listing);

/** List a directory, without "." and "..". Returns 0, STET_E_NOMEM or STET_E_IO. */
[[nodiscard]] int st_dir_list(const struct st_dir *dir, struct st_listing *listing,
                              struct stet_error *err);

/** Fill in the sizes of regular files; 0 for what is gone or something else. */
void st_dir_measure(const struct st_dir *dir, struct st_listing *listing);

/**
 * Make a directory, and those above it that are missing. One that exists is
 * no failure.
 *
 * @state_dir  The state directory, below which nothing is made, nor in .git.
 * @made       Receives how many were made; may be NULL.
 * @path       Receives the path below the root; the caller frees it.
 * @return     0, STET_E_KIND (something else is in the way), STET_E_PROTECTED,
 *             the codes of st_root_locate(), STET_E_ACCESS, STET_E_NO_SPACE, STET_E_IO.
 */
[[nodiscard]] int st_dir_make(const struct st_root *root, struct st_str wanted,
                              const char *state_dir, size_t *made, char **path,
                              struct stet_error *err);

/** The entries of a directory that is open, from the first one on; to be closed. NULL with errno. */
DIR *st_dir_stream(int dirfd);

#endif
