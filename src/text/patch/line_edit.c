#include "text/patch/line_edit.h"

#include <assert.h>

#include "base/cancel.h"

static enum st_eol eol_of_line(const struct st_lines *lines, size_t n) {
	return n >= 1 && n <= lines->count ? st_eol_of(st_lines_whole(lines, n)) : ST_EOL_NONE;
}

/* Where a line starts, after a byte order mark; for the line after the last, the text's end. */
static size_t start_of(const struct st_lines *lines, size_t n) {
	return n == 1 ? st_bom_len(lines->text) : lines->starts[n - 1];
}

/* Whether the replaced lines reach to the end of a text without a final newline. */
static bool is_open_end(const struct st_line_edit *edit) {
	const struct st_lines *lines = edit->lines;
	return lines->count && edit->first + edit->old_count - 1 == lines->count &&
	       eol_of_line(lines, lines->count) == ST_EOL_NONE;
}

/* At an open end, an insert must end the line above, and a delete must take its ending away. */
static void join_to_line_above(struct st_line_edit *edit) {
	if (!is_open_end(edit) || edit->first == 1)
		return;
	struct st_str above = st_lines_body(edit->lines, edit->first - 1);
	if (edit->new_count && edit->old_count == 0) {
		st_buf_add(&edit->bytes, st_eol_bytes(edit->eol));
		edit->lead = edit->bytes.len;
	} else if (edit->new_count == 0 && edit->old_count && above.len) {
		edit->start -= st_eol_bytes(eol_of_line(edit->lines, edit->first - 1)).len;
	}
}

/* Choose another ending where a lone CR and the LF of an empty line below would become one CRLF. */
static enum st_eol keep_apart(const struct st_line_edit *edit, enum st_eol eol, bool blank,
                              bool last) {
	struct st_str text = edit->lines->text;
	struct st_str above =
		edit->bytes.len ? st_buf_str(&edit->bytes) : st_strn(text.ptr, edit->start);
	struct st_str after = st_str_slice(text, edit->end, text.len);
	if (blank && eol == ST_EOL_LF && st_str_ends(above, ST_STR("\r")))
		eol = ST_EOL_CR;
	if (last && eol == ST_EOL_CR && st_str_starts(after, ST_STR("\n")))
		eol = ST_EOL_CRLF;
	return eol;
}

/* The ending of the next line. A blank line needs one even at an open end, or it would not exist. */
static enum st_eol next_eol(const struct st_line_edit *edit, struct st_str line) {
	bool last = edit->added + 1 == edit->new_count;
	if (last && line.len && is_open_end(edit))
		return ST_EOL_NONE;
	enum st_eol eol = ST_EOL_NONE;
	if (edit->added < edit->old_count)
		eol = eol_of_line(edit->lines, edit->first + edit->added);
	if (eol == ST_EOL_NONE)
		eol = edit->eol;
	return keep_apart(edit, eol, line.len == 0, last);
}

void st_line_edit_begin(struct st_line_edit *edit, const struct st_lines *lines, size_t first,
                        size_t old_count, size_t new_count) {
	st_line_edit_release(edit);
	edit->lines = lines;
	edit->first = first;
	edit->old_count = old_count;
	edit->new_count = new_count;
	edit->start = start_of(lines, first);
	edit->end = old_count ? lines->starts[first - 1 + old_count] : edit->start;
	edit->eol = eol_of_line(lines, first + old_count - 1);
	if (edit->eol == ST_EOL_NONE)
		edit->eol = st_eol_of_text(lines->text);
	join_to_line_above(edit);
}

/* What a line costs besides its bytes, in the bytes that st_cancel_check() counts. */
enum { LINE_WORK = 64 };

void st_line_edit_add(struct st_line_edit *edit, struct st_str line) {
	assert(edit->added < edit->new_count);
	enum st_eol eol = next_eol(edit, line);
	st_buf_add(&edit->bytes, line);
	st_buf_add(&edit->bytes, st_eol_bytes(eol));
	edit->added++;
	st_cancel_progress(line.len + LINE_WORK);
}

void st_line_edit_release(struct st_line_edit *edit) {
	st_buf_release(&edit->bytes);
	*edit = (struct st_line_edit){0};
}

struct st_str st_line_edit_before(const struct st_line_edit *edit) {
	return st_str_slice(edit->lines->text, start_of(edit->lines, edit->first), edit->end);
}
