/**
 * Helpers for text: its width on a terminal, its hash, its safe display.
 */
#ifndef STET_TEXT_H
#define STET_TEXT_H

#include <stddef.h>

#include "stet/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The number of columns of a text on a terminal: two for a wide character, none
 * for a combining or control character, one for a byte that is not UTF-8.
 */
STET_API size_t stet_text_width(const char *text, size_t len);

/**
 * The edit distance of two words, to suggest the right one for a typo: how many
 * letters to change, add, remove or swap with a neighbour. Ignores the case of
 * ASCII letters, and compares at most 255 bytes of each.
 */
STET_API size_t stet_text_distance(const char *a, size_t a_len, const char *b, size_t b_len);

/**
 * The hash of a version with these bytes: SHA-256 as 64 hex digits.
 *
 * @hex    Receives the digits, NUL-terminated.
 * @return 0 or STET_E_NOMEM.
 */
STET_API STET_NODISCARD int stet_text_hash(const char *text, size_t len, char hex[65],
                                           struct stet_error *err);

/**
 * A file name for display: unchanged, or, if it has invisible or control
 * characters, in double quotes with these escaped as in JSON. Free it with
 * stet_free(); NULL if out of memory.
 */
STET_API char *stet_text_name(const char *name, size_t len);

/**
 * A text that is safe to print on a terminal: control characters other than
 * tabs and line ends become ^X, direction marks <U+202E>, bytes that are not
 * UTF-8 <FF>. Free it with stet_free(); NULL if out of memory.
 *
 * @out_len  Receives its length.
 */
STET_API char *stet_text_screen(const char *text, size_t len, size_t *out_len);

#ifdef __cplusplus
}
#endif

#endif
