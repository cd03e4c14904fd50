/**
 * Search a text for plain text or a regular expression (PCRE2), as grep does.
 *
 * Both ignore case by Unicode's rules; (?-i) in an expression turns that off.
 * ^ and $ match at every line, whatever its ending. The result lists each line
 * once, at its first match. It lists a match that spans lines where it starts,
 * and the search continues after it. Invalid UTF-8 in the text is no error: it
 * matches nothing.
 *
 * A search ends within its time limit, with a message, even if the expression
 * backtracks without end.
 *
 *     struct st_search search = { .query = ST_STR("^## "), .regex = true };
 *     struct st_search_result result;
 *     if (st_search_run(&search, &lines, &arena, &result, err) < 0)
 *             return err->code;
 *     for (size_t i = 0; i < result.count; i++)
 *             show(result.matches[i].line, result.matches[i].text);
 */
#ifndef STET_TEXT_FIND_SEARCH_H
#define STET_TEXT_FIND_SEARCH_H

#include "base/arena.h"
#include "base/error.h"
#include "text/find/pattern.h"

/** The most lines of context on either side. */
#define ST_SEARCH_MAX_CONTEXT 20
/** The most matches listed, unless `max` says otherwise. */
#define ST_SEARCH_MAX_MATCHES 200
/** How many characters of a line a result shows. */
#define ST_SEARCH_MAX_TEXT 200
/** How long a search may take, in milliseconds, unless `time_limit` says otherwise. */
#define ST_SEARCH_TIME_LIMIT 500

struct st_search {
	/** UTF-8; not empty. */
	struct st_str query;
	/** The query is a regular expression, not plain text. */
	bool regex;
	/** Lines shown before and after each match. */
	size_t context;
	/** How many matches to list; 0 for the default. */
	size_t max;
	/** In milliseconds; 0 for the default. */
	unsigned time_limit;
	/** Do not use PCRE2's just-in-time compiler, as if memory could not be made executable. */
	bool interpret;
};

/**
 * One matching line. Texts are UTF-8, with U+FFFD for invalid bytes, and are cut
 * to ST_SEARCH_MAX_TEXT characters with "..." at the cut. Context lines lose
 * their ends; the matching line is cut so that the match stays visible.
 */
struct st_search_match {
	size_t line;
	/** Where the match starts, in characters from 1. */
	size_t column;
	struct st_str text;
	/** Lines line - before_count to line - 1, and line + 1 to line + after_count. */
	const struct st_str *before;
	size_t before_count;
	const struct st_str *after;
	size_t after_count;
};

/** The matches. Everything in it lives in the arena. */
struct st_search_result {
	const struct st_search_match *matches;
	size_t count;
	/** How many lines match, including those beyond `count`. */
	size_t total;
	/** Some text in `matches` has U+FFFD in place of invalid UTF-8. */
	bool lossy;
	/** The search ended early, so `total` may be too low; `note` says why. */
	bool stopped;
	struct st_str note;
};

/**
 * Search the lines of a text.
 *
 * @return 0, also if nothing matches; STET_E_INVALID if the query is empty,
 *         too long, not UTF-8 or not a valid expression; STET_E_LIMIT if the
 *         search ended early without any match; STET_E_NOMEM.
 */
[[nodiscard]] int st_search_run(const struct st_search *search, const struct st_lines *lines,
                                struct st_arena *arena, struct st_search_result *result,
                                struct stet_error *err);

#endif
