/**
 * Patterns: PCRE2, and the limits that keep it from running without end.
 *
 * st_pattern_new() compiles a query once; several threads may use the result.
 * Each thread matches with a matcher of its own, which holds the clock. A
 * matcher searches one text at a time:
 *
 *     st_matcher_begin(matcher, text, 500, NULL);
 *     for (size_t at = 0; (code = st_matcher_next(matcher, at, &span)) > 0; at = span.end)
 *             ...
 *
 * A search in a tree matches line by line. st_matcher_line() tries code without
 * checks of the clock first, which is five times as fast, and turns to code with
 * checks when that code reaches a low limit. Both find the same.
 *
 * Invalid UTF-8 in a text is no error: it matches nothing.
 */
#ifndef STET_TEXT_FIND_PATTERN_H
#define STET_TEXT_FIND_PATTERN_H

#include <stdatomic.h>

#include "base/error.h"
#include "text/lines/lines.h"

/** The longest query, in bytes. */
#define ST_PATTERN_MAX 4096

enum st_pattern_flags {
	/** The query is plain text, not a regular expression. */
	ST_PATTERN_LITERAL = 1 << 0,
	/** Ignore case by Unicode's rules. */
	ST_PATTERN_CASELESS = 1 << 1,
	/** For st_matcher_line(): every text is one line, or part of one. */
	ST_PATTERN_LINES = 1 << 2,
	/** Do not use PCRE2's just-in-time compiler, as if memory could not be made executable. */
	ST_PATTERN_INTERPRET = 1 << 3,
};

struct st_pattern;
struct st_matcher;

/**
 * Compile a query. ^ and $ match at every line, whatever its ending.
 *
 * @query    Copied.
 * @flags    Of enum st_pattern_flags.
 * @instead  What to do to search for plain text, for the message about an invalid
 *           expression: "turn regex off".
 * @return   0, STET_E_INVALID (empty, too long, not UTF-8, not a valid expression), STET_E_NOMEM.
 */
[[nodiscard]] int st_pattern_new(struct st_str query, unsigned flags, const char *instead,
                                 struct st_pattern **out, struct stet_error *err);

/** Free a pattern, after its matchers; NULL is allowed. */
void st_pattern_free(struct st_pattern *pattern);

/** Bytes that every match contains; empty if there are none, or none are known. Borrowed. */
struct st_str st_pattern_required(const struct st_pattern *pattern);

/** The pattern is those bytes and nothing else: where they are, it matches. */
bool st_pattern_is_required(const struct st_pattern *pattern);

/** The pattern is plain text without a line break, so that no match spans lines. */
bool st_pattern_is_plain(const struct st_pattern *pattern);

/** Make a matcher for one thread. Returns 0 or STET_E_NOMEM. */
[[nodiscard]] int st_matcher_new(const struct st_pattern *pattern, struct st_matcher **out,
                                 struct stet_error *err);
void st_matcher_free(struct st_matcher *matcher);

/**
 * Begin with a text.
 *
 * @text          Borrowed until the next text; without a byte order mark.
 * @milliseconds  How long matching in it may take.
 * @stop          Matching also ends when another thread sets this; may be NULL.
 */
void st_matcher_begin(struct st_matcher *matcher, struct st_str text, unsigned milliseconds,
                      const atomic_bool *stop);

/** Go on with another text within the same time. */
void st_matcher_continue(struct st_matcher *matcher, struct st_str text);

/**
 * Find the next match at or after an offset.
 *
 * @return 1 with the span; 0 if there is none; or a negative reason, for st_matcher_fail().
 */
[[nodiscard]] int st_matcher_next(struct st_matcher *matcher, size_t at, struct st_span *span);

/** Find the first match in a line of the text, as if nothing surrounded the line. As st_matcher_next(). */
[[nodiscard]] int st_matcher_line(struct st_matcher *matcher, struct st_span line,
                                  struct st_span *span);

/** Read the clock. 0, or a negative reason: the time is up, or nobody waits for the search. */
[[nodiscard]] int st_matcher_look(struct st_matcher *matcher);

/** Tell of bytes that the caller passed over; now and then that reads the clock. As st_matcher_look(). */
[[nodiscard]] int st_matcher_passed(struct st_matcher *matcher, size_t bytes);

/** Where in the text the matcher was when it stopped. */
size_t st_matcher_at(const struct st_matcher *matcher);

/** Why matching stopped at a limit: "its time was up". NULL if the reason is no limit but a failure. */
const char *st_matcher_limit(int reason);

/** The error for a reason that is no limit. */
int st_matcher_fail(int reason, struct stet_error *err);

#endif
