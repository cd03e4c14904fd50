/**
 * SHA-256 of raw bytes: two files have the same content if their hashes are equal.
 *
 * Answers show the first 16 hex digits (ST_HASH_SHORT); clients may send 16 to
 * 64 digits, in upper or lower case.
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

/** The same in a call that can be cancelled (base/cancel.h): also returns STET_E_CANCELLED. */
[[nodiscard]] int st_hash_cancellable(struct st_str bytes, struct st_hash *hash,
                                      struct stet_error *err);

/** HMAC-SHA-256 of some bytes. Returns 0 or STET_E_NOMEM. Thread-safe. */
[[nodiscard]] int st_hash_keyed(struct st_str key, struct st_str bytes, struct st_hash *hash,
                                struct stet_error *err);

/** Compare in constant time, so that the time does not reveal a secret hash. */
bool st_hash_eq_secret(const struct st_hash *a, const struct st_hash *b);

/**
 * Hash an open file from its start, with a small buffer.
 *
 * @fd     Stays open, at its position.
 * @max    The largest size allowed.
 * @return 0, STET_E_TOO_BIG, STET_E_NOMEM, STET_E_IO.
 */
[[nodiscard]] int st_hash_file(int fd, uint64_t max, struct st_hash *hash, struct stet_error *err);

static inline bool st_hash_eq(const struct st_hash *a, const struct st_hash *b) {
	return memcmp(a->bytes, b->bytes, ST_HASH_SIZE) == 0;
}

/** Write the first `digits` hex digits and a NUL; hex has room for digits + 1. */
void st_hash_hex(const struct st_hash *hash, char *hex, size_t digits);

/**
 * Whether a hash begins with the given 16 to 64 hex digits.
 *
 * @return 1 if it does, 0 if not, STET_E_INVALID if hex is not 16 to 64 hex digits.
 */
[[nodiscard]] int st_hash_matches(const struct st_hash *hash, struct st_str hex,
                                  struct stet_error *err);

#endif
