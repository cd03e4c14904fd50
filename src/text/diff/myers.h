/**
 * Myers' O(ND) difference algorithm for two sequences of numbers, in linear space
 * and bounded time.
 *
 * For ordinary input the difference is a shortest one. Where that would be
 * expensive, the search takes the path that got furthest; when its whole budget is
 * spent, it marks all remaining items as changed. The result is then longer than
 * necessary, but never wrong.
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
	/** All false; receives true for each item that the other sequence lacks. */
	bool *changed;
};

/**
 * Mark the items that are not common to both sequences. The unmarked items of
 * both sides are equal, one by one. The caller passes at most 2^30 items in all.
 *
 * @return 0, STET_E_NOMEM or STET_E_CANCELLED.
 */
[[nodiscard]] int st_myers(const struct st_myers_side *a, const struct st_myers_side *b,
                           struct stet_error *err);

#endif
