#include "base/buf.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

void st_buf_release(struct st_buf *buf) {
	free(buf->ptr);
	*buf = (struct st_buf)ST_BUF_INIT;
}

void st_buf_clear(struct st_buf *buf) {
	buf->len = 0;
	buf->failed = false;
	if (buf->ptr)
		buf->ptr[0] = '\0';
}

bool st_buf_reserve(struct st_buf *buf, size_t len) {
	if (buf->failed)
		return false;
	if (buf->ptr && len < buf->cap - buf->len)
		return true;

	/* Grow by half, so that many small appends take linear time. */
	size_t need, cap;
	if (__builtin_add_overflow(buf->len, len, &need) || need >= SIZE_MAX / 2) {
		buf->failed = true;
		return false;
	}
	cap = buf->cap + buf->cap / 2;
	if (cap < need + 1)
		cap = need + 1;
	if (cap < 64)
		cap = 64;

	char *ptr = realloc(buf->ptr, cap);
	if (!ptr) {
		buf->failed = true;
		return false;
	}
	buf->ptr = ptr;
	buf->cap = cap;
	buf->ptr[buf->len] = '\0';
	return true;
}

void st_buf_add(struct st_buf *buf, struct st_str bytes) {
	if (!st_buf_reserve(buf, bytes.len))
		return;
	if (bytes.len)
		memcpy(buf->ptr + buf->len, bytes.ptr, bytes.len);
	buf->len += bytes.len;
	buf->ptr[buf->len] = '\0';
}

void st_buf_addc(struct st_buf *buf, char byte) {
	st_buf_add(buf, st_strn(&byte, 1));
}

void st_buf_adds(struct st_buf *buf, const char *text) {
	st_buf_add(buf, st_str(text));
}

void st_buf_addu(struct st_buf *buf, uint64_t number) {
	char digits[20], *first = digits + sizeof digits;
	do {
		*--first = (char)('0' + number % 10);
		number /= 10;
	} while (number > 0);
	st_buf_add(buf, st_strn(first, (size_t)(digits + sizeof digits - first)));
}

/* Most formatted texts are shorter: reserving this much first usually saves the second attempt. */
enum { SHORT = 40 };

void st_buf_addf(struct st_buf *buf, const char *format, ...) {
	va_list args, again;
	if (!st_buf_reserve(buf, SHORT))
		return;
	va_start(args, format);
	va_copy(again, args);
	size_t room = buf->cap - buf->len;
	int len = vsnprintf(buf->ptr + buf->len, room, format, args);
	va_end(args);

	if (len >= 0 && (size_t)len >= room && st_buf_reserve(buf, (size_t)len))
		vsnprintf(buf->ptr + buf->len, (size_t)len + 1, format, again);
	va_end(again);
	if (len < 0)
		buf->failed = true;
	/* After a failure, restore the old end: vsnprintf() may have written a part. */
	st_buf_truncate(buf, buf->len + (buf->failed ? 0 : (size_t)len));
}

void st_buf_truncate(struct st_buf *buf, size_t len) {
	buf->len = len;
	if (buf->ptr)
		buf->ptr[len] = '\0';
}

void st_buf_move(struct st_buf *to, struct st_buf *from) {
	st_buf_release(to);
	*to = *from;
	*from = (struct st_buf)ST_BUF_INIT;
}
