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
#ifndef STET_FS_VERSIONS_VERSIONS_H
#define STET_FS_VERSIONS_VERSIONS_H

#include "base/background.h"
#include "base/buf.h"
#include "base/notices.h"
#include "fs/file/hash.h"
#include "fs/versions/state_dir.h"

/** How many bytes there is room for unless a caller says otherwise, and for one version at most. */
#define ST_VERSIONS_MAX ((size_t)64 << 20)
#define ST_VERSIONS_FILE_MAX ((size_t)16 << 20)

struct st_versions {
	/** Where replaced files are moved, and where they are archived. */
	struct st_state_folder moved, archive;
	struct st_notices *notices;
	/** Archives what was moved; NULL if only st_versions_release() does. */
	struct st_background *background;
	struct st_background_task task;
	/** How many bytes there is room for. */
	_Atomic size_t max;
	/** This user may have no state directory here. */
	_Atomic bool none;
	/** This process moved files. */
	_Atomic bool used;
	/** A notice said that something could not be stored. */
	_Atomic bool told;
};

/** Everything is borrowed; background may be NULL. Opens nothing yet. */
void st_versions_init(struct st_versions *versions, const struct st_root *root,
                      const char *state_dir, struct st_notices *notices,
                      struct st_background *background);

/** Archive what this process moved, up to a bound: the next process finds the rest. */
void st_versions_release(struct st_versions *versions);

/**
 * Move a file to the versions. Not one that is large, of another user, has more
 * names, or runs with another's rights; nor across filesystems, nor if it was
 * moved there already.
 *
 * @fd     The file, open.
 * @dirfd  Where its name is.
 * @return false if it is still where it was.
 */
bool st_versions_move(struct st_versions *versions, int fd, int dirfd, const char *name,
                      const struct st_hash *hash);

/** Archive bytes, unless they are too many. Whether they are there now; a version that was there counts as used. */
bool st_versions_put(struct st_versions *versions, const struct st_hash *hash, struct st_str bytes);

/** The bytes of a version, in place of what out held. False if it is not there. */
bool st_versions_get(struct st_versions *versions, const struct st_hash *hash, struct st_buf *out);

/** Archive one of the files that were moved. False if there is none, or it cannot be done now. */
bool st_versions_archive(struct st_versions *versions);

/** Give half of what a folder takes back to the disk, the least recently used first. Whether there was anything. */
bool st_versions_spare(struct st_state_folder *folder);

/** How many bytes there are, in a state directory that is open. */
uint64_t st_versions_bytes(int state_fd);

#endif
