/**
 * The safe replace: put new bytes in the place of a version of a file, and of
 * no other version.
 *
 * The check is made at the replacement, not before it. The new file is
 * written beside the old one and exchanged with it in one step; then what
 * came out is looked at. If it is not the version that was expected, the two
 * are exchanged back, and the caller gets a conflict. Readers find the old
 * file or the new one, never half of either.
 *
 *     struct st_commit commit = {
 *             .path = ST_STR("a.c"), .bytes = text, .expected = &seen.hash,
 *     };
 *     st_auto(st_committed) done = ST_COMMITTED_INIT;
 *
 *     int code = st_commit(&root, &guard, &commit, &done, err);
 *     if (code == STET_E_CONFLICT)
 *             show(&done.current);
 *
 * Processes that commit through stet take turns by a lock on the directory.
 * Others are caught: those that write the file, by a lease and by its bytes;
 * those that replace it, by its identity. In the moment between an exchange
 * and its taking back, readers can see the new bytes.
 */
#ifndef STET_FS_WRITE_COMMIT_H
#define STET_FS_WRITE_COMMIT_H

#include "fs/write/write_context.h"

/** How a file was replaced: value and the word used in answers. */
#define ST_COMMIT_WAYS(X) \
	X(NONE, "none")           /* nothing was written */ \
	X(EXCHANGED, "exchanged") /* one step, verified after it */ \
	X(CREATED, "created")     /* one step, nothing was there */ \
	X(VERIFIED, "verified")   /* no exchange on this filesystem: two steps, verified */ \
	X(IN_PLACE, "in-place")   /* rewritten; not atomic if the machine crashes */

enum st_commit_way {
#define X(name, text) ST_COMMIT_##name,
	ST_COMMIT_WAYS(X)
#undef X
};

/** The word for a way. */
const char *st_commit_way_name(enum st_commit_way way);

/** What to write where, and what must be there. Views are borrowed during the call. */
struct st_commit {
	struct st_str path;
	struct st_str bytes;
	/** The version to replace; NULL if there must be no file. */
	const struct st_hash *expected;
	/** The bytes of that version, if they are at hand; ptr NULL if not. Saves hashing the file. */
	struct st_str old;
	/** The replaced file goes to the shelf (fs/versions/versions.h), if it can. */
	bool shelve;
	/** Do not wait for the disk; a crash of the machine may undo the write. */
	bool relaxed;
	/** Read no file larger than this; 0 for ST_FILE_MAX. */
	size_t max;
};

/** What became of it. */
struct st_committed {
	enum st_commit_way way;
	/** The file had these bytes already: nothing was written. */
	bool noop;
	/** The file's path below the root, links resolved. */
	char *path;
	/** The replaced file is on the shelf. */
	bool shelved;
	/**
	 * The filesystem, if others may write below it (fs/path/trust.h) and what they
	 * wrote at this very moment may be lost; NULL if nothing of theirs can be.
	 */
	const char *unproven;
	/** Such a filesystem has other bytes already than those that were written. */
	bool overtaken;
	/** How many other names the file has that was rewritten: it changed under those as well. */
	size_t other_names;
	/** The new version, if it was done; there is none after st_remove(). */
	struct st_version version;
	/** On STET_E_CONFLICT: what is there instead, or deleted = true. */
	struct st_file current;
	bool deleted;
};

#define ST_COMMITTED_INIT \
	{ .current = ST_FILE_INIT }

void st_committed_release(struct st_committed *done);

/**
 * Replace or create a file.
 *
 * @return 0 (done->noop if nothing had to be written),
 *         STET_E_CONFLICT (not the expected version; done->current tells),
 *         STET_E_BUSY (open for writing in another process, or other writers
 *         were always faster), STET_E_PROTECTED, the codes of
 *         st_root_locate(), STET_E_KIND, STET_E_TOO_BIG, STET_E_ACCESS,
 *         STET_E_NO_SPACE, STET_E_LIMIT, STET_E_NOMEM, STET_E_IO.
 *         After any of them the file is as it was.
 */
[[nodiscard]] int st_commit(const struct st_root *root, struct st_write_context *writes,
                            const struct st_commit *commit, struct st_committed *done,
                            struct stet_error *err);

#endif
