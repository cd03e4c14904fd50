/**
 * What a commit needs besides the file: a memory for what must not get lost.
 *
 * - *Kept bytes* (fs/keep.h): somebody's work that stet came to hold is saved
 *   below the state directory.
 * - *Displaced files* (fs/displaced.h): a file that was just replaced can
 *   still receive the write of somebody who had looked up its path before.
 * - *Notices*: sentences about such things for the next answer.
 *
 * A guard belongs to a workspace, is shared by its sessions and safe to use
 * from several threads.
 */
#ifndef STET_FS_GUARD_H
#define STET_FS_GUARD_H

#include <pthread.h>

#include "base/background.h"
#include "fs/file.h"

enum {
	ST_DISPLACED_MAX = 64,
	ST_NOTICES_MAX = 64,
	ST_SWEPT_MAX = 64,
};

/** A file that was replaced and may still be written to. */
struct st_displaced {
	int fd;
	char *path;
	/** The bytes that are accounted for, and the stamp they had. */
	struct st_hash hash;
	struct st_stamp stamp;
	/** Its filesystem is not trusted (fs/trust.h): only its bytes tell. */
	bool shared;
	int64_t since_ms;
	int64_t looked_ms;
};

/** A sentence for the next answer. */
struct st_notice {
	char *text;
	/** The name of the kept copy it tells of; NULL if it tells of none. */
	char *copy;
};

/** A directory as we left it: no leftover of a crashed commit is in it. */
struct st_swept {
	dev_t dev;
	ino_t ino;
	struct timespec mtime;
};

/** Where earlier versions are (fs/shelf.h). */
struct st_shelf {
	/** The directories of those that were moved there and of those that were written; -1 if not yet opened. */
	int moved_fd, versions_fd;
	/** There are none to be had. */
	_Atomic bool none;
	/** This process moved files there. */
	_Atomic bool used;
	/** How many bytes there is room for. */
	_Atomic size_t max;
	/** It was said that something could not be put there. */
	bool told;
};

struct st_guard {
	const struct st_root *root;
	const char *state_dir;
	/** Looks at displaced files when their time is up, and archives versions; NULL if there is none. */
	struct st_background *background;
	struct st_background_task look_task, archive_task;
	/** Guards everything below. */
	pthread_mutex_t lock;
	/** The directory of kept bytes; -1 if it was not opened yet. */
	int kept_fd;
	/** The copies of crashed rewrites have been reported. */
	bool recovered;
	struct st_displaced displaced[ST_DISPLACED_MAX];
	size_t displaced_count;
	/** How many may be held: their descriptors are a part of what the process may have. */
	size_t displaced_max;
	uint64_t displaced_bytes;
	/** How many are out of the ring, since somebody looks at them. */
	size_t displaced_out;
	struct st_notice notices[ST_NOTICES_MAX];
	size_t notice_count;
	size_t notices_dropped;
	/** Copies that notices told of so far. */
	uint64_t kept;
	struct st_swept swept[ST_SWEPT_MAX];
	size_t swept_next;
	struct st_shelf shelf;
};

/** Fill a guard; root and state_dir (a name) are borrowed for its life. Opens nothing yet. */
void st_guard_init(struct st_guard *guard, const struct st_root *root, const char *state_dir);

/** Free everything. Displaced files are looked at a last time, which may wait a little. */
void st_guard_release(struct st_guard *guard);

/**
 * A directory below the state directory, made when it is first needed.
 *
 * @fd     The member of the guard that is for it.
 * @return Its descriptor, good for the guard's life; or the codes of st_state_open().
 */
[[nodiscard]] int st_guard_open(struct st_guard *guard, const char *name, int *fd,
                                struct stet_error *err);

/** Add a sentence for the next answer. When too many wait, the newest are counted instead. */
__attribute__((format(printf, 2, 3))) void st_guard_notice(struct st_guard *guard,
                                                           const char *format, ...);

/** As st_guard_notice(), of a copy that counts as told of when the notice is taken (fs/keep.h). */
__attribute__((format(printf, 3, 4))) void
st_guard_notice_copy(struct st_guard *guard, const char *copy, const char *format, ...);

/** Take the oldest notice; the caller frees it. NULL if there is none. */
char *st_guard_next_notice(struct st_guard *guard);

/** Remember a directory as clean of leftovers. */
void st_guard_swept(struct st_guard *guard, const struct stat *dir);

/** Whether a directory has not changed since it was remembered as clean. */
bool st_guard_is_swept(struct st_guard *guard, const struct stat *dir);

#endif
