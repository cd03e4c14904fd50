/** Hexadecimal digits to bytes and back. */
#ifndef STET_BASE_HEX_H
#define STET_BASE_HEX_H

#include "base/buf.h"

/** The value of a digit of either case; -1 for other characters. */
int st_hex_digit(char digit);

/** Append bytes as lower-case digits. */
void st_hex_add(struct st_buf *out, struct st_str bytes);

/**
 * Decode digits.
 *
 * @max    The size of bytes.
 * @return The number of bytes; -1 for an odd number of digits, another
 *         character, or more than max bytes.
 */
ssize_t st_hex_decode(struct st_str hex, void *bytes, size_t max);

#endif
