/**
 * Find the text nearest to a search text that was not found, and how it differs.
 *
 * A search text that does not match is usually right except for something
 * invisible: tabs, curly quotes, a line number copied along. So both texts are
 * folded (text/hint/fold.h) until they match, which names the differences. If that
 * fails, the passage that shares most with the search text is the nearest. All of
 * this serves the message only (text/hint/explain.h): stet never edits the nearest
 * text instead.
 */
#ifndef STET_TEXT_HINT_NEAREST_H
#define STET_TEXT_HINT_NEAREST_H

#include "text/hint/fold.h"

/** How many places to keep. */
#define ST_NEAREST_MAX 3

/** Differences beyond those of text/hint/fold.h, in the same set of bits. */
enum st_nearest_kinds {
	/** The search text has line numbers, as in a listing. */
	ST_NEAR_NUMBERS = 1 << 16,
	/** The search text has extra lines at its start or end. */
	ST_NEAR_EXTRA = 1 << 17,
	/** The place has other words; it is only similar. */
	ST_NEAR_SIMILAR = 1 << 18,
};

/** A place that resembles the search text. */
struct st_near {
	/** Its first and last line. */
	size_t first;
	size_t last;
	/** Its bytes: what the search text should have been. Whole lines if only similar. */
	struct st_span span;
	/** How it differs: ST_FOLD_* and ST_NEAR_* bits. */
	unsigned kinds;
};

struct st_nearest {
	/** The nearest places, those with the fewest differences first. */
	struct st_near list[ST_NEAREST_MAX];
	size_t count;
	/** How many such places there are. */
	size_t total;
	/** For ST_NEAR_EXTRA: how many lines of the search text the file lacks. */
	size_t extra_before;
	size_t extra_after;
	/** The first line, from 1, where the new text occurs already; 0 if nowhere. */
	size_t new_line;
};

/**
 * Find the nearest places, in time linear in the text.
 *
 * @old_text  A search text that st_find_next() did not find.
 * @new_text  The text that should have replaced it, or an empty one.
 * @return    0 (also if no place comes near) or STET_E_NOMEM.
 */
[[nodiscard]] int st_nearest_find(struct st_nearest *nearest, struct st_str text,
                                  struct st_str old_text, struct st_str new_text,
                                  struct stet_error *err);

#endif
