/**
 * Files that were replaced a moment ago.
 *
 * A process that looked up a path just before the file there was exchanged
 * may open and write the old file just after. Nobody would ever see what it
 * wrote, so the old file's descriptor is held for a grace period and looked at
 * again: by the calls that follow, and by the background worker when the grace
 * period is over. Bytes that moved are kept (fs/keep.h) and reported.
 */
#ifndef STET_FS_DISPLACED_H
#define STET_FS_DISPLACED_H

#include "fs/guard.h"

/** How long a displaced file is held, and how long a process that exits waits for stragglers. */
enum { ST_GRACE_MS = 2000, ST_GRACE_EXIT_MS = 10 };

/**
 * Hold the descriptor of a file that was just replaced.
 *
 * @fd     Taken; must be readable.
 * @path   The path it had.
 * @hash   Its bytes that are accounted for; others that it comes to hold are kept.
 * @stamp  What it was when it had these bytes.
 */
void st_displaced_add(struct st_guard *guard, int fd, const char *path, const struct st_hash *hash,
                      const struct st_stamp *stamp);

/** Look at those that are due. Every operation calls this; cheap when nothing is due. */
void st_displaced_look(struct st_guard *guard);

/** The same as a task of the background worker, with the guard as data: when a grace period is over. */
void st_displaced_task(void *data);

/**
 * We took a file's last name away, and nobody wrote to it since its bytes were
 * looked at: that its ctime moved means nothing.
 *
 * @st  What fstat says of it now.
 */
void st_displaced_unlinked(struct st_guard *guard, const struct stat *st);

/**
 * Look at all of them a last time, when each is at least grace_ms old and
 * nobody has it open for writing any more (but wait no longer than
 * ST_GRACE_MS).
 *
 * @return Whether there were any.
 */
bool st_displaced_settle(struct st_guard *guard, int64_t grace_ms);

#endif
