/**
 * What two sequences of numbers have in common: Myers' O(ND) difference
 * algorithm in linear space, with a bound on the work.
 *
 * Ordinary input gets a shortest difference. Where that would be expensive the
 * search settles for the path that got furthest, and when the whole budget is
 * spent, for "all of this was replaced by all of that": coarser, never wrong.
 */
#ifndef STET_TEXT_DIFF_MYERS_H
#define STET_TEXT_DIFF_MYERS_H

#include <stdint.h>

#include "base/error.h"
#include "base/str.h"

/** One of the two sequences. */
struct st_myers_side {
	const uint32_t *items;
	size_t count;
	/** Receives true for each item that the other sequence lacks; all false before. */
	bool *changed;
};

/**
 * Mark the items that are not common to both sequences. What stays unmarked
 * reads the same on both sides. At most 2^30 items together. Returns 0,
 * STET_E_NOMEM or STET_E_CANCELLED.
 */
[[nodiscard]] int st_myers(const struct st_myers_side *a, const struct st_myers_side *b,
                           struct stet_error *err);

#endif
