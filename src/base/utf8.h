/**
 * Strict UTF-8: no surrogates, no overlong forms, nothing above U+10FFFF.
 */
#ifndef STET_BASE_UTF8_H
#define STET_BASE_UTF8_H

#include <stdint.h>

#include "base/buf.h"

/**
 * Decode one character.
 *
 * @s      At least one byte.
 * @point  Receives the code point, or U+FFFD if the bytes are not UTF-8.
 * @return The number of its bytes; 1 for an invalid byte.
 */
size_t st_utf8_next(struct st_str s, uint32_t *point);

/** Whether a text is valid UTF-8. */
bool st_utf8_valid(struct st_str s);

/** Append a code point. */
void st_utf8_add(struct st_buf *buf, uint32_t point);

/** Append a text with invalid bytes replaced by U+FFFD. True if there were any. */
bool st_utf8_add_lossy(struct st_buf *buf, struct st_str s);

/** The largest length, at most max, at which a text can be cut without splitting a character. */
size_t st_utf8_cut(struct st_str s, size_t max);

#endif
