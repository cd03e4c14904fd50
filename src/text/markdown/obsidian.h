/**
 * Obsidian's comments, `%% ... %%`: within one line, or from a line that begins
 * with the mark to a line that ends with it. A mark in code, or one that is never
 * closed, is text.
 */
#ifndef STET_TEXT_MARKDOWN_OBSIDIAN_H
#define STET_TEXT_MARKDOWN_OBSIDIAN_H

#include "text/lines/lines.h"

/** The comments of a text, from the first mark to the last, in order. They borrow from it. */
struct st_obsidian_comments {
	struct st_str *items;
	size_t count;
};

/** Find the comments of a text. Returns 0, STET_E_NOMEM or STET_E_CANCELLED. */
[[nodiscard]] int st_obsidian_comments_of(struct st_str text, struct st_obsidian_comments *out,
                                          struct stet_error *err);
void st_obsidian_comments_release(struct st_obsidian_comments *comments);

/**
 * Copy a text with blanks in place of comments, so that lines and columns stay.
 *
 * @out    Receives the copy; stays empty if there is no comment.
 * @return 0, STET_E_NOMEM or STET_E_CANCELLED.
 */
[[nodiscard]] int st_obsidian_blank(const struct st_lines *lines, struct st_buf *out,
                                    struct stet_error *err);

#endif
