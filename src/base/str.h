/**
 * src/base holds what every other folder needs: views, buffers, errors, JSON,
 * Unicode, threads. It knows nothing of files or agents.
 *
 * A view of bytes: pointer and length, passed by value. It does not own the
 * bytes, which may have any value and need not end in NUL. The pointer of an
 * empty view is not NULL.
 */
#ifndef STET_BASE_STR_H
#define STET_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct st_str {
	const char *ptr;
	size_t len;
};

/** A view of a string literal. */
#define ST_STR(literal) ((struct st_str){"" literal, sizeof(literal) - 1})

/** A view of a NUL-terminated string; empty for NULL. */
static inline struct st_str st_str(const char *text) {
	return text ? (struct st_str){text, strlen(text)} : (struct st_str){"", 0};
}

static inline struct st_str st_strn(const char *ptr, size_t len) {
	return (struct st_str){ptr, len};
}

/** The part of a view from start up to, but not including, end; the caller makes sure that both lie in it. */
static inline struct st_str st_str_slice(struct st_str s, size_t start, size_t end) {
	return (struct st_str){s.ptr + start, end - start};
}

static inline bool st_str_eq(struct st_str a, struct st_str b) {
	return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

static inline bool st_str_starts(struct st_str s, struct st_str prefix) {
	return s.len >= prefix.len && (prefix.len == 0 || memcmp(s.ptr, prefix.ptr, prefix.len) == 0);
}

static inline bool st_str_ends(struct st_str s, struct st_str suffix) {
	return s.len >= suffix.len &&
	       (suffix.len == 0 || memcmp(s.ptr + s.len - suffix.len, suffix.ptr, suffix.len) == 0);
}

/** Whether a byte is white space in the C locale. */
static inline bool st_is_space(char byte) {
	return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

/** A view without the white space at its ends. */
static inline struct st_str st_str_trim(struct st_str s) {
	while (s.len && st_is_space(s.ptr[0]))
		s = st_str_slice(s, 1, s.len);
	while (s.len && st_is_space(s.ptr[s.len - 1]))
		s.len--;
	return s;
}

/** Compare bytewise; a prefix comes before the longer view. */
static inline int st_str_cmp(struct st_str a, struct st_str b) {
	size_t len = a.len < b.len ? a.len : b.len;
	int order = len ? memcmp(a.ptr, b.ptr, len) : 0;
	if (order != 0)
		return order;
	return (a.len > b.len) - (a.len < b.len);
}

/**
 * FNV-1a, a checksum for hash tables and to detect damage. It does not protect
 * against deliberate collisions.
 *
 * @sum  ST_STR_SUM, or the sum of the bytes before these.
 */
static inline uint64_t st_str_sum(uint64_t sum, struct st_str s) {
	for (size_t i = 0; i < s.len; i++)
		sum = (sum ^ (unsigned char)s.ptr[i]) * 0x100000001b3u;
	return sum;
}

#define ST_STR_SUM ((uint64_t)0xcbf29ce484222325u)

#endif
