/**
 * Late writes: another process writes to a file just after stet replaced it.
 *
 * A process that looked up a path just before stet replaced the file, or had it
 * open where there are no leases, may write to the old file just afterwards, and
 * that write would be lost. So stet keeps the old file's descriptor for a grace
 * period and checks it again: in the next calls, and in the background worker
 * when the grace period is over, or earlier if many files are held. If the bytes
 * changed, stet rescues them (fs/versions/rescued.h) and reports it.
 */
#ifndef STET_FS_VERSIONS_LATE_WRITES_H
#define STET_FS_VERSIONS_LATE_WRITES_H

#include "base/thread.h"
#include "fs/versions/rescued.h"

/** How long stet checks a replaced file, and how long a process that exits does. */
enum { ST_GRACE_MS = 2000, ST_GRACE_EXIT_MS = 10 };

enum { ST_LATE_WRITES_MAX = 64 };

/** A replaced file that another process may still write to. */
struct st_late_write {
	int fd;
	char *path;
	/** The bytes that are stored elsewhere, and the file's stamp with them. */
	struct st_hash hash;
	struct st_stamp stamp;
	/** The filesystem is not trusted (fs/path/filesystem.h): compare bytes, not stamps. */
	bool shared;
	int64_t since_ms;
	int64_t checked_ms;
};

/** The files of a workspace that stet replaced just now. Thread-safe. */
struct st_late_writes {
	struct st_rescued *rescued;
	struct st_notices *notices;
	/** NULL if only calls check the files. */
	struct st_background *background;
	struct st_background_task task;
	/** Guards all members below. */
	pthread_mutex_t lock;
	struct st_late_write files[ST_LATE_WRITES_MAX];
	/** Changes under the lock only; may be read without it. */
	_Atomic size_t count;
	/** The most files to hold: each needs one of the process's descriptors. */
	size_t max;
	uint64_t bytes;
	/** How many files a thread has taken out of the array to check them. */
	size_t taken;
};

/** Everything is borrowed; background may be NULL. */
void st_late_writes_init(struct st_late_writes *late, struct st_rescued *rescued,
                         struct st_background *background);

/** Check all files a last time; may wait for up to ST_GRACE_MS. */
void st_late_writes_release(struct st_late_writes *late);

/**
 * Watch a file that was just replaced.
 *
 * @fd     Readable; late_writes owns and closes it.
 * @path   The path that the file had.
 * @hash   Of the bytes that need no rescue.
 * @stamp  The file's stamp when it had these bytes.
 */
void st_late_writes_add(struct st_late_writes *late, int fd, const char *path,
                        const struct st_hash *hash, const struct st_stamp *stamp);

/** Check the files that are due. */
void st_late_writes_check_now(struct st_late_writes *late);

/** The same, inline: costs nothing if no file was replaced just now. Reads, commits and tool calls do this. */
static inline void st_late_writes_check(struct st_late_writes *late) {
	if (late->count > 0)
		st_late_writes_check_now(late);
}

/**
 * Check all files a last time and close them. Waits until each file is at
 * least grace_ms old and no other process has it open for writing, but no
 * longer than ST_GRACE_MS.
 *
 * @return Whether there were any files.
 */
bool st_late_writes_drain(struct st_late_writes *late, int64_t grace_ms);

#endif
