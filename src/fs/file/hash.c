#include "fs/file/hash.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <pthread.h>

#include "base/cancel.h"
#include "base/hex.h"
#include "base/plural.h"
#include "fs/path/sys.h"
#include "stet/text.h"

/*
 * Fetching the digest takes longer than hashing a small file, so we fetch it
 * once and each thread keeps its context. A library context of our own ignores
 * openssl.cnf, which may activate only providers that lack SHA-256.
 */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t context_key;
static OSSL_LIB_CTX *library;
static EVP_MD *digest;

static void free_context(void *context) {
	EVP_MD_CTX_free(context);
}

static void init_openssl(void) {
	library = OSSL_LIB_CTX_new();
	digest = library ? EVP_MD_fetch(library, "SHA256", NULL) : NULL;
	if (pthread_key_create(&context_key, free_context) != 0) {
		EVP_MD_free(digest);
		digest = NULL;
	}
}

static EVP_MD_CTX *thread_context(void) {
	pthread_once(&once, init_openssl);
	if (!digest)
		return NULL;
	EVP_MD_CTX *context = pthread_getspecific(context_key);
	if (context)
		return context;
	context = EVP_MD_CTX_new();
	if (context && pthread_setspecific(context_key, context) != 0) {
		EVP_MD_CTX_free(context);
		context = NULL;
	}
	return context;
}

static int hash_steps(EVP_MD_CTX *context, struct st_str bytes, bool cancellable,
                      struct stet_error *err) {
	for (size_t at = 0; at < bytes.len; at += ST_CANCEL_STEP) {
		size_t len = bytes.len - at < ST_CANCEL_STEP ? bytes.len - at : ST_CANCEL_STEP;
		if (!EVP_DigestUpdate(context, bytes.ptr + at, len))
			return st_fail_nomem(err);
		if (!cancellable)
			st_cancel_progress(len);
		else if (st_cancel_check(len, err) < 0)
			return STET_E_CANCELLED;
	}
	return 0;
}

static int hash_bytes(struct st_str bytes, bool cancellable, struct st_hash *hash,
                      struct stet_error *err) {
	EVP_MD_CTX *context = thread_context();
	if (!context || !EVP_DigestInit_ex2(context, digest, NULL))
		return st_fail_nomem(err);
	int code = hash_steps(context, bytes, cancellable, err);
	if (code < 0)
		return code;
	return EVP_DigestFinal_ex(context, hash->bytes, NULL) ? 0 : st_fail_nomem(err);
}

int st_hash_of(struct st_str bytes, struct st_hash *hash, struct stet_error *err) {
	return hash_bytes(bytes, false, hash, err);
}

int st_hash_cancellable(struct st_str bytes, struct st_hash *hash, struct stet_error *err) {
	return hash_bytes(bytes, true, hash, err);
}

int st_hash_keyed(struct st_str key, struct st_str bytes, struct st_hash *hash,
                  struct stet_error *err) {
	pthread_once(&once, init_openssl);
	char name[] = "SHA256";
	const OSSL_PARAM params[] = {
		OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, name, 0),
		OSSL_PARAM_construct_end(),
	};
	EVP_MAC *mac = library ? EVP_MAC_fetch(library, "HMAC", NULL) : NULL;
	EVP_MAC_CTX *context = mac ? EVP_MAC_CTX_new(mac) : NULL;
	size_t len;
	bool done = context && EVP_MAC_init(context, (const unsigned char *)key.ptr, key.len, params) &&
	            EVP_MAC_update(context, (const unsigned char *)bytes.ptr, bytes.len) &&
	            EVP_MAC_final(context, hash->bytes, &len, ST_HASH_SIZE);
	EVP_MAC_CTX_free(context);
	EVP_MAC_free(mac);
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
	EVP_MD_CTX *context = thread_context();
	if (!context || !EVP_DigestInit_ex2(context, digest, NULL))
		return st_fail_nomem(err);
	char piece[32768];
	ssize_t got;
	for (uint64_t at = 0; (got = st_retry(pread(fd, piece, sizeof piece, (off_t)at))) > 0;) {
		at += (uint64_t)got;
		if (at > max)
			return st_fail(err, STET_E_TOO_BIG, "There are more than %llu bytes.",
			               (unsigned long long)max);
		if (!EVP_DigestUpdate(context, piece, (size_t)got))
			return st_fail_nomem(err);
		st_cancel_progress((size_t)got);
	}
	if (got < 0)
		return st_fail_errno(err, errno, "Cannot read the bytes to hash");
	return EVP_DigestFinal_ex(context, hash->bytes, NULL) ? 0 : st_fail_nomem(err);
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
