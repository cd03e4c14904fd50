/**
 * Reading one version of a file: its bytes, their hash, and a stamp that
 * belongs to just these bytes.
 *
 * The order is open, fstat, read, fstat: if the file moved meanwhile it is
 * read again, and if it does not come to rest the bytes are handed out
 * without a stamp, so that nobody takes them for the file's state.
 */
#ifndef STET_FS_FILE_FILE_H
#define STET_FS_FILE_FILE_H

#include "base/buf.h"
#include "fs/path/root.h"
#include "fs/file/version.h"

/** The largest file that is read unless a caller says otherwise: 64 MiB. */
#define ST_FILE_MAX ((size_t)64 << 20)

struct st_file {
	struct st_buf bytes;
	struct st_hash hash;
	struct st_stamp stamp;
	/** Whether stamp belongs to bytes; false for a file that kept changing. */
	bool stamped;
	/** The rest of what fstat said. */
	mode_t mode;
	nlink_t links;
};

#define ST_FILE_INIT \
	{ .bytes = ST_BUF_INIT }

void st_file_release(struct st_file *file);

/** What was read, as a version; its stamp is racy if the file kept changing. */
static inline struct st_version st_file_version(const struct st_file *file) {
	struct st_version version = {.exists = true, .hash = file->hash, .stamp = file->stamp};
	version.stamp.racy |= !file->stamped;
	return version;
}

/** Refuse what is not a regular file or too large, by its stat. Returns 0, STET_E_KIND or STET_E_TOO_BIG. */
[[nodiscard]] int st_file_check(const struct stat *st, const char *path, size_t max,
                                struct stet_error *err);

/**
 * Open a place for reading without ever blocking or following a link.
 *
 * @return A descriptor, or STET_E_NOT_FOUND, STET_E_KIND, STET_E_ACCESS,
 *         STET_E_BUSY (another process is writing it in place), STET_E_LIMIT,
 *         STET_E_IO.
 */
[[nodiscard]] int st_file_open(const struct st_place *place, struct stet_error *err);

/**
 * Have an open file read past what the kernel remembers of it, where others
 * may write unseen (fs/path/trust.h). Before each reading.
 */
void st_file_freshen(int fd);

/**
 * Open the file behind a descriptor once more, by whatever name it has left,
 * and freshen it: some filesystems remember what they read for a descriptor.
 *
 * @return A descriptor, or -1.
 */
int st_file_open_anew(int fd);

/** Have it read and written as usual again. */
void st_file_buffer(int fd);

/**
 * Read an open file from its start.
 *
 * @fd     Stays open.
 * @path   For messages.
 * @max    The largest size that is read.
 * @file   Receives the version; what it held is released.
 * @return 0, STET_E_KIND, STET_E_TOO_BIG, STET_E_NOMEM, STET_E_IO.
 */
[[nodiscard]] int st_file_read(int fd, const char *path, size_t max, struct st_file *file,
                               struct stet_error *err);

/** As st_file_read(), but without the hash. */
[[nodiscard]] int st_file_fetch(int fd, const char *path, size_t max, struct st_file *file,
                                struct stet_error *err);

/**
 * Whether an open file is just these bytes. If so, all of file but its bytes
 * and hash is filled; if not, or if it moved meanwhile, it is as it was.
 */
bool st_file_is(int fd, struct st_str bytes, struct st_file *file);

/** Write all bytes to a place of an open file. 0, or -1 with errno. */
[[nodiscard]] int st_pwrite_all(int fd, off_t at, struct st_str bytes);

/**
 * Locate, open and read.
 *
 * @place  Receives the path, also of a file that is not there, as long as its
 *         directory is; not always the directory's descriptor.
 * @return The codes of st_root_locate(), st_file_open() and st_file_read().
 */
[[nodiscard]] int st_file_load(const struct st_root *root, struct st_str path, size_t max,
                               struct st_place *place, struct st_file *file,
                               struct stet_error *err);

/** Bytes whose hash is known: reading them once more, it is enough to compare. */
struct st_known {
	struct st_str bytes;
	struct st_hash hash;
};

/**
 * As st_file_load(), of a file that is likely to hold these bytes; NULL if
 * nothing is known. For a call that may be cancelled meanwhile (base/cancel.h):
 * also STET_E_CANCELLED.
 */
[[nodiscard]] int st_file_load_known(const struct st_root *root, struct st_str path, size_t max,
                                     const struct st_known *known, struct st_place *place,
                                     struct st_file *file, struct stet_error *err);

#endif
