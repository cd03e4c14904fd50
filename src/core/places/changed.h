/**
 * The changes of a checkout since a commit: committed, staged, dirty and new files
 * alike, as git lists them, with the bytes that the disk has.
 */
#ifndef STET_CORE_PLACES_CHANGED_H
#define STET_CORE_PLACES_CHANGED_H

#include "core/places/git.h"
#include "fs/path/root.h"

enum {
	/** More changed files are not compared. */
	ST_CHANGED_MAX = 20000,
};

/** Larger files are not compared. */
#define ST_SIDE_MAX ((size_t)8 << 20)

/** One version of a file: nothing, a blob, or what is on the disk. */
struct st_side {
	/** As in git's trees; 0 if it does not exist. */
	unsigned mode;
	/** Empty if the bytes are on the disk. */
	char oid[ST_OID_MAX + 1];
};

struct st_changed_file {
	/** Relative to the checkout; owned. */
	char *path;
	struct st_side base, now;
	/** The index in the list of the file it was renamed to or from; SIZE_MAX for none. */
	size_t to, from;
};

struct st_checkout_changes {
	/** Sorted by path, bytewise. */
	struct st_changed_file *items;
	size_t count;
	bool renames_found;
};

void st_changed_release(struct st_checkout_changes *changed);

/** List what a checkout changed since a commit. Returns 0 or a code with the reason. */
[[nodiscard]] int st_changed_read(struct st_git *git, const struct st_checkout *checkout,
                                  const char *commit, struct st_checkout_changes *changed,
                                  struct stet_error *err);

/** Find a file by its path; NULL if it did not change. */
const struct st_changed_file *st_changed_find(const struct st_checkout_changes *changed,
                                              const char *path);

/** The bytes of one version of a file. */
struct st_content {
	bool exists;
	/** As in git's trees: 0100644, 0100755, 0120000 for a link, 0160000 for a submodule. */
	unsigned mode;
	struct st_buf bytes;
};

#define ST_CONTENT_INIT \
	{ .bytes = ST_BUF_INIT }

void st_content_release(struct st_content *content);

/**
 * Read one version of a file.
 *
 * @root   Of the checkout, for bytes that are on the disk.
 * @return 0, STET_E_TOO_BIG, STET_E_NOT_FOUND (the blob is missing), or another code.
 */
[[nodiscard]] int st_content_read(struct st_git *git, const struct st_root *root, const char *path,
                                  const struct st_side *side, struct st_content *content,
                                  struct stet_error *err);

/**
 * Find which removed files were renamed to which new ones: first those with the
 * same bytes, then the most similar of at least 50 percent, as git does.
 */
[[nodiscard]] int st_changed_find_renames(struct st_git *git, const struct st_root *root,
                                          struct st_checkout_changes *changed,
                                          struct stet_error *err);

#endif
