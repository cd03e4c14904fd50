/**
 * Some lines of a text replaced by others, as bytes to splice.
 *
 * The text is taken as a list of lines and a flag, whether the last one has an
 * ending. New lines change the list and leave the flag alone, and each takes
 * the ending of the line it replaces, of the one above, or of most lines.
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
	/** Bytes start to end of the old text become these. */
	size_t start;
	size_t end;
	struct st_buf bytes;
	/** The first line, in either numbering; how many there were, will be, and are so far. */
	size_t first;
	size_t old_count;
	size_t new_count;
	size_t added;
	/** How many of the bytes only end the line above. */
	size_t lead;
	/** The ending of a line that replaces none. */
	enum st_eol eol;
};

/**
 * Begin anew: lines from first on go, old_count of them, none for an insert
 * before first; new_count others come, each by st_line_edit_add().
 */
void st_line_edit_begin(struct st_line_edit *edit, const struct st_lines *lines, size_t first,
                        size_t old_count, size_t new_count);
void st_line_edit_add(struct st_line_edit *edit, struct st_str line);
void st_line_edit_release(struct st_line_edit *edit);

/** The old lines that go, without a byte order mark. */
struct st_str st_line_edit_before(const struct st_line_edit *edit);

#endif
