/** Indentation: find the indentation that lines share, and shift lines as a block. */
#ifndef STET_TEXT_LINES_INDENT_H
#define STET_TEXT_LINES_INDENT_H

#include "text/lines/lines.h"

/**
 * Find the longest run of spaces and tabs that every line from first to last
 * begins with. Skips blank lines and a byte order mark.
 *
 * @indent  Receives the run, a view of the text.
 * @return  False, with an empty indent, if all lines are blank.
 */
bool st_indent_common(const struct st_lines *lines, size_t first, size_t last,
                      struct st_str *indent);

/** The spaces and tabs that a text begins with. */
struct st_str st_indent_of(struct st_str line);

/** The length of the prefix that two indentations share. */
size_t st_indent_shared(struct st_str a, struct st_str b);

/**
 * Append all lines, each ended by LF, and replace the first `cut` bytes of each
 * by an indentation. Blank lines stay as they are.
 */
void st_indent_shift(struct st_buf *out, const struct st_lines *lines, size_t cut,
                     struct st_str indent);

#endif
