/**
 * Text on a screen, and what names it.
 */
#ifndef STET_TEXT_H
#define STET_TEXT_H

#include <stddef.h>

#include "stet/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * How many columns a text takes on a terminal: two for a wide character, none
 * for a combining or control one, one for a byte that is not UTF-8.
 */
STET_API size_t stet_text_width(const char *text, size_t len);

/**
 * How many letters have to be changed, added, left out or swapped with their
 * neighbour to make one word of the other, to guess which one was meant. Upper
 * and lower case of ASCII are the same, and 255 bytes of each are compared.
 */
STET_API size_t stet_text_distance(const char *a, size_t a_len, const char *b, size_t b_len);

/**
 * The hash that names a version of these bytes: SHA-256 as 64 digits.
 *
 * @hex    Receives them, NUL-ended.
 * @return 0 or STET_E_NOMEM.
 */
STET_API STET_NODISCARD int stet_text_hash(const char *text, size_t len, char hex[65],
                                           struct stet_error *err);

/**
 * A name as lists show it: as it is, or, if it holds characters that a reader
 * cannot see or that a terminal obeys, in double quotes with these escaped as
 * in JSON. Free it with stet_free(); NULL if there is no memory.
 */
STET_API char *stet_text_name(const char *name, size_t len);

/**
 * A text as a terminal may get it: controls other than tabs and line ends as
 * ^X, marks of direction as <U+202E>, bytes that are not UTF-8 as <FF>. Free
 * it with stet_free(); NULL if there is no memory.
 *
 * @out_len  Receives its length.
 */
STET_API char *stet_text_screen(const char *text, size_t len, size_t *out_len);

#ifdef __cplusplus
}
#endif

#endif
