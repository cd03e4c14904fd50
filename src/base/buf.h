/**
 * A growing byte buffer that owns its memory.
 *
 * Append functions return nothing. When memory runs out, they set `failed`, and
 * later appends do nothing; the caller checks once at the end, as with ferror().
 * `ptr` is NULL before the first append and NUL-terminated after it, so text can
 * be used as a C string.
 *
 *     st_auto(st_buf) out = ST_BUF_INIT;
 *
 *     st_buf_addf(&out, "%zu lines", count);
 *     if (out.failed)
 *             return st_fail_nomem(err);
 */
#ifndef STET_BASE_BUF_H
#define STET_BASE_BUF_H

#include "base/auto.h"
#include "base/str.h"

struct st_buf {
	char *ptr;
	size_t len;
	size_t cap;
	bool failed;
};

#define ST_BUF_INIT \
	{ 0 }

/** Free the contents. The empty buffer can be used again. */
void st_buf_release(struct st_buf *buf);

/** Empty the buffer, keep its memory, reset `failed`. */
void st_buf_clear(struct st_buf *buf);

/** Make room for len more bytes and the NUL. Returns false and sets `failed` if out of memory. */
bool st_buf_reserve(struct st_buf *buf, size_t len);

void st_buf_add(struct st_buf *buf, struct st_str bytes);
void st_buf_addc(struct st_buf *buf, char byte);
void st_buf_adds(struct st_buf *buf, const char *text);
/** Append a number in decimal; st_buf_addf() takes ten times as long. */
void st_buf_addu(struct st_buf *buf, uint64_t number);
__attribute__((format(printf, 2, 3))) void st_buf_addf(struct st_buf *buf, const char *format, ...);

/** Truncate the contents to len bytes; len must not exceed the current length. */
void st_buf_truncate(struct st_buf *buf, size_t len);

/** Free the contents of to and move those of from into it; from is then empty. */
void st_buf_move(struct st_buf *to, struct st_buf *from);

/** A view of the contents, valid until the next change. */
static inline struct st_str st_buf_str(const struct st_buf *buf) {
	return (struct st_str){buf->ptr ? buf->ptr : "", buf->len};
}

/** The contents as a C string; "" if empty. */
static inline const char *st_buf_cstr(const struct st_buf *buf) {
	return buf->ptr ? buf->ptr : "";
}

#endif
