/**
 * Obsidian's comments, `%% ... %%`: within one line, or from a line that begins
 * with the mark to a line that ends with it. A mark in code, or one that is never
 * closed, is text.
 */
#ifndef STET_TEXT_MARKDOWN_OBSIDIAN_H
#define STET_TEXT_MARKDOWN_OBSIDIAN_H

#include "text/lines/lines.h"

/**
 * Copy a text with blanks in place of comments, so that lines and columns stay.
 *
 * @out    Receives the copy; stays empty if there is no comment.
 * @return 0, STET_E_NOMEM or STET_E_CANCELLED.
 */
[[nodiscard]] int st_obsidian_blank(const struct st_lines *lines, struct st_buf *out,
                                    struct stet_error *err);

#endif
