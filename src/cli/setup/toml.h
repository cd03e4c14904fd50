/**
 * Change one table of a TOML text that people wrote, and leave the rest, with
 * its comments and layout, byte for byte.
 *
 * This is no parser of TOML: it finds where headers, keys and values begin and
 * end, strings and arrays over several lines included, and refuses a text in
 * which it cannot.
 *
 *     const char *refusal = toml_refusal(text, "mcp_servers", "stet");
 *     char *with = toml_set(text, "mcp_servers", "stet", "command", "\"stet\"");
 *     char *without = toml_remove(with, "mcp_servers", "stet");
 */
#ifndef STET_CLI_SETUP_TOML_H
#define STET_CLI_SETUP_TOML_H

#include <stdbool.h>
#include <stddef.h>

/** Why the table [outer.inner] cannot be changed, after "the file has"; NULL if it can. */
const char *toml_refusal(const char *text, const char *outer, const char *inner);

/** Whether the text has the table [outer.inner]. */
bool toml_has(const char *text, const char *outer, const char *inner);

/** A value of the table as it is written, which the caller frees; NULL if there is none. */
char *toml_get(const char *text, const char *outer, const char *inner, const char *key);

/**
 * Set a value of the table, and add the table at the end of the text if it is missing.
 *
 * @value  As TOML, on one line.
 * @return The new text, which the caller frees; NULL if memory ran out.
 */
char *toml_set(const char *text, const char *outer, const char *inner, const char *key,
               const char *value);

/** Remove the table and those below it. Returns the new text, which the caller frees; NULL if memory ran out. */
char *toml_remove(const char *text, const char *outer, const char *inner);

#endif
