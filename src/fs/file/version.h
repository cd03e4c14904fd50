/**
 * A version of a file: whether there is one, the hash of its bytes, and the
 * stamp that was taken with them. What a session saw, what a commit made, what
 * the state tracks and what the log has are such versions.
 */
#ifndef STET_FS_FILE_VERSION_H
#define STET_FS_FILE_VERSION_H

#include "fs/file/hash.h"
#include "fs/file/stamp.h"

/** Zeroed, there is no file. */
struct st_version {
	bool exists;
	/** Zeroed if there is no file. */
	struct st_hash hash;
	/** Zeroed where only the bytes are known, as in the log. A racy one proves nothing. */
	struct st_stamp stamp;
};

/** Whether both have the same bytes, or neither is there. */
static inline bool st_version_eq(const struct st_version *a, const struct st_version *b) {
	return a->exists == b->exists && (!a->exists || st_hash_eq(&a->hash, &b->hash));
}

/** The hash, NULL if there is no file. */
static inline const struct st_hash *st_version_hash(const struct st_version *version) {
	return version->exists ? &version->hash : NULL;
}

#endif
