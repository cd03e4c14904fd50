/**
 * Find the lines of a text that match a pattern, as grep does.
 *
 * A line is matched without its ending, as if it stood alone: ^, $, \s and [^a]
 * never reach another line. With ST_GREP_SPAN a match may span lines, and every
 * line that it touches is found. Lines are those of text/lines/lines.h; a byte
 * order mark at the start belongs to no line's text.
 *
 *     struct st_span match, lines;
 *     st_grep_begin(grep, text, 500, NULL);
 *     while ((code = st_grep_next(grep, &lines, &match)) > 0)
 *             ...
 *
 * Where the pattern contains a literal, the search looks for that first and
 * matches only the lines that contain it.
 */
#ifndef STET_TEXT_FIND_GREP_H
#define STET_TEXT_FIND_GREP_H

#include "text/find/find.h"
#include "text/find/pattern.h"

enum st_grep_flags {
	ST_GREP_LITERAL = ST_PATTERN_LITERAL,
	ST_GREP_CASELESS = ST_PATTERN_CASELESS,
	ST_GREP_SPAN = 1 << 8,
};

/** A search for one pattern by one thread. Zeroed, it may be released. */
struct st_grep {
	bool span;
	const struct st_pattern *pattern;
	struct st_matcher *matcher;
	struct st_needle needle;
	/** The text without its byte order mark, whose length is `bom`. */
	struct st_str text;
	size_t bom;
	/** Where to go on. */
	size_t at;
};

/**
 * Compile a pattern for st_grep_init(); free it with st_pattern_free().
 *
 * @flags  Of enum st_grep_flags.
 * @return 0; STET_E_INVALID: as st_pattern_new(), or the pattern holds a line break
 *         and ST_GREP_SPAN is not given; STET_E_NOMEM.
 */
[[nodiscard]] int st_grep_compile(struct st_str query, unsigned flags, struct st_pattern **out,
                                  struct stet_error *err);

/** Prepare a search; the pattern stays the caller's. Returns 0 or STET_E_NOMEM. */
[[nodiscard]] int st_grep_init(struct st_grep *grep, const struct st_pattern *pattern,
                               unsigned flags, struct stet_error *err);
void st_grep_release(struct st_grep *grep);

/** Begin with a text; as st_matcher_begin(). */
void st_grep_begin(struct st_grep *grep, struct st_str text, unsigned milliseconds,
                   const atomic_bool *stop);

/** Go on with the lines that follow a text of whole lines: the clock runs on. */
void st_grep_continue(struct st_grep *grep, struct st_str text);

/**
 * Find the next lines that match: one, or with ST_GREP_SPAN several that hang together.
 *
 * @lines  Receives where they begin and end in the text, endings included.
 * @match  Receives the first match in them.
 * @return 1, 0 if there are no more, or a negative reason (st_matcher_limit(), st_matcher_fail()).
 */
[[nodiscard]] int st_grep_next(struct st_grep *grep, struct st_span *lines, struct st_span *match);

#endif
