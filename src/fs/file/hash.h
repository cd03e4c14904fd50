/**
 * SHA-256 of raw bytes: what stet means by "the same content".
 *
 * Answers carry the first 16 hex digits (ST_HASH_SHORT); a caller may hand
 * back 16 to 64 of them, in any case.
 */
#ifndef STET_FS_FILE_HASH_H
#define STET_FS_FILE_HASH_H

#include <stdint.h>

#include "base/error.h"
#include "base/str.h"

enum { ST_HASH_SIZE = 32, ST_HASH_HEX = 64, ST_HASH_SHORT = 16 };

struct st_hash {
	unsigned char bytes[ST_HASH_SIZE];
};

/** Hash some bytes. Returns 0 or STET_E_NOMEM. Thread-safe. */
[[nodiscard]] int st_hash_of(struct st_str bytes, struct st_hash *hash, struct stet_error *err);

/** The same for a call that may be cancelled meanwhile (base/cancel.h): also STET_E_CANCELLED. */
[[nodiscard]] int st_hash_watched(struct st_str bytes, struct st_hash *hash,
                                  struct stet_error *err);

/** HMAC-SHA-256 of some bytes. Returns 0 or STET_E_NOMEM. Thread-safe. */
[[nodiscard]] int st_hash_keyed(struct st_str key, struct st_str bytes, struct st_hash *hash,
                                struct stet_error *err);

/** Compare two hashes in constant time: the time tells nothing about a secret one. */
bool st_hash_eq_secret(const struct st_hash *a, const struct st_hash *b);

/**
 * Hash an open file from its start, in a bounded piece of memory.
 *
 * @fd     Stays open, at its position.
 * @max    How many bytes it may have.
 * @return 0, STET_E_TOO_BIG, STET_E_NOMEM, STET_E_IO.
 */
[[nodiscard]] int st_hash_file(int fd, uint64_t max, struct st_hash *hash, struct stet_error *err);

static inline bool st_hash_eq(const struct st_hash *a, const struct st_hash *b) {
	return memcmp(a->bytes, b->bytes, ST_HASH_SIZE) == 0;
}

/** Write the first `digits` hex digits and a NUL; hex has room for digits + 1. */
void st_hash_hex(const struct st_hash *hash, char *hex, size_t digits);

/**
 * Whether the hex digits, 16 to 64 of any case, begin this hash.
 *
 * @return 1 if they do, 0 if not, STET_E_INVALID if they are not such digits.
 */
[[nodiscard]] int st_hash_matches(const struct st_hash *hash, struct st_str hex,
                                  struct stet_error *err);

#endif
