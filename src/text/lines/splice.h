/**
 * Replace spans of a text by one new text.
 *
 * The caller names the spans from left to right. A splice copies the bytes
 * between them unchanged, converts the new text to the line endings of each
 * place (text/patch/replace.h has the rules), and records where it went.
 *
 *     st_auto(st_splice) splice = {0};
 *     st_splice_init(&splice, text, old_text, new_text, max);
 *     while (st_find_next(&find, &span))
 *             st_splice_put(&splice, span);
 *     if (st_splice_end(&splice, err) < 0)
 *             return err->code;
 *     use(st_buf_str(&splice.out), splice.region);
 */
#ifndef STET_TEXT_LINES_SPLICE_H
#define STET_TEXT_LINES_SPLICE_H

#include "text/lines/lines.h"

/** An offset into the text that moves as text before it grows or shrinks. */
struct st_mark {
	size_t *place;
	/** When the span around the mark is replaced: move to the new text's end, not its start. */
	bool at_end;
};

struct st_splice {
	struct st_str text;
	struct st_str new_text;
	/** The new text equals the old one: spans stay as they are, whatever their line endings. */
	bool same;
	/** Insert the new text without converting line endings. */
	bool verbatim;
	/** The most frequent line ending, computed on first use; ST_EOL_NONE if the text has none. */
	enum st_eol text_eol;
	bool text_eol_known;
	/** The new text by line ending, converted on first use. */
	struct st_buf by_eol[ST_EOL_CR + 1];

	struct st_buf out;
	/** The most bytes `out` may hold, and whether the result would be larger. */
	size_t max;
	bool too_big;
	/** How many bytes of the text have been copied or replaced so far. */
	size_t copied;
	/** How many spans were replaced, and whether any replacement changed a byte. */
	size_t count;
	bool changed;
	/** The first span, and the span in `out` that replaced it. */
	struct st_span old_first;
	struct st_span new_first;
	/** In `out`: from the start of the first replacement to the end of the last. */
	struct st_span region;

	/** The marks to move, in ascending order; see st_splice_marks(). */
	struct st_mark *marks;
	size_t mark_count;
	size_t mark_next;
};

/** Sort marks by place, ascending. */
void st_marks_sort(struct st_mark *marks, size_t count);

/**
 * Start a splice. Borrows the three texts. Comparing old_text with new_text tells
 * whether anything changes, and whether anything but line endings does.
 */
void st_splice_init(struct st_splice *splice, struct st_str text, struct st_str old_text,
                    struct st_str new_text, size_t max);
void st_splice_release(struct st_splice *splice);

/**
 * Keep marks up to date. Call this before the first st_splice_put().
 *
 * @marks  Borrowed, and sorted here. Each *place starts as an offset into the
 *         text; after st_splice_end() it is an offset into `out`.
 */
void st_splice_marks(struct st_splice *splice, struct st_mark *marks, size_t count);

/** Replace a span. It must not start before the end of the previous one. */
void st_splice_put(struct st_splice *splice, struct st_span span);

/**
 * Copy the rest of the text.
 *
 * @return 0, or STET_E_TOO_BIG, STET_E_NOMEM.
 */
[[nodiscard]] int st_splice_end(struct st_splice *splice, struct stet_error *err);

#endif
