/**
 * Finding a text in a text, where a line end is a line end.
 *
 * Whoever asks has usually seen the text through a pipe that shows LF, CRLF
 * and a mixture of both alike. So an LF in the pattern, and a CRLF too, stands
 * for a whole line ending of the text: an LF, or a CRLF with both its bytes.
 * All other bytes stand for themselves, valid UTF-8 or not. To be exact:
 *
 * - A match never begins or ends inside a CRLF of the text: where a pattern
 *   begins with LF, a match in a CRLF file begins with the CR.
 * - A CR without LF behind it, in the pattern, is a byte like any other.
 * - A pattern with a CR in it, and no LF at its very start, is first looked
 *   for byte by byte. If its bytes occur, only those places count, and then a
 *   CR at its end may well be half of a CRLF: a caller that names carriage
 *   returns gets them, and can take them away.
 * - A byte order mark at the start of the text is not part of what can be
 *   found. A pattern that begins with one matches there all the same, and
 *   the match starts behind the mark. Only the mark alone finds itself.
 *
 * Matches come from left to right and do not overlap. The work is linear in
 * text and pattern, whatever they hold.
 *
 *     st_auto(st_find) find = {0};
 *     struct st_span span;
 *
 *     if (st_find_init(&find, text, ST_STR("one\ntwo"), err) < 0)
 *             return err->code;
 *     while (st_find_next(&find, &span))
 *             show(st_str_slice(text, span.start, span.end));
 */
#ifndef STET_TEXT_FIND_FIND_H
#define STET_TEXT_FIND_FIND_H

#include "text/lines/lines.h"
#include "text/find/needle.h"

/** A search under way. Text and pattern are borrowed and must outlive it. */
struct st_find {
	struct st_str text;
	/** What is looked for, and in what; views of the arguments or of the buffers below. */
	struct st_needle needle;
	struct st_str hay;
	/** The pattern with the text's kind of line ends, if it had to be rewritten. */
	struct st_buf pattern;
	/** The text with every CRLF as LF, if it has both kinds. */
	struct st_buf folded;
	/** Where to go on, in hay, and which place of the text that is. */
	size_t at;
	size_t text_at;
};

/**
 * Start a search.
 *
 * @pattern  What to look for; an empty one matches nowhere.
 * @return   0 or STET_E_NOMEM.
 */
[[nodiscard]] int st_find_init(struct st_find *find, struct st_str text, struct st_str pattern,
                               struct stet_error *err);
void st_find_release(struct st_find *find);

/** The next match; false if there is none. */
bool st_find_next(struct st_find *find, struct st_span *span);

/** What a match costs besides its bytes, in the measure of st_cancel_check(). */
#define ST_FIND_WORK ((size_t)64)

/** How many line numbers are kept of any number of matches. */
#define ST_PLACES_MAX 1000

/** Where matches begin: the lines of the first ones, and the number of all. */
struct st_places {
	/** How many matches there are. */
	size_t total;
	/** How many of them are in `lines`. */
	size_t count;
	/** Line numbers in order; a line with two matches is there twice. */
	size_t lines[ST_PLACES_MAX];
};

/**
 * The lines where a pattern matches: what an answer to a conflict says about
 * an old text that is still there.
 *
 * @return 0 (also without a match), STET_E_CANCELLED or STET_E_NOMEM.
 */
[[nodiscard]] int st_places_find(struct st_places *places, struct st_str text,
                                 struct st_str pattern, struct stet_error *err);

/** How many lines a message names. */
#define ST_PLACES_NAMED 20

/**
 * Append places as words: "line 4", "lines 4, 9 (3 times) and 20", "lines 4, 9,
 * 20 and 7 more places".
 *
 * @max  How many lines to name; the rest is counted.
 */
void st_places_add(struct st_buf *buf, const struct st_places *places, size_t max);

#endif
