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

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "fs/file/hash.h"
#include "fs/path/root.h"

/**
 * A stamp is the part of stat that identifies a version of a file. If the stamp
 * is unchanged, stet need not read the file again.
 *
 * A write, a rename and a restored mtime all change the stamp. But equal stamps
 * prove equal content only if the stamp was not *racy* when it was taken: file
 * times have the resolution of the clock's ticks, and a second write within the
 * same tick leaves them unchanged. After a racy stamp, compare the content. On
 * filesystems where others write unseen (fs/path/filesystem.h) all stamps are racy.
 * The kernel updates the times before the bytes, so a stamp proves nothing
 * about a write in progress.
 */
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

/**
 * A version of a file: whether the file exists, the hash of its bytes, and the
 * stamp that was taken with them. Sessions, commits, the tracked state and the
 * log all use this struct. All zero: the file does not exist.
 */
struct st_version {
	bool exists;
	/** Its owner may run it; known only where the file itself was read. */
	bool executable;
	struct st_hash hash;
	/** All zero where only the bytes are known, as in the log. */
	struct st_stamp stamp;
};

/** Whether both have the same bytes, or neither exists. */
static inline bool st_version_eq(const struct st_version *a, const struct st_version *b) {
	return a->exists == b->exists && (!a->exists || st_hash_eq(&a->hash, &b->hash));
}

/** The hash, or NULL if the file does not exist. */
static inline const struct st_hash *st_version_hash(const struct st_version *version) {
	return version->exists ? &version->hash : NULL;
}

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
	struct st_version version = {.exists = true,
	                             .executable = file->mode & S_IXUSR,
	                             .hash = file->hash,
	                             .stamp = file->stamp};
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
 * filesystems that others write to unseen (fs/path/filesystem.h). Call it before
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
