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

#ifdef __cplusplus
}
#endif

#endif
