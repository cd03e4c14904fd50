/**
 * Text on a screen.
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
