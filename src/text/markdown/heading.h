/**
 * Finding a heading by the words an agent uses for it.
 *
 * `Setup`, `## Setup`, `## setup ##` and `  SETUP ` all name a heading
 * "Setup". Hashes say which level is meant. Case, runs of blanks, and an
 * `{#id}` at the heading's end do not matter; inline markup may be written
 * out or left away.
 */
#ifndef STET_TEXT_MARKDOWN_HEADING_H
#define STET_TEXT_MARKDOWN_HEADING_H

#include <stdint.h>

#include "text/markdown/markdown.h"

/**
 * Find a heading.
 *
 * @query       What it is called.
 * @occurrence  Which one of several, from 1; 0 for the first, whatever else
 *              there is.
 * @index       Receives its index in md->headings.
 * @return      0; STET_E_NO_MATCH, with the nearest headings in the message;
 *              STET_E_INVALID for an empty query or a negative occurrence;
 *              STET_E_NOMEM.
 */
[[nodiscard]] int st_heading_find(const struct st_markdown *md, struct st_str query,
                                  int64_t occurrence, size_t *index, struct stet_error *err);

/** What an edit did to line numbers: some lines from first on were replaced, and by how many more. */
struct st_line_move {
	size_t first;
	size_t count;
	int64_t delta;
};

/**
 * Append a sentence, and a space, that names the lines of the other headings of
 * that name as they are after an edit, if there are any: the first was taken.
 *
 * @md  The text before the edit.
 */
void st_heading_note_others(const struct st_markdown *md, struct st_str query,
                            const struct st_line_move *move, struct st_buf *note);

#endif
