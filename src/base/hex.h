/** Bytes as hexadecimal digits, and back. */
#ifndef STET_BASE_HEX_H
#define STET_BASE_HEX_H

#include "base/buf.h"

/** The value of a digit, in either case; -1 if it is none. */
int st_hex_digit(char digit);

/** Append bytes as lower-case digits. */
void st_hex_add(struct st_buf *out, struct st_str bytes);

/**
 * Decode digits.
 *
 * @max    The room in bytes.
 * @return How many bytes there are, or -1: an odd number of digits, another
 *         character among them, or no room.
 */
ssize_t st_hex_decode(struct st_str hex, void *bytes, size_t max);

#endif
