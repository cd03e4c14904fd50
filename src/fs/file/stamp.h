/**
 * Stamps: what stat says about a version of a file, so that an unchanged file
 * need not be read again.
 *
 * Two stamps differ when anything that a write, a rename or a restored mtime
 * would change differs. Equal stamps mean equal content only if the stamp was
 * not *racy* when it was taken: where times follow the ticks of the clock, a
 * file written within the last ones can be written once more without its times
 * moving. A racy stamp is believed only after another look at the content.
 * Where others write unseen (fs/path/trust.h) a stamp is always racy.
 * A write moves the times before it moves the bytes, so even where times are
 * fine a stamp says nothing about a write that is under way.
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
	/** Taken so soon after a change that an equal stamp proves nothing. */
	bool racy;
};

/** What stat said, to be compared with a stamp that was taken; whether it is racy is not asked. */
struct st_stamp st_stamp_of(const struct stat *st);

/**
 * The stamp of an open file, to be believed later.
 *
 * @fd  Tells the granularity of the filesystem's times; -1 for the usual.
 * @st  What fstat said.
 */
struct st_stamp st_stamp_take(int fd, const struct stat *st);

/** Whether a stamp's mtime, whatever its ctime, is so recent that another write may not move it. */
bool st_stamp_written_just_now(int fd, const struct st_stamp *stamp);

/** Whether the file is still what it was, as far as stat can tell; racy or not is ignored. */
bool st_stamp_eq(const struct st_stamp *a, const struct st_stamp *b);

/** As st_stamp_eq() but for ctime, which a rename of the file moves as well. */
bool st_stamp_eq_content(const struct st_stamp *a, const struct st_stamp *b);

#endif
