/** Indentation of lines: what they have in common, and shifting them as a whole. */
#ifndef STET_TEXT_LINES_INDENT_H
#define STET_TEXT_LINES_INDENT_H

#include "text/lines/lines.h"

/**
 * The blanks that lines first to last begin with, all of them the same ones.
 * Blank lines do not count, and a byte order mark is not looked at.
 *
 * @indent  Receives it, a view of the text.
 * @return  False if there are only blank lines; indent is empty then.
 */
bool st_indent_common(const struct st_lines *lines, size_t first, size_t last,
                      struct st_str *indent);

/** How many bytes two indentations have in common. */
size_t st_indent_shared(struct st_str a, struct st_str b);

/**
 * Append all lines, each ended by LF, with the first cut bytes of each
 * replaced by an indentation. Blank lines stay as they are.
 */
void st_indent_shift(struct st_buf *out, const struct st_lines *lines, size_t cut,
                     struct st_str indent);

#endif
