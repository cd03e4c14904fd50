/**
 * fs/file reads files: bytes, hashes, stamps and leases. This header reads one
 * version of a file: its bytes, their hash, and the stamp that belongs to
 * exactly these bytes.
 *
 * The order is open, fstat, read, fstat. If the file changed in between, the
 * functions read it again. If it changes every time, the result is marked as
 * not stamped: the bytes may be a mixture of versions.
 */
#ifndef STET_FS_FILE_FILE_H
#define STET_FS_FILE_FILE_H

#include "base/buf.h"
#include "fs/path/root.h"
#include "fs/file/version.h"

/** The default limit for the size of a file: 64 MiB. */
#define ST_FILE_MAX ((size_t)64 << 20)

struct st_file {
	struct st_buf bytes;
	struct st_hash hash;
	struct st_stamp stamp;
	/** Whether stamp belongs to bytes; false if the file changed during every attempt. */
	bool stamped;
	mode_t mode;
	nlink_t links;
};

#define ST_FILE_INIT \
	{ .bytes = ST_BUF_INIT }

void st_file_release(struct st_file *file);

/** The version that was read; its stamp is racy if the file is not stamped. */
static inline struct st_version st_file_version(const struct st_file *file) {
	struct st_version version = {.exists = true, .hash = file->hash, .stamp = file->stamp};
	version.stamp.racy |= !file->stamped;
	return version;
}

/** Refuse special files and files larger than max. Returns 0, STET_E_KIND or STET_E_TOO_BIG. */
[[nodiscard]] int st_file_check(const struct stat *st, const char *path, size_t max,
                                struct stet_error *err);

/**
 * Open a place for reading. Does not follow links; blocks for at most 100 ms.
 *
 * @return A descriptor, or STET_E_NOT_FOUND, STET_E_KIND, STET_E_ACCESS,
 *         STET_E_BUSY (another process is writing it in place), STET_E_LIMIT,
 *         STET_E_IO.
 */
[[nodiscard]] int st_file_open(const struct st_place *place, struct stet_error *err);

/**
 * Make the next reads of a descriptor bypass the kernel's cache, on
 * filesystems that others write to unseen (fs/path/trust.h). Call it before
 * each read.
 */
void st_file_freshen(int fd);

/**
 * Open the file behind a descriptor again, whatever its name is now, and
 * freshen it: some filesystems cache what they read per descriptor.
 *
 * @return A descriptor, or -1.
 */
int st_file_open_anew(int fd);

/** Undo st_file_freshen(): read and write through the cache again. */
void st_file_buffer(int fd);

/**
 * Read an open file from its start.
 *
 * @fd     Stays open.
 * @path   For error messages.
 * @max    The largest size allowed.
 * @file   Receives the version; its former contents are released.
 * @return 0, STET_E_KIND, STET_E_TOO_BIG, STET_E_NOMEM, STET_E_IO.
 */
[[nodiscard]] int st_file_read(int fd, const char *path, size_t max, struct st_file *file,
                               struct stet_error *err);

/** Like st_file_read(), but without the hash. */
[[nodiscard]] int st_file_fetch(int fd, const char *path, size_t max, struct st_file *file,
                                struct stet_error *err);

/**
 * Whether an open file holds exactly these bytes. If so, fills in all of *file
 * but bytes and hash. If not, or if the file changed meanwhile, *file stays as
 * it was.
 */
bool st_file_is(int fd, struct st_str bytes, struct st_file *file);

/** Write all bytes at an offset of an open file. Returns 0, or -1 with errno. */
[[nodiscard]] int st_pwrite_all(int fd, off_t at, struct st_str bytes);

/**
 * Locate, open and read a file.
 *
 * @place  Receives the path, also if only the file's directory exists. The
 *         directory's descriptor may stay -1.
 * @return The codes of st_root_locate(), st_file_open() and st_file_read().
 */
[[nodiscard]] int st_file_load(const struct st_root *root, struct st_str path, size_t max,
                               struct st_place *place, struct st_file *file,
                               struct stet_error *err);

/** Bytes whose hash the caller knows: if the file still holds them, it need not be hashed. */
struct st_known {
	struct st_str bytes;
	struct st_hash hash;
};

/**
 * Like st_file_load(), for a file that probably holds the known bytes (known
 * may be NULL), in a call that can be cancelled (base/cancel.h): also returns
 * STET_E_CANCELLED.
 */
[[nodiscard]] int st_file_load_known(const struct st_root *root, struct st_str path, size_t max,
                                     const struct st_known *known, struct st_place *place,
                                     struct st_file *file, struct stet_error *err);

#endif
