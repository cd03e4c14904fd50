/**
 * Find a heading by the words a model uses for it.
 *
 * `Setup`, `## Setup`, `## setup ##` and `  SETUP ` all match a heading "Setup".
 * Hashes select a level. Case, runs of blanks, and an `{#id}` at the end do not
 * matter; inline markup may be included or left out.
 */
#ifndef STET_TEXT_MARKDOWN_HEADING_H
#define STET_TEXT_MARKDOWN_HEADING_H

#include <stdint.h>

#include "text/markdown/markdown.h"

/**
 * Find a heading.
 *
 * @query       The heading's words.
 * @occurrence  Which of several, from 1; 0 for the first.
 * @index       Receives its index in md->headings.
 * @return      0; STET_E_NO_MATCH, with the nearest headings in the message;
 *              STET_E_INVALID for an empty query or a negative occurrence;
 *              STET_E_NOMEM.
 */
[[nodiscard]] int st_heading_find(const struct st_markdown *md, struct st_str query,
                                  int64_t occurrence, size_t *index, struct stet_error *err);

/** An edit replaced `count` lines from `first` on, and the text grew by `delta` lines. */
struct st_line_move {
	size_t first;
	size_t count;
	int64_t delta;
};

/**
 * After an edit at the first of several headings of a name, append a sentence and
 * a space that name the lines of the others. Nothing if there are none.
 *
 * @md  The text before the edit.
 */
void st_heading_note_others(const struct st_markdown *md, struct st_str query,
                            const struct st_line_move *move, struct st_buf *note);

#endif
