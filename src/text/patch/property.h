/**
 * One property of a note: set or remove a top-level key of the YAML front matter,
 * and leave every other byte as it is.
 *
 * A list stays in the style that it has, a comment behind a value stays, and a
 * text without front matter gets one. Values are written as Obsidian reads them:
 * `[[links]]` and texts that YAML would take for something else go into quotes.
 */
#ifndef STET_TEXT_PATCH_PROPERTY_H
#define STET_TEXT_PATCH_PROPERTY_H

#include "base/intervals.h"
#include "base/json.h"

struct st_property {
	struct st_str key;
	/** The new value, any JSON; NULL to remove the key. */
	yyjson_val *value;
};

/**
 * Apply it to a text.
 *
 * @new    Receives the new text.
 * @old    Receives the lines of the text that go; first > last if none does.
 * @line   Receives the line of the key in the new text; 0 if it was removed.
 * @return 0, STET_E_INVALID (a key or front matter that cannot be used),
 *         STET_E_NO_MATCH (no such key to remove), STET_E_AMBIGUOUS,
 *         STET_E_CANCELLED, STET_E_NOMEM.
 */
[[nodiscard]] int st_property_apply(const struct st_property *property, struct st_str text,
                                    struct st_buf *new, struct st_interval *old, size_t *line,
                                    struct stet_error *err);

#endif
