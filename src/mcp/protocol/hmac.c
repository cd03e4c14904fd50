#include "mcp/protocol/hmac.h"

#include <assert.h>

#include "base/hex.h"
#include "fs/file/hash.h"

/* The purpose has no NUL, so the NUL after it keeps purpose and bytes apart. */
static int compute_hmac(struct st_str key, struct st_str purpose, struct st_str bytes,
                        struct st_hash *hash, struct stet_error *err) {
	assert(!memchr(purpose.ptr, '\0', purpose.len));
	st_auto(st_buf) text = ST_BUF_INIT;
	st_buf_add(&text, purpose);
	st_buf_addc(&text, '\0');
	st_buf_add(&text, bytes);
	return text.failed ? st_fail_nomem(err) : st_hash_keyed(key, st_buf_str(&text), hash, err);
}

int st_hmac_sign(struct st_str key, struct st_str purpose, struct st_str bytes, struct st_buf *out,
                 struct stet_error *err) {
	struct st_hash hash;
	int code = compute_hmac(key, purpose, bytes, &hash, err);
	if (code < 0)
		return code;
	st_hex_add(out, st_strn((const char *)hash.bytes, ST_HASH_SIZE));
	st_hex_add(out, bytes);
	return out->failed ? st_fail_nomem(err) : 0;
}

int st_hmac_verify(struct st_str key, struct st_str purpose, struct st_str signed_text,
                   struct st_buf *out, struct stet_error *err) {
	struct st_hash hash, signature;
	st_auto(st_buf) decoded = ST_BUF_INIT;
	if (!st_buf_reserve(&decoded, signed_text.len / 2))
		return st_fail_nomem(err);
	ssize_t len = st_hex_decode(signed_text, decoded.ptr, signed_text.len / 2);
	if (len < ST_HASH_SIZE)
		return st_fail(err, STET_E_INVALID, "This server did not issue this state.");
	struct st_str bytes = st_strn(decoded.ptr + ST_HASH_SIZE, (size_t)len - ST_HASH_SIZE);
	memcpy(signature.bytes, decoded.ptr, ST_HASH_SIZE);
	int code = compute_hmac(key, purpose, bytes, &hash, err);
	if (code < 0)
		return code;
	if (!st_hash_eq_secret(&hash, &signature))
		return st_fail(err, STET_E_INVALID, "This server did not issue this state.");
	st_buf_add(out, bytes);
	return out->failed ? st_fail_nomem(err) : 0;
}
