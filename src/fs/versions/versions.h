/**
 * fs/versions stores what must survive a write: earlier versions, rescued
 * bytes and late writes, in the state directory. This header stores earlier
 * versions of files by their hash, for undo and diffs.
 *
 * A commit does not copy the version that it replaces: it moves the old file to
 * `moved/HASH`. Later the background worker archives it: it writes the bytes to
 * `versions/HASH`, compressed and with all bits inverted, so that a search of
 * the tree does not find old text there.
 *
 * st_versions_get() hashes what it reads, so it never returns bytes that a late
 * write changed or a crash left half written. When the space is used up, the
 * least recently used versions are removed; a missing version costs a diff or
 * an undo, never a wrong answer. Processes share the versions of a workspace.
 */
#ifndef STET_FS_VERSIONS_VERSIONS_H
#define STET_FS_VERSIONS_VERSIONS_H

#include "base/thread.h"
#include "base/buf.h"
#include "base/notices.h"
#include "fs/file/hash.h"
#include "fs/versions/state_dir.h"

/** The default limit for all versions, and the limit for one version, in bytes. */
#define ST_VERSIONS_MAX ((size_t)64 << 20)
#define ST_VERSIONS_FILE_MAX ((size_t)16 << 20)

/** For how many days a version is kept after its last use unless a caller says otherwise, and at most. */
enum { ST_VERSION_DAYS = 30, ST_VERSION_DAYS_MAX = 36500 };

struct st_versions {
	/** Replaced files, and archived versions. */
	struct st_state_folder moved, archive;
	struct st_notices *notices;
	/** Archives moved files; NULL if only st_versions_release() does. */
	struct st_background *background;
	struct st_background_task task;
	/** The limit in bytes. */
	_Atomic size_t max;
	/** For how many days a version is kept after its last use; 0 for any time. */
	_Atomic unsigned max_days;
	/** This user may not have a state directory here. */
	_Atomic bool none;
	/** This process has moved files. */
	_Atomic bool used;
	/** A notice said that versions could not be stored. */
	_Atomic bool reported;
};

/** Everything is borrowed; background may be NULL. Opens nothing yet. */
void st_versions_init(struct st_versions *versions, const struct st_root *root,
                      const char *state_dir, struct st_notices *notices,
                      struct st_background *background);

/** Archive some of the moved files, then free everything. The next process archives the rest. */
void st_versions_release(struct st_versions *versions);

/**
 * Move a replaced file to the versions. Refuses files that are large, belong to
 * another user, have several names, are setuid or setgid, or are on another
 * filesystem, and versions that were moved already.
 *
 * @fd     The file, open.
 * @dirfd  The directory of its name.
 * @return false if the file is still in dirfd.
 */
bool st_versions_move(struct st_versions *versions, int fd, int dirfd, const char *name,
                      const struct st_hash *hash);

/** Archive bytes, or mark an archived version as used. False if they are not in the archive now. */
bool st_versions_put(struct st_versions *versions, const struct st_hash *hash, struct st_str bytes);

/** Replace the contents of out by the bytes of a version. False if the version is not stored. */
bool st_versions_get(struct st_versions *versions, const struct st_hash *hash, struct st_buf *out);

/** Archive one moved file. False if there is none, or if that failed. */
bool st_versions_archive(struct st_versions *versions);

/** The disk is full: remove half of a folder, the least recently used first. False if it is empty. */
bool st_versions_free_space(struct st_state_folder *folder);

/** How many bytes the versions in an open state directory take. */
uint64_t st_versions_bytes(int state_fd);

/** Whether a version has a file in a state directory that is open. The file is not read. */
bool st_versions_has(int state_fd, const struct st_hash *hash);

/** Remove the versions that are too old. Looks at them once an hour at most, whichever process does. */
void st_versions_expire(struct st_versions *versions);

#endif
