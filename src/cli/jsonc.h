/**
 * Change one member of a JSON text that people wrote, and keep the rest, with
 * its comments and layout, byte for byte.
 */
#ifndef STET_CLI_JSONC_H
#define STET_CLI_JSONC_H

#include <stdbool.h>
#include <stddef.h>

/**
 * Set outer.inner = value in the text's object. Replaces the value if there is
 * one; otherwise adds a member at the end, with its neighbours' indentation.
 *
 * @text   A JSON object, possibly with comments and trailing commas, that the
 *         caller has parsed before, so its brackets match. May be empty.
 * @value  JSON on one line.
 * @return The new text, which the caller frees; NULL if memory ran out.
 */
char *jsonc_set(const char *text, size_t len, const char *outer, const char *inner,
                const char *value);

#endif
