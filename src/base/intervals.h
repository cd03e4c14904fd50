/**
 * A set of numbers, stored as intervals: the lines of a file that a session has
 * seen, or that a call requests.
 *
 * The intervals are inclusive, sorted, disjoint and merged where they touch, so
 * that the order of additions does not matter. A set has at most
 * ST_INTERVALS_MAX intervals; to add another one, it drops the smallest. So a
 * set may lack numbers that were added, but never contains others.
 *
 *     st_auto(st_intervals) seen = {0};
 *
 *     if (!st_intervals_add(&seen, 1, 40) || !st_intervals_add(&seen, 41, 50))
 *             return st_fail_nomem(err);
 *     assert(st_intervals_covers(&seen, 50));
 */
#ifndef STET_BASE_INTERVALS_H
#define STET_BASE_INTERVALS_H

#include <stdbool.h>
#include <stddef.h>

#define ST_INTERVALS_MAX 256

/** The numbers from first to last, inclusive; none if last < first. */
struct st_interval {
	size_t first;
	size_t last;
};

/** A zeroed struct is the empty set. Callers may read `items`. */
struct st_intervals {
	struct st_interval *items;
	size_t count;
};

/** Free the contents. The empty set can be used again. */
void st_intervals_release(struct st_intervals *set);

/** Empty the set and keep its memory. */
void st_intervals_clear(struct st_intervals *set);

/**
 * Add first to last; nothing if last < first.
 *
 * @return False if out of memory; the set is unchanged.
 */
[[nodiscard]] bool st_intervals_add(struct st_intervals *set, size_t first, size_t last);

/** Whether the set contains all of first to last; true if last < first. */
bool st_intervals_contains(const struct st_intervals *set, size_t first, size_t last);

/** Whether the set contains all lines of a file with this many lines. */
static inline bool st_intervals_covers(const struct st_intervals *set, size_t lines) {
	return st_intervals_contains(set, 1, lines);
}

#endif
