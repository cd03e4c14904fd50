/**
 * What comes nearest to a text that is not there, and what is different.
 *
 * A search text that does not match is usually right but for something that
 * cannot be seen: tabs, curly quotes, a line number copied along. Both texts
 * are folded (text/hint/fold.h) until they match, which names the differences. If
 * that fails, the stretch of text that shares most with it is taken. Nothing
 * here changes a text; text/hint/explain.h makes sentences of it.
 */
#ifndef STET_TEXT_HINT_NEAREST_H
#define STET_TEXT_HINT_NEAREST_H

#include "text/hint/fold.h"

/** How many places are kept. */
#define ST_NEAREST_MAX 3

/** Differences beyond those of text/hint/fold.h, in the same set of bits. */
enum st_nearest_kinds {
	/** The search text has line numbers, as a listing shows them. */
	ST_NEAR_NUMBERS = 1 << 16,
	/** The search text has lines at its start or end that are not there. */
	ST_NEAR_EXTRA = 1 << 17,
	/** Other words: the place is only similar. */
	ST_NEAR_SIMILAR = 1 << 18,
};

/** A place that comes near. */
struct st_near {
	/** Its lines. */
	size_t first;
	size_t last;
	/** Its bytes: what to give instead of the search text. Whole lines if only similar. */
	struct st_span span;
	/** In what it differs: ST_FOLD_* and ST_NEAR_* bits. */
	unsigned kinds;
};

struct st_nearest {
	/** The nearest places, the fewest differences first. */
	struct st_near list[ST_NEAREST_MAX];
	size_t count;
	/** How many such places there are. */
	size_t total;
	/** How many lines of the search text are not there, for ST_NEAR_EXTRA. */
	size_t extra_before;
	size_t extra_after;
	/** The first line, from 1, where the new text is already; 0 if nowhere. */
	size_t new_line;
};

/**
 * Look for what comes nearest. Linear in the text, which may be large.
 *
 * @old_text  A search text that st_find_next() did not find.
 * @new_text  What should have replaced it; empty if there is no such thing.
 * @return    0 (also if nothing comes near) or STET_E_NOMEM.
 */
[[nodiscard]] int st_nearest_find(struct st_nearest *nearest, struct st_str text,
                                  struct st_str old_text, struct st_str new_text,
                                  struct stet_error *err);

#endif
