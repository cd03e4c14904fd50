#include "mcp/seal.h"

#include "fs/hash.h"

enum { BLOCK = 64 };

/* H(key ^ pad, text), one half of an HMAC. */
static int half(struct st_str key, unsigned char pad, struct st_str text, struct st_hash *hash,
                struct stet_error *err) {
	st_auto(st_buf) padded = ST_BUF_INIT;
	for (size_t i = 0; i < BLOCK; i++)
		st_buf_addc(&padded, (char)((i < key.len ? (unsigned char)key.ptr[i] : 0) ^ pad));
	st_buf_add(&padded, text);
	if (padded.failed)
		return st_fail_nomem(err);
	return st_hash_of(st_buf_str(&padded), hash, err);
}

/* HMAC-SHA256 of purpose and bytes. The purpose has no NUL, so that they cannot be parted otherwise. */
static int sign(struct st_str key, struct st_str purpose, struct st_str bytes, struct st_hash *hash,
                struct stet_error *err) {
	st_auto(st_buf) text = ST_BUF_INIT;
	st_buf_add(&text, purpose);
	st_buf_addc(&text, '\0');
	st_buf_add(&text, bytes);
	if (text.failed)
		return st_fail_nomem(err);
	struct st_hash inner;
	int code = half(key, 0x36, st_buf_str(&text), &inner, err);
	if (code < 0)
		return code;
	return half(key, 0x5c, st_strn((const char *)inner.bytes, ST_HASH_SIZE), hash, err);
}

int st_seal(struct st_str key, struct st_str purpose, struct st_str bytes, struct st_buf *out,
            struct stet_error *err) {
	struct st_hash hash;
	int code = sign(key, purpose, bytes, &hash, err);
	if (code < 0)
		return code;
	char hex[ST_HASH_HEX + 1];
	st_hash_hex(&hash, hex, ST_HASH_HEX);
	st_buf_adds(out, hex);
	for (size_t i = 0; i < bytes.len; i++)
		st_buf_addf(out, "%02x", (unsigned char)bytes.ptr[i]);
	return out->failed ? st_fail_nomem(err) : 0;
}

static int digit(char c) {
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool unhex(struct st_str hex, struct st_buf *out) {
	for (size_t i = 0; i + 1 < hex.len; i += 2) {
		int high = digit(hex.ptr[i]), low = digit(hex.ptr[i + 1]);
		if (high < 0 || low < 0)
			return false;
		st_buf_addc(out, (char)(high << 4 | low));
	}
	return hex.len % 2 == 0;
}

/* In a time that does not tell how much of it was right. */
static bool same(const char *a, const char *b, size_t len) {
	unsigned char difference = 0;
	for (size_t i = 0; i < len; i++)
		difference |= (unsigned char)(a[i] ^ b[i]);
	return difference == 0;
}

int st_unseal(struct st_str key, struct st_str purpose, struct st_str sealed, struct st_buf *out,
              struct stet_error *err) {
	st_auto(st_buf) bytes = ST_BUF_INIT;
	if (sealed.len < ST_HASH_HEX || !unhex(st_str_slice(sealed, ST_HASH_HEX, sealed.len), &bytes))
		return st_fail(err, STET_E_INVALID, "This state is not one that this server gave out.");
	if (bytes.failed)
		return st_fail_nomem(err);
	struct st_hash hash;
	char hex[ST_HASH_HEX + 1];
	int code = sign(key, purpose, st_buf_str(&bytes), &hash, err);
	if (code < 0)
		return code;
	st_hash_hex(&hash, hex, ST_HASH_HEX);
	if (!same(hex, sealed.ptr, ST_HASH_HEX))
		return st_fail(err, STET_E_INVALID, "This state is not one that this server gave out.");
	st_buf_add(out, st_buf_str(&bytes));
	return out->failed ? st_fail_nomem(err) : 0;
}
