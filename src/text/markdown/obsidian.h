/**
 * Obsidian's comments, `%% ... %%`: in one line, or from a line that begins
 * with the mark to a line that ends with it. What is in code is no comment,
 * and a mark that nothing closes is text.
 */
#ifndef STET_TEXT_MARKDOWN_OBSIDIAN_H
#define STET_TEXT_MARKDOWN_OBSIDIAN_H

#include "text/lines/lines.h"

/**
 * A copy of a text with blanks in place of comments: lines and columns stay.
 *
 * @out    Receives the copy; stays empty if there is no comment.
 * @return 0, STET_E_NOMEM or STET_E_CANCELLED.
 */
[[nodiscard]] int st_obsidian_blank(const struct st_lines *lines, struct st_buf *out,
                                    struct stet_error *err);

#endif
