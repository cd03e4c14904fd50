/**
 * A stamp is the part of stat that identifies a version of a file. If the stamp
 * is unchanged, stet need not read the file again.
 *
 * A write, a rename and a restored mtime all change the stamp. But equal stamps
 * prove equal content only if the stamp was not *racy* when it was taken: file
 * times have the resolution of the clock's ticks, and a second write within the
 * same tick leaves them unchanged. After a racy stamp, compare the content. On
 * filesystems where others write unseen (fs/path/trust.h) all stamps are racy.
 * The kernel updates the times before the bytes, so a stamp proves nothing
 * about a write in progress.
 */
#ifndef STET_FS_FILE_STAMP_H
#define STET_FS_FILE_STAMP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct st_stamp {
	uint64_t dev;
	uint64_t ino;
	uint64_t size;
	int64_t mtime_ns;
	int64_t ctime_ns;
	/** Taken so soon after a change that an equal stamp does not prove equal content. */
	bool racy;
};

/** Convert a stat for comparison with another stamp; leaves racy false. */
struct st_stamp st_stamp_of(const struct stat *st);

/**
 * Take a stamp to compare with later ones, and decide whether it is racy.
 *
 * @fd  The open file, for the resolution of its filesystem's times; -1 for a
 *      local filesystem.
 * @st  Its fstat.
 */
struct st_stamp st_stamp_take(int fd, const struct stat *st);

/** Whether the mtime alone is so recent that another write may leave it unchanged. */
bool st_stamp_written_just_now(int fd, const struct st_stamp *stamp);

/** Whether two stamps are equal; ignores racy. */
bool st_stamp_eq(const struct st_stamp *a, const struct st_stamp *b);

/** Like st_stamp_eq() without ctime, which a rename changes as well. */
bool st_stamp_eq_content(const struct st_stamp *a, const struct st_stamp *b);

#endif
