/**
 * What all commits of a workspace share.
 *
 * - *Notices* (base/notices.h): sentences for the next answer.
 * - *Rescued bytes* (fs/versions/rescued.h): another process's bytes that would
 *   otherwise be lost.
 * - *Late writes* (fs/versions/late_writes.h): files that were replaced just now,
 *   to which another process may still write.
 * - *Versions* (fs/versions/versions.h): the replaced files, for undo and diffs.
 * - *Journals* (fs/write/journal.h): what change sets in progress replace.
 *
 * Each uses only those before it. All are thread-safe, and all sessions of a
 * workspace share them.
 */
#ifndef STET_FS_WRITE_WRITE_CONTEXT_H
#define STET_FS_WRITE_WRITE_CONTEXT_H

#include "fs/versions/late_writes.h"
#include "fs/versions/versions.h"

enum { ST_SWEPT_MAX = 64 };

/** A directory without leftovers of crashed commits, as of its mtime. */
struct st_swept {
	dev_t dev;
	ino_t ino;
	struct timespec mtime;
};

struct st_write_context {
	const struct st_root *root;
	const char *state_dir;
	struct st_notices notices;
	struct st_rescued rescued;
	struct st_late_writes late_writes;
	struct st_versions versions;
	/** The journals of change sets (fs/write/journal.h). */
	struct st_state_folder journals;
	/** Guards the members below. */
	pthread_mutex_t lock;
	struct st_swept swept[ST_SWEPT_MAX];
	size_t swept_next;
	/** The name of a journal that this process could not recover. */
	char stuck_journal[32];
};

/**
 * Fill in a write context. Opens no files yet.
 *
 * @root, @state_dir (a name), @background  Borrowed; background may be NULL.
 */
void st_write_context_init(struct st_write_context *writes, const struct st_root *root,
                           const char *state_dir, struct st_background *background);

/**
 * Check replaced files a last time, archive some of them, and free everything.
 * May wait for up to ST_GRACE_MS. The background worker must have ended.
 */
void st_write_context_release(struct st_write_context *writes);

/** Use another state directory; the name is borrowed. Call it before the first commit. */
void st_write_set_state_dir(struct st_write_context *writes, const char *state_dir);

/** Add a sentence for the next answer. */
#define st_write_notice(writes, ...) st_notices_add(&(writes)->notices, __VA_ARGS__)

/**
 * Take the oldest notice; the caller frees it. NULL if there is none.
 *
 * @reported  Whoever has to know of a rescued copy gets the notice. If not, a later process reports the copy again.
 */
static inline char *st_write_take_notice(struct st_write_context *writes, bool reported) {
	struct st_notice notice;
	if (!writes->notices.any || !st_notices_take(&writes->notices, &notice))
		return NULL;
	if (notice.about && reported)
		st_rescued_mark_reported(&writes->rescued, notice.about);
	free(notice.about);
	return notice.text;
}

/** The same, for an answer. */
static inline char *st_write_next_notice(struct st_write_context *writes) {
	return st_write_take_notice(writes, true);
}

/** The disk is full: remove earlier versions. False if there was none to remove. */
bool st_write_free_space(struct st_write_context *writes);

#endif
