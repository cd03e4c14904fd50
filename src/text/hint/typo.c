#include "text/hint/typo.h"

#include "base/cancel.h"

/* Check for cancellation after so many columns. */
enum { STEP = 1024 };

/* How many cells to compute at most. */
#define CELLS_MAX ((size_t)64 << 20)

/* For a prefix of the needle: the fewest changes that produce it, and where in the hay they start. */
struct cell {
	unsigned changes;
	size_t start;
};

static struct cell add_changes(struct cell from, unsigned changes) {
	return (struct cell){from.changes + changes, from.start};
}

static void keep_fewer(struct cell *best, struct cell other) {
	if (other.changes < best->changes)
		*best = other;
}

static unsigned typos_allowed(size_t len) {
	return len < 4 ? 0 : len < 8 ? 1 : len < 20 ? 2 : 3;
}

/* Compute the column for byte j of the hay, one cell per prefix of the needle, from the two before. */
static void next_column(struct st_str hay, size_t j, struct st_str needle, const struct cell *two,
                        const struct cell *one, struct cell *now) {
	now[0] = (struct cell){0, j + 1};
	for (size_t i = 1; i <= needle.len; i++) {
		bool same = needle.ptr[i - 1] == hay.ptr[j];
		now[i] = add_changes(one[i - 1], !same);
		keep_fewer(&now[i], add_changes(one[i], 1));
		keep_fewer(&now[i], add_changes(now[i - 1], 1));
		if (i > 1 && j > 0 && needle.ptr[i - 1] == hay.ptr[j - 1] &&
		    needle.ptr[i - 2] == hay.ptr[j])
			keep_fewer(&now[i], add_changes(two[i - 2], 1));
	}
}

bool st_typo_find(struct st_str hay, struct st_str needle, struct st_span *span) {
	struct cell columns[3][ST_TYPO_MAX + 1];
	if (needle.len > ST_TYPO_MAX || typos_allowed(needle.len) == 0)
		return false;
	unsigned best = typos_allowed(needle.len) + 1;
	size_t end = hay.len < CELLS_MAX / needle.len ? hay.len : CELLS_MAX / needle.len;
	for (size_t i = 0; i <= needle.len; i++)
		columns[0][i] = columns[2][i] = (struct cell){(unsigned)i, 0};
	for (size_t j = 0; j < end && best > 0; j++) {
		/* Treat a cancellation as not found: the next st_cancel_check() reports it. */
		if (j % STEP == 0 && st_cancel_check(8 * STEP * needle.len, NULL) < 0)
			return false;
		struct cell *now = columns[(j + 1) % 3];
		next_column(hay, j, needle, columns[(j + 2) % 3], columns[j % 3], now);
		if (now[needle.len].changes < best) {
			best = now[needle.len].changes;
			*span = (struct st_span){now[needle.len].start, j + 1};
		}
	}
	return best <= typos_allowed(needle.len) && span->end > span->start;
}
