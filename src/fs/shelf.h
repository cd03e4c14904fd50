/**
 * The shelf: earlier versions of files, by hash, below the state directory.
 *
 * Undo brings one back, and diffs start from it. The version that a commit
 * replaces need not be copied while somebody waits for an answer: the file
 * itself goes to `moved/HASH` instead of being removed. The background worker
 * archives it: its bytes go to `versions/HASH`, compressed and with all bits
 * inverted, so that a search of the tree does not find old text there.
 *
 * What comes back is hashed. So a file is none that somebody still wrote to
 * after it was replaced, or that a crash left half written. There is room for
 * so many bytes, and the least recently used versions go; what is gone costs a
 * diff, never a wrong answer. Several processes share a shelf.
 */
#ifndef STET_FS_SHELF_H
#define STET_FS_SHELF_H

#include "fs/guard.h"

/** How many bytes there is room for unless a caller says otherwise, and for one version at most. */
#define ST_SHELF_MAX ((size_t)64 << 20)
#define ST_SHELF_FILE_MAX ((size_t)16 << 20)

/**
 * Move a file to the shelf. Not one that is large, of another user, has more
 * names, or runs with another's rights; nor across filesystems, nor if it was
 * moved there already.
 *
 * @fd     The file, open.
 * @dirfd  Where its name is.
 * @return false if it is still where it was.
 */
bool st_shelf_move(struct st_guard *guard, int fd, int dirfd, const char *name,
                   const struct st_hash *hash);

/** Put a version there, if it is not too large. Whether it is there now; one that was counts as used. */
bool st_shelf_put(struct st_guard *guard, const struct st_hash *hash, struct st_str bytes);

/** The bytes of a version, in place of what out held. False if it is not there. */
bool st_shelf_get(struct st_guard *guard, const struct st_hash *hash, struct st_buf *out);

/** Archive one of the files that were moved there. False if there is none, or it cannot be done now. */
bool st_shelf_wrap(struct st_guard *guard);

/** The same as a task of the background worker, with the guard as data: one after the other. */
void st_shelf_task(void *data);

/** Archive what this process moved there, up to a bound: there is no worker any more. */
void st_shelf_flush(struct st_guard *guard);

/** The disk is full: give some of it back, the least recently used first. Whether there was anything. */
bool st_shelf_spare(struct st_guard *guard);

/** How many bytes there are, in a state directory that is open. */
uint64_t st_shelf_bytes(int state_fd);

#endif
