/**
 * UTF-8, strictly: no surrogates, no overlong forms, nothing above U+10FFFF.
 * Files may hold anything; these say what is text in them.
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
 * @return How many bytes it takes; 1 for an invalid byte.
 */
size_t st_utf8_next(struct st_str s, uint32_t *point);

/** Whether all of it is UTF-8. */
bool st_utf8_valid(struct st_str s);

/** Encode a code point. */
void st_utf8_add(struct st_buf *buf, uint32_t point);

/** Append text with every invalid byte shown as U+FFFD. True if there was one. */
bool st_utf8_add_lossy(struct st_buf *buf, struct st_str s);

/** The largest length not above max at which a view can be cut without splitting a character. */
size_t st_utf8_cut(struct st_str s, size_t max);

#endif
