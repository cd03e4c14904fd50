/**
 * The temporary file of a commit, and what a crashed one leaves behind.
 *
 * Its name is the commit's journal. `.stet-EXPECTED-NEW-NAME-RANDOMMARK.part` is
 * a file of ours, complete or not; the same with `.tmp` takes part in an
 * exchange and may hold what somebody else wrote. EXPECTED and NEW are the
 * hashes of the version to replace and of the new bytes (16 digits each), NAME
 * that of the target's name (8). MARK proves that this user's stet made the name
 * (fs/versions/user_key.h): a file of such a name that came with a clone is an ordinary
 * file. The owner holds a lock on the file until it
 * has the target's name. So whoever writes to the directory next can tell a
 * leftover from work in progress, and somebody's bytes from our own, without
 * another record that could be lost by itself.
 */
#ifndef STET_FS_WRITE_TEMP_H
#define STET_FS_WRITE_TEMP_H

#include "fs/write/write_context.h"

/** How many digits of the hash of a target's name are in a temporary one, and the room for that. */
enum { ST_TEMP_TARGET = 8, ST_TEMP_NAME = 80 };

struct st_temp {
	int dirfd;
	/** Open for reading, and locked. */
	int fd;
	/** Its stamp when it was complete. */
	struct st_stamp stamp;
	/** The mtime of the directory just after it was made there. */
	struct timespec dir_mtime;
	/** What replaces what, for its name. */
	struct st_hash expected, hash;
	char target[ST_TEMP_TARGET + 1];
	char name[ST_TEMP_NAME];
	/** There is a file of that name that is ours to remove. */
	bool named;
};

#define ST_TEMP_INIT \
	{ .dirfd = -1, .fd = -1 }

/** What a temporary file is to hold, and for whom. Views are borrowed during the call. */
struct st_temp_plan {
	/** The name it is made for. */
	const char *target;
	/** Take mode, owner, extended attributes and ACL from this open file; -1 for a new file's usual ones. */
	int like;
	/** The version it is to replace; may be NULL. */
	const struct st_hash *expected;
	struct st_str bytes;
	/** Their hash. */
	struct st_hash hash;
	/** Only the bytes need to be on the disk when the call returns, not owner, mode and attributes. */
	bool relaxed;
};

/**
 * Write bytes to a new temporary file in a directory.
 *
 * @return 0; 1 if the metadata cannot be reproduced by this user (nothing is
 *         left behind); or a negative code, with errno.
 */
[[nodiscard]] int st_temp_write(struct st_temp *temp, int dirfd, const struct st_temp_plan *plan,
                                struct stet_error *err);

/**
 * Make it ready for an exchange: from now on its name may come to hold a
 * foreign file. Returns 0, or -1 with errno (ENOENT: it was taken for a
 * leftover; write it again).
 */
[[nodiscard]] int st_temp_arm(struct st_temp *temp);

/** Choose another name of the same kind for what comes out of an exchange. 0, or -1 with errno. */
[[nodiscard]] int st_temp_second_name(const struct st_temp *temp, char name[ST_TEMP_NAME]);

/**
 * Choose a name for a file that is taken away: if the process dies then, what
 * is under that name is dealt with as after an exchange.
 *
 * @target    The name it has.
 * @expected  Its bytes, which may go.
 * @return 0, STET_E_NOMEM or STET_E_IO.
 */
[[nodiscard]] int st_temp_aside(struct st_temp *temp, const char *target,
                                const struct st_hash *expected, struct stet_error *err);

/**
 * Write the name that a temporary file gets for its two hashes, its target and
 * a random number. False without a key for the mark.
 */
[[nodiscard]] bool st_temp_name(struct st_temp *temp, uint32_t random, bool armed);

/** Remove the file if it still has its temporary name, and close it. */
void st_temp_release(struct st_temp *temp);

/**
 * Deal with the leftovers in a directory: one that is locked is somebody's
 * work in progress; one that is our own, or holds the expected or the new
 * bytes of its commit, is removed; the bytes of any other are kept, reported,
 * and the file removed. What cannot be kept stays where it is. The caller
 * holds the directory's lock.
 *
 * @own    The caller's own temporary file, which is left alone.
 * @dir    The directory's path below the root, "" for the root, for messages.
 * @return Whether no other one is there any more.
 */
bool st_temp_sweep(struct st_write_context *writes, const struct st_temp *own, const char *dir);

#endif
