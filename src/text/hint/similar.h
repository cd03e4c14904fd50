/**
 * Find the passage of a text that has most in common with another text.
 *
 * Two texts are compared by the four-byte sequences they share, in any order: an
 * extra word costs little, and a line that moved costs almost nothing. One pass
 * with a window as long as the other text, so the time is linear.
 */
#ifndef STET_TEXT_HINT_SIMILAR_H
#define STET_TEXT_HINT_SIMILAR_H

#include "text/lines/lines.h"

/** A shorter text would be similar to everything. */
#define ST_SIMILAR_MIN 8

struct st_similar {
	/** The most similar passage, the first of several. */
	struct st_span span;
	/** How many percent of the needle's sequences it shares. */
	unsigned percent;
};

/**
 * Find the passage of `hay` most similar to `needle`.
 *
 * @needle  With less than ST_SIMILAR_MIN bytes, no passage is similar.
 * @return  0 or STET_E_NOMEM.
 */
[[nodiscard]] int st_similar_find(struct st_similar *similar, struct st_str hay,
                                  struct st_str needle, struct stet_error *err);

#endif
