/**
 * Replace some lines of a text by others, as one span of bytes.
 *
 * A text is a list of lines and a flag that says whether the last line has an
 * ending. An edit changes the list and keeps the flag. Each new line gets the
 * ending of the line it replaces, else of the line above, else of most lines.
 *
 *     st_auto(st_line_edit) edit = {0};
 *     st_line_edit_begin(&edit, &lines, 3, 1, 2);
 *     st_line_edit_add(&edit, ST_STR("two lines"));
 *     st_line_edit_add(&edit, ST_STR("in place of line 3"));
 *     // now text[edit.start .. edit.end) becomes edit.bytes
 */
#ifndef STET_TEXT_PATCH_LINE_EDIT_H
#define STET_TEXT_PATCH_LINE_EDIT_H

#include "text/lines/lines.h"

struct st_line_edit {
	/** The old lines, borrowed. */
	const struct st_lines *lines;
	/** `bytes` replace the old text from start to end. */
	size_t start;
	size_t end;
	struct st_buf bytes;
	/** The first line, the same in old and new text; how many lines go, come, and were added so far. */
	size_t first;
	size_t old_count;
	size_t new_count;
	size_t added;
	/** How many bytes at the start of `bytes` only end the line above. */
	size_t lead;
	/** The ending of a new line that replaces none. */
	enum st_eol eol;
};

/**
 * Start an edit, or start it again: replace old_count lines from `first` on by
 * new_count lines, which st_line_edit_add() adds one by one. With an old_count of
 * 0, insert them before `first`.
 */
void st_line_edit_begin(struct st_line_edit *edit, const struct st_lines *lines, size_t first,
                        size_t old_count, size_t new_count);
void st_line_edit_add(struct st_line_edit *edit, struct st_str line);
void st_line_edit_release(struct st_line_edit *edit);

/** The lines that the edit replaces, without a byte order mark. */
struct st_str st_line_edit_before(const struct st_line_edit *edit);

#endif
