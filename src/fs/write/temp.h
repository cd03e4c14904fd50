/**
 * The temporary file of a commit, and the leftovers of crashed commits.
 *
 * The name is the commit's journal: `.stet-EXPECTED-NEW-TARGET-RANDOMMARK.part`.
 * EXPECTED and NEW are the hashes of the version to replace and of the new
 * bytes (16 digits each), TARGET is the hash of the target's name (8 digits).
 * MARK proves that this user's stet made the name (fs/versions/state_dir.h); a
 * file of such a name that came with a clone is an ordinary file. A `.part` file
 * holds our own bytes, complete or not. Before the exchange the commit renames
 * it to `.tmp` ("arms" it): from then on the name may lead to another process's
 * file. The commit holds a lock on the file until it has the target's name. So
 * the next commit in the directory can tell a leftover from a commit in
 * progress, and another process's bytes from our own.
 */
#ifndef STET_FS_WRITE_TEMP_H
#define STET_FS_WRITE_TEMP_H

#include "fs/write/write_context.h"

/** The number of digits in TARGET, and the size of a buffer for the whole name. */
enum { ST_TEMP_TARGET = 8, ST_TEMP_NAME = 80 };

struct st_temp {
	int dirfd;
	/** Open for reading, and locked. */
	int fd;
	/** The stamp when the file was complete. */
	struct st_stamp stamp;
	/** The mtime of the directory just after the file was made. */
	struct timespec dir_mtime;
	/** The parts of the name. */
	struct st_hash expected, hash;
	char target[ST_TEMP_TARGET + 1];
	char name[ST_TEMP_NAME];
	/** A file of that name exists, and we have to remove it. */
	bool named;
};

#define ST_TEMP_INIT \
	{ .dirfd = -1, .fd = -1 }

/** What to write to a temporary file. Views are borrowed during the call. */
struct st_temp_plan {
	/** The name of the file to replace. */
	const char *target;
	/** Copy mode, owner, extended attributes and ACL from this open file; -1 for the defaults. */
	int like;
	/** The version to replace; may be NULL. */
	const struct st_hash *expected;
	struct st_str bytes;
	/** The hash of bytes. */
	struct st_hash hash;
	/** Sync only the bytes, not owner, mode and attributes. */
	bool relaxed;
};

/**
 * Write bytes to a new temporary file in a directory.
 *
 * @return 0; 1 if this user cannot copy the metadata (no file is left); or a
 *         negative code, with errno.
 */
[[nodiscard]] int st_temp_write(struct st_temp *temp, int dirfd, const struct st_temp_plan *plan,
                                struct stet_error *err);

/**
 * Rename `.part` to `.tmp`, ready for an exchange. Returns 0, or -1 with errno
 * (ENOENT: another commit took the file for a leftover; write it again).
 */
[[nodiscard]] int st_temp_arm(struct st_temp *temp);

/** Choose another `.tmp` name, for the replaced file. Returns 0, or -1 with errno. */
[[nodiscard]] int st_temp_second_name(const struct st_temp *temp, char name[ST_TEMP_NAME]);

/**
 * Choose a `.tmp` name for a file that is about to be removed. If the process
 * dies, the next commit treats that name like the leftover of an exchange.
 *
 * @target    The file's present name.
 * @expected  The hash of the bytes that may be removed.
 * @return 0, STET_E_NOMEM or STET_E_IO.
 */
[[nodiscard]] int st_temp_aside(struct st_temp *temp, const char *target,
                                const struct st_hash *expected, struct stet_error *err);

/**
 * Make temp->name from the two hashes, the target and a random number. False
 * if there is no key for the mark.
 */
[[nodiscard]] bool st_temp_name(struct st_temp *temp, uint32_t random, bool armed);

/** Remove the file if temp->named, and close it. */
void st_temp_release(struct st_temp *temp);

/**
 * Remove the leftovers of crashed commits from a directory. Files that are
 * locked belong to commits in progress and stay. A leftover that holds neither
 * the expected nor the new bytes of its commit is another process's file: it is
 * rescued and reported first, and stays if that fails. The caller holds the
 * directory's lock.
 *
 * @own    The caller's own temporary file, which stays.
 * @dir    The directory's path relative to the root, "" for the root.
 * @return Whether no other temporary file is left.
 */
bool st_temp_sweep(struct st_write_context *writes, const struct st_temp *own, const char *dir);

/** Whether a file name is that of a temporary file of this user's stet, in use or left over. */
bool st_temp_is_own(const char *name);

/** Remember that a directory has no leftovers. */
void st_temp_set_swept(struct st_write_context *writes, const struct stat *dir);

/** Whether a directory has no leftovers and has not changed since st_temp_set_swept(). */
bool st_temp_is_swept(struct st_write_context *writes, const struct stat *dir);

#endif
