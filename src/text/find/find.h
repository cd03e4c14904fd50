/**
 * Find exact text, whatever its line endings.
 *
 * The folder text/find holds everything that looks for something: exact text,
 * regular expressions (search.h), and glob patterns for paths (glob.h).
 *
 * A client usually sees LF, CRLF and mixtures of both as the same newline. So an
 * LF or a CRLF in the pattern matches any LF or CRLF of the text. All other bytes
 * match themselves, valid UTF-8 or not. The details:
 *
 * - A match never begins or ends inside a CRLF of the text: if the pattern
 *   begins with LF, a match in a CRLF file begins with the CR.
 * - A CR in the pattern that no LF follows is an ordinary byte.
 * - If the pattern contains a CR and does not begin with LF, its exact bytes are
 *   tried first. If they occur, only those matches count, and a CR at the end of
 *   the pattern may match half a CRLF: this lets a caller remove carriage returns.
 * - A match never includes a byte order mark at the start of the text. A pattern
 *   that begins with the mark still matches there, and the match starts after
 *   the mark. Only the mark alone matches itself.
 *
 * Matches come from left to right and do not overlap. The time is linear in
 * text and pattern.
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

#include "text/find/needle.h"
#include "text/lines/lines.h"

/** A search under way. Text and pattern are borrowed and must outlive it. */
struct st_find {
	struct st_str text;
	/** The bytes to find, and where to find them: views of the arguments or of the buffers below. */
	struct st_needle needle;
	struct st_str hay;
	/** The pattern with the text's line endings, if they differ. */
	struct st_buf pattern;
	/** The text with every CRLF as LF, if it mixes both. */
	struct st_buf folded;
	/** Where the search continues in hay, and the same place in the text. */
	size_t at;
	size_t text_at;
};

/**
 * Start a search.
 *
 * @pattern  The text to find; an empty one matches nowhere.
 * @return   0 or STET_E_NOMEM.
 */
[[nodiscard]] int st_find_init(struct st_find *find, struct st_str text, struct st_str pattern,
                               struct stet_error *err);
void st_find_release(struct st_find *find);

/** The next match; false if there is none. */
bool st_find_next(struct st_find *find, struct st_span *span);

/** What a match costs besides its bytes, in the bytes that st_cancel_check() counts. */
#define ST_FIND_WORK ((size_t)64)

/** How many line numbers st_places keeps, however many matches there are. */
#define ST_PLACES_MAX 1000

/** The lines where the first matches begin, and the number of all matches. */
struct st_places {
	/** How many matches there are. */
	size_t total;
	/** How many of them are in `lines`. */
	size_t count;
	/** Line numbers, ascending; a line with two matches appears twice. */
	size_t lines[ST_PLACES_MAX];
};

/**
 * Find the lines where a pattern matches.
 *
 * @return 0 (also without a match), STET_E_CANCELLED or STET_E_NOMEM.
 */
[[nodiscard]] int st_places_find(struct st_places *places, struct st_str text,
                                 struct st_str pattern, struct stet_error *err);

/** How many lines a message names. */
#define ST_PLACES_NAMED 20

/**
 * Append places as prose: "line 4", "lines 4, 9 (3 times) and 20", "lines 4, 9,
 * 20 and 7 more places".
 *
 * @max  How many lines to name; the message counts the rest.
 */
void st_places_add(struct st_buf *buf, const struct st_places *places, size_t max);

#endif
