/**
 * Open, list and make directories below a root.
 *
 * A listing is sorted by name, so that a caller can show it page by page.
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

#include "fs/path/root.h"

/** The most entries that a listing holds. */
enum { ST_LISTING_MAX = 100000 };

struct st_dir {
	int fd;
	/** Relative to the root, without links; "" for the root. */
	char *path;
};

#define ST_DIR_INIT \
	{ .fd = -1 }

void st_dir_release(struct st_dir *dir);

/**
 * Open a directory for reading.
 *
 * @path   In any spelling that st_root_locate_as() accepts.
 * @return 0, its codes, STET_E_KIND (not a directory), STET_E_ACCESS, STET_E_LIMIT.
 */
[[nodiscard]] int st_dir_open(const struct st_root *root, struct st_str path, struct st_dir *dir,
                              struct stet_error *err);

struct st_dir_entry {
	char *name;
	/** The S_IFMT bits. */
	mode_t type;
	/** 0 until st_dir_measure() fills it in. */
	int64_t size;
};

struct st_listing {
	struct st_dir_entry *entries;
	size_t count;
	/** The directory has more than ST_LISTING_MAX entries; the rest is missing here. */
	bool cut;
};

void st_listing_release(struct st_listing *listing);

/** List a directory, without "." and "..". Returns 0, STET_E_NOMEM, STET_E_CANCELLED or STET_E_IO. */
[[nodiscard]] int st_dir_list(const struct st_dir *dir, struct st_listing *listing,
                              struct stet_error *err);

/**
 * Fill in the sizes of regular files. Other entries, and files that are gone, keep 0.
 *
 * @return 0 or STET_E_CANCELLED.
 */
[[nodiscard]] int st_dir_measure(const struct st_dir *dir, struct st_listing *listing,
                                 struct stet_error *err);

/**
 * Make a directory and its missing parents. It may exist already.
 *
 * @state_dir  The name of the state directory. The function makes no
 *             directory in it, nor in .git.
 * @made       Receives the number of new directories; may be NULL.
 * @path       Receives the path relative to the root; the caller frees it.
 * @return     0, STET_E_KIND (a file has one of the names), STET_E_PROTECTED,
 *             the codes of st_root_locate(), STET_E_ACCESS, STET_E_NO_SPACE, STET_E_IO.
 */
[[nodiscard]] int st_dir_make(const struct st_root *root, struct st_str wanted,
                              const char *state_dir, size_t *made, char **path,
                              struct stet_error *err);

#endif
