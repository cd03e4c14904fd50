#include "fs/file/hash.h"

/* OpenSSL deprecates the plain functions; ours are only these. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/sha.h>

#include "base/cancel.h"
#include "base/hex.h"
#include "base/plural.h"
#include "fs/path/sys.h"
#include "stet/text.h"

/*
 * The plain functions need no provider: fetching a digest by its name takes longer than all else that a short
 * process does, such as a hook. They cannot fail, and openssl.cnf does not concern them.
 */
static int hash_bytes(struct st_str bytes, bool cancellable, struct st_hash *hash,
                      struct stet_error *err) {
	SHA256_CTX context;
	SHA256_Init(&context);
	for (size_t at = 0; at < bytes.len; at += ST_CANCEL_STEP) {
		size_t len = bytes.len - at < ST_CANCEL_STEP ? bytes.len - at : ST_CANCEL_STEP;
		SHA256_Update(&context, bytes.ptr + at, len);
		if (!cancellable)
			st_cancel_progress(len);
		else if (st_cancel_check(len, err) < 0)
			return STET_E_CANCELLED;
	}
	SHA256_Final(hash->bytes, &context);
	return 0;
}

int st_hash_of(struct st_str bytes, struct st_hash *hash, struct stet_error *err) {
	return hash_bytes(bytes, false, hash, err);
}

int st_hash_cancellable(struct st_str bytes, struct st_hash *hash, struct stet_error *err) {
	return hash_bytes(bytes, true, hash, err);
}

int st_hash_keyed(struct st_str key, struct st_str bytes, struct st_hash *hash,
                  struct stet_error *err) {
	char name[] = "SHA256";
	const OSSL_PARAM params[] = {
		OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, name, 0),
		OSSL_PARAM_construct_end(),
	};
	/* A library context of our own ignores openssl.cnf, which may activate only providers that lack SHA-256. */
	OSSL_LIB_CTX *library = OSSL_LIB_CTX_new();
	EVP_MAC *mac = library ? EVP_MAC_fetch(library, "HMAC", NULL) : NULL;
	EVP_MAC_CTX *context = mac ? EVP_MAC_CTX_new(mac) : NULL;
	size_t len;
	bool done = context && EVP_MAC_init(context, (const unsigned char *)key.ptr, key.len, params) &&
	            EVP_MAC_update(context, (const unsigned char *)bytes.ptr, bytes.len) &&
	            EVP_MAC_final(context, hash->bytes, &len, ST_HASH_SIZE);
	EVP_MAC_CTX_free(context);
	EVP_MAC_free(mac);
	OSSL_LIB_CTX_free(library);
	return done ? 0 : st_fail_nomem(err);
}

bool st_hash_eq_secret(const struct st_hash *a, const struct st_hash *b) {
	return CRYPTO_memcmp(a->bytes, b->bytes, ST_HASH_SIZE) == 0;
}

int stet_text_hash(const char *text, size_t len, char hex[65], struct stet_error *err) {
	st_error_clear(err);
	struct st_hash hash;
	int code = st_hash_of(st_strn(text, len), &hash, err);
	if (code == 0)
		st_hash_hex(&hash, hex, ST_HASH_HEX);
	return code;
}

int st_hash_file(int fd, uint64_t max, struct st_hash *hash, struct stet_error *err) {
	SHA256_CTX context;
	char piece[32768];
	SHA256_Init(&context);
	ssize_t got;
	for (uint64_t at = 0; (got = st_retry(pread(fd, piece, sizeof piece, (off_t)at))) > 0;) {
		at += (uint64_t)got;
		if (at > max)
			return st_fail(err, STET_E_TOO_BIG, "There are more than %llu bytes.",
			               (unsigned long long)max);
		SHA256_Update(&context, piece, (size_t)got);
		st_cancel_progress((size_t)got);
	}
	if (got < 0)
		return st_fail_errno(err, errno, "Cannot read the bytes to hash");
	SHA256_Final(hash->bytes, &context);
	return 0;
}

void st_hash_hex(const struct st_hash *hash, char *hex, size_t digits) {
	for (size_t i = 0; i < digits; i++) {
		unsigned char byte = hash->bytes[i / 2];
		hex[i] = "0123456789abcdef"[i % 2 ? byte & 15 : byte >> 4];
	}
	hex[digits] = '\0';
}

int st_hash_matches(const struct st_hash *hash, struct st_str hex, struct stet_error *err) {
	if (hex.len < ST_HASH_SHORT || hex.len > ST_HASH_HEX)
		return st_fail(err, STET_E_INVALID,
		               "A hash has 16 to 64 hex digits, this one has %zu %s. Use the fileHash of "
		               "the last answer about this file.",
		               hex.len, st_plural(hex.len, "character", "characters"));
	int same = 1;
	for (size_t i = 0; i < hex.len; i++) {
		int value = st_hex_digit(hex.ptr[i]);
		if (value < 0)
			return st_fail(err, STET_E_INVALID,
			               "A hash consists of hex digits, but character %zu of \"%.*s\" is none. "
			               "Use the fileHash of the last answer about this file.",
			               i + 1, (int)hex.len, hex.ptr);
		unsigned char byte = hash->bytes[i / 2];
		if (value != (i % 2 ? byte & 15 : byte >> 4))
			same = 0;
	}
	return same;
}
