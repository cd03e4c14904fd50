/**
 * What the commits of a workspace share: where they report, what they rescue,
 * the files they just replaced, and earlier versions.
 *
 * - *Notices* (base/notices.h): sentences for the next answer.
 * - *Rescued bytes* (fs/versions/rescued.h): another writer's bytes that stet came to hold.
 * - *Late writes* (fs/versions/late_writes.h): a file that was just replaced can still
 *   receive the write of a process that had looked up its path before.
 * - *Versions* (fs/versions/versions.h): the replaced files, for undo and diffs.
 *
 * Each knows only those before it. All are shared by the sessions of a
 * workspace and safe to use from several threads.
 */
#ifndef STET_FS_WRITE_WRITE_CONTEXT_H
#define STET_FS_WRITE_WRITE_CONTEXT_H

#include "fs/versions/late_writes.h"
#include "fs/versions/versions.h"

enum { ST_SWEPT_MAX = 64 };

/** A directory as we left it: no leftover of a crashed commit is in it. */
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
	/** Guards what is below. */
	pthread_mutex_t lock;
	struct st_swept swept[ST_SWEPT_MAX];
	size_t swept_next;
};

/**
 * Fill a guard. Opens nothing yet.
 *
 * @root, @state_dir (a name), @background  Borrowed for its life; background may be NULL.
 */
void st_write_context_init(struct st_write_context *writes, const struct st_root *root,
                           const char *state_dir, struct st_background *background);

/**
 * Free everything, after the background worker has ended. Replaced files are
 * looked at a last time, which may wait a little, and archived.
 */
void st_write_context_release(struct st_write_context *writes);

/** Use another state directory; the name is borrowed. Before anything is written. */
void st_write_set_state_dir(struct st_write_context *writes, const char *state_dir);

/** Add a sentence for the next answer. */
#define st_write_notice(writes, ...) st_notices_add(&(writes)->notices, __VA_ARGS__)

/** Take the oldest notice; the caller frees it. NULL if there is none. */
char *st_write_next_notice(struct st_write_context *writes);

/** The disk is full: give some of it back. Whether there was anything. */
bool st_write_spare(struct st_write_context *writes);

/** Remember a directory as clean of leftovers. */
void st_write_swept(struct st_write_context *writes, const struct stat *dir);

/** Whether a directory has not changed since it was remembered as clean. */
bool st_write_is_swept(struct st_write_context *writes, const struct stat *dir);

#endif
