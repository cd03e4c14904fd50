/**
 * fs/write changes files without losing what others write: commits, removals,
 * moves. This header replaces one version of a file, and no other version.
 *
 * The check happens with the replacement, not before it. A commit writes the
 * new bytes to a temporary file beside the old file, exchanges the two in one
 * step, and then verifies the replaced file. If that is not the expected
 * version, the commit exchanges the two back and reports a conflict. Readers
 * find the old file or the new one, never a part of either.
 *
 *     struct st_commit commit = {
 *             .path = ST_STR("a.c"), .bytes = text, .expected = &seen.hash,
 *     };
 *     st_auto(st_committed) done = ST_COMMITTED_INIT;
 *
 *     int code = st_commit(&root, &writes, &commit, &done, err);
 *     if (code == STET_E_CONFLICT)
 *             show(&done.current);
 *
 * A lock on the directory serialises commits. Other programs are noticed: if
 * they write to the file, by a lease and by its bytes; if they replace it, by
 * its identity. If a commit exchanges the files back, readers may have seen the
 * new bytes for a moment.
 */
#ifndef STET_FS_WRITE_COMMIT_H
#define STET_FS_WRITE_COMMIT_H

#include "fs/write/write_context.h"

/** How a commit replaced a file: value, and the word in answers. */
#define ST_COMMIT_WAYS(X) \
	X(NONE, "none")           /* nothing was written */ \
	X(EXCHANGED, "exchanged") /* one step, verified afterwards */ \
	X(CREATED, "created")     /* one step; there was no file */ \
	X(VERIFIED, "verified")   /* this filesystem has no exchange: two steps, verified */ \
	X(IN_PLACE, "in-place")   /* rewritten in place: not atomic if the machine crashes */

enum st_commit_way {
#define X(name, text) ST_COMMIT_##name,
	ST_COMMIT_WAYS(X)
#undef X
};

const char *st_commit_way_name(enum st_commit_way way);

/** What to write, and which version to replace. Views are borrowed during the call. */
struct st_commit {
	struct st_str path;
	struct st_str bytes;
	/** The version to replace; NULL if the file must not exist. */
	const struct st_hash *expected;
	/** The bytes of that version, to save hashing the file; ptr NULL if the caller has none. */
	struct st_str old;
	/** Move the replaced file to the versions (fs/versions/versions.h), if possible. */
	bool archive;
	/** Do not wait for the disk; a crash of the machine may undo the write. */
	bool relaxed;
	/** The largest file to read; 0 for ST_FILE_MAX. */
	size_t max;
};

/** The result of a commit. */
struct st_committed {
	enum st_commit_way way;
	/** The file already had these bytes: nothing was written. */
	bool noop;
	/** The file's canonical path relative to the root. */
	char *path;
	/** The replaced file was moved to the versions. */
	bool archived;
	/**
	 * The name of the filesystem, if others may write to it unseen
	 * (fs/path/filesystem.h) and a write of theirs at this moment may be lost; else NULL.
	 */
	const char *unproven;
	/** On such a filesystem: the file already holds other bytes than the commit wrote. */
	bool overtaken;
	/** How many other hard links a file has that was rewritten in place: they changed too. */
	size_t other_names;
	/** The new version; it does not exist after st_remove(). */
	struct st_version version;
	/** On STET_E_CONFLICT: the file's current version, or deleted = true. */
	struct st_file current;
	bool deleted;
};

#define ST_COMMITTED_INIT \
	{ .current = ST_FILE_INIT }

void st_committed_release(struct st_committed *done);

/**
 * Replace or create a file.
 *
 * @return 0 (done->noop if nothing had to be written), STET_E_CONFLICT (not
 *         the expected version; see done->current), STET_E_BUSY (another
 *         process has the file open for writing, or kept changing it),
 *         STET_E_PROTECTED, the codes of st_root_locate(), STET_E_KIND,
 *         STET_E_TOO_BIG, STET_E_ACCESS, STET_E_NO_SPACE, STET_E_LIMIT,
 *         STET_E_NOMEM, STET_E_CANCELLED, STET_E_IO. After an error the file
 *         is as it was.
 */
[[nodiscard]] int st_commit(const struct st_root *root, struct st_write_context *writes,
                            const struct st_commit *commit, struct st_committed *done,
                            struct stet_error *err);

#endif
