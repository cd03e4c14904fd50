/**
 * A version of a file: whether the file exists, the hash of its bytes, and the
 * stamp that was taken with them. Sessions, commits, the tracked state and the
 * log all use this struct.
 */
#ifndef STET_FS_FILE_VERSION_H
#define STET_FS_FILE_VERSION_H

#include "fs/file/hash.h"
#include "fs/file/stamp.h"

/** All zero: the file does not exist. */
struct st_version {
	bool exists;
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

#endif
