/**
 * The stretch of a text that has most in common with another text.
 *
 * Texts are compared by the four-byte sequences they share, in any order, so
 * that a word more or less costs a little and a whole line that moved nothing
 * at all. One pass with a window as long as the text looked for: linear,
 * whatever the texts hold.
 */
#ifndef STET_TEXT_HINT_SIMILAR_H
#define STET_TEXT_HINT_SIMILAR_H

#include "text/lines/lines.h"

/** Shorter texts are similar to everything. */
#define ST_SIMILAR_MIN 8

struct st_similar {
	/** The most similar stretch, the first of several. */
	struct st_span span;
	/** How much of it is shared, in percent. */
	unsigned percent;
};

/**
 * Find the stretch most similar to a text.
 *
 * @needle  At least ST_SIMILAR_MIN bytes, or nothing is similar.
 * @return  0 or STET_E_NOMEM.
 */
[[nodiscard]] int st_similar_find(struct st_similar *similar, struct st_str hay,
                                  struct st_str needle, struct stet_error *err);

#endif
