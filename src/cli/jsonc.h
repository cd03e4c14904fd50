/**
 * Changing one member of a JSON text that people wrote, with its comments and
 * its layout: the rest stays byte for byte.
 */
#ifndef STET_CLI_JSONC_H
#define STET_CLI_JSONC_H

#include <stdbool.h>
#include <stddef.h>

/**
 * Set a member of a member of the text's object: outer.inner = value. What is
 * missing is added at the end, in the indentation of its neighbours; a value
 * that is there is replaced.
 *
 * @text   A JSON object, comments and trailing commas allowed; it has been
 *         parsed before, so that its brackets match. May be empty.
 * @value  JSON on one line.
 * @return The new text, to be freed; NULL if memory is short.
 */
char *jsonc_set(const char *text, size_t len, const char *outer, const char *inner,
                const char *value);

#endif
