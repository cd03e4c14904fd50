/**
 * Late writes: what other processes write to a file that was just replaced.
 *
 * A process that looked up a path just before the file there was exchanged
 * may open and write the old file just after. Nobody would ever see what it
 * wrote, so the old file's descriptor is held for a grace period and looked at
 * again: by the calls that follow, and by the background worker when the grace
 * period is over. Bytes that moved are rescued (fs/versions/rescued.h) and reported.
 */
#ifndef STET_FS_VERSIONS_LATE_WRITES_H
#define STET_FS_VERSIONS_LATE_WRITES_H

#include "base/background.h"
#include "fs/versions/rescued.h"

/** How long a replaced file is held, and how long a process that exits waits for stragglers. */
enum { ST_GRACE_MS = 2000, ST_GRACE_EXIT_MS = 10 };

enum { ST_LATE_WRITES_MAX = 64 };

/** A file that was replaced and may still be written to. */
struct st_late_write {
	int fd;
	char *path;
	/** The bytes that are accounted for, and the stamp they had. */
	struct st_hash hash;
	struct st_stamp stamp;
	/** Its filesystem is not trusted (fs/path/trust.h): only its bytes tell. */
	bool shared;
	int64_t since_ms;
	int64_t looked_ms;
};

/** The files of a workspace that were just replaced. Safe to use from several threads. */
struct st_late_writes {
	struct st_rescued *rescued;
	struct st_notices *notices;
	/** NULL if only calls look. */
	struct st_background *background;
	struct st_background_task task;
	/** Guards everything below. */
	pthread_mutex_t lock;
	struct st_late_write files[ST_LATE_WRITES_MAX];
	/** Changed with the lock. */
	_Atomic size_t count;
	/** How many may be held: their descriptors are a part of what the process may have. */
	size_t max;
	uint64_t bytes;
	/** How many are not among the files while somebody looks at them. */
	size_t out;
};

/** Everything is borrowed; background may be NULL. */
void st_late_writes_init(struct st_late_writes *late, struct st_rescued *rescued,
                         struct st_background *background);

/** Look at all files a last time, which may wait a little. */
void st_late_writes_release(struct st_late_writes *late);

/**
 * Hold the descriptor of a file that was just replaced.
 *
 * @fd     Taken; must be readable.
 * @path   The path it had.
 * @hash   Its bytes that are accounted for; others that it comes to hold are rescued.
 * @stamp  What it was when it had these bytes.
 */
void st_late_writes_add(struct st_late_writes *late, int fd, const char *path,
                        const struct st_hash *hash, const struct st_stamp *stamp);

/** Look at the files that are due. */
void st_late_writes_check_now(struct st_late_writes *late);

/** The same for every call: costs nothing if no file was replaced just now. */
static inline void st_late_writes_check(struct st_late_writes *late) {
	if (late->count > 0)
		st_late_writes_check_now(late);
}

/**
 * Look at all of them a last time, when each is at least grace_ms old and
 * nobody has it open for writing any more (but wait no longer than
 * ST_GRACE_MS).
 *
 * @return Whether there were any.
 */
bool st_late_writes_drain(struct st_late_writes *late, int64_t grace_ms);

#endif
