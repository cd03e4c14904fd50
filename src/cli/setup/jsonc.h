/**
 * Change one value of a JSON text that people wrote, and leave the rest, with
 * its comments and layout, byte for byte.
 *
 * A path is a list of member names that ends with NULL. Every function takes a
 * NUL-ended JSON object, possibly with comments and trailing commas, that the
 * caller has parsed before, so its brackets match; blank text counts as {}.
 * Values are JSON on one line. Each returns the new text, which the caller
 * frees, or NULL if memory ran out or the path leads through a value of
 * another type.
 *
 *     const char *const path[] = {"mcpServers", "stet", NULL};
 *     char *with = jsonc_set(text, path, "{\"command\": \"stet\"}");
 *     char *without = jsonc_remove(with, path);
 *
 * Removing what was added last gives the text before it again, unless the
 * object or array was empty: its blanks may differ then.
 */
#ifndef STET_CLI_SETUP_JSONC_H
#define STET_CLI_SETUP_JSONC_H

#include <stdbool.h>
#include <stddef.h>

/** Replace a value, or add it after the last member; adds missing objects on the way. */
char *jsonc_set(const char *text, const char *const *path, const char *value);

/** Append to an array; adds a missing array and objects on the way. */
char *jsonc_append(const char *text, const char *const *path, const char *value);

/** Replace an element of an array. */
char *jsonc_replace(const char *text, const char *const *path, size_t index, const char *value);

/** Remove a member. Returns a copy of the text if there is none. */
char *jsonc_remove(const char *text, const char *const *path);

/** Remove an element of an array. Returns a copy of the text if there is none. */
char *jsonc_remove_at(const char *text, const char *const *path, size_t index);

#endif
