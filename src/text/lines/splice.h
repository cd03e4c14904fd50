/**
 * Putting one new text in the place of spans of a text.
 *
 * The caller says which spans, from left to right; this keeps everything
 * between them byte by byte, gives the new text the line ends of each place
 * (the rules are in text/patch/replace.h), and remembers where it went.
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

/** A place in the text that moves with what happens before it. */
struct st_mark {
	size_t *place;
	/** Where the span around it is replaced: whether it goes to the end of the new text. */
	bool at_end;
};

struct st_splice {
	struct st_str text;
	struct st_str new_text;
	/** The new text is the old one: spans stay as they are, whatever their line ends. */
	bool same;
	/** The new text is taken as it is. */
	bool verbatim;
	/** What most lines of the text end in, once somebody has asked; ST_EOL_NONE if it has no line end. */
	enum st_eol text_eol;
	bool text_eol_known;
	/** The new text by line ending, made when needed. */
	struct st_buf by_eol[ST_EOL_CR + 1];

	struct st_buf out;
	/** The most bytes out may have, and whether that was too few. */
	size_t max;
	bool too_big;
	/** How much of the text is in out, or was replaced. */
	size_t copied;
	/** How many spans were replaced, and whether any by other bytes. */
	size_t count;
	bool changed;
	/** The first span, and what it became in out. */
	struct st_span old_first;
	struct st_span new_first;
	/** From the start of the first new text to the end of the last, in out. */
	struct st_span region;

	/** Places to move along, in ascending order; see st_splice_marks(). */
	struct st_mark *marks;
	size_t mark_count;
	size_t mark_next;
};

/** Put marks in ascending order of their places. */
void st_marks_sort(struct st_mark *marks, size_t count);

/** Start. The views are borrowed; old_text tells whether anything, or anything but line ends, differs. */
void st_splice_init(struct st_splice *splice, struct st_str text, struct st_str old_text,
                    struct st_str new_text, size_t max);
void st_splice_release(struct st_splice *splice);

/**
 * Keep places in the text up to date. Before the first st_splice_put().
 *
 * @marks  Borrowed and sorted here; each *place is an offset in the text, and
 *         one in out when st_splice_end() is done.
 */
void st_splice_marks(struct st_splice *splice, struct st_mark *marks, size_t count);

/** Replace a span that starts at or behind the end of the last one. */
void st_splice_put(struct st_splice *splice, struct st_span span);

/**
 * Add what is left of the text.
 *
 * @return 0, or STET_E_TOO_BIG, STET_E_NOMEM.
 */
[[nodiscard]] int st_splice_end(struct st_splice *splice, struct stet_error *err);

#endif
