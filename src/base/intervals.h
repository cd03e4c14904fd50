/**
 * A set of numbers kept as intervals: which lines of a file were seen, which
 * lines were asked for.
 *
 * The intervals are inclusive, sorted, disjoint and merged where they touch,
 * so a set that was filled piece by piece is equal to one filled at once.
 * There are never more than ST_INTERVALS_MAX of them: one more, and the
 * smallest of the others is forgotten. A set may thus say "not seen" of what
 * was, never "seen" of what was not.
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

/** The numbers from first to last, both included; none if last < first. */
struct st_interval {
	size_t first;
	size_t last;
};

/** Zeroed, it is the empty set. `items` may be read, up to `count`. */
struct st_intervals {
	struct st_interval *items;
	size_t count;
};

/** Free the contents; the set is empty and usable again. */
void st_intervals_release(struct st_intervals *set);

/** Empty the set and keep its memory. */
void st_intervals_clear(struct st_intervals *set);

/**
 * Add first to last; nothing if last < first.
 *
 * @return false, with the set unchanged, if memory ran out.
 */
[[nodiscard]] bool st_intervals_add(struct st_intervals *set, size_t first, size_t last);

/** Whether all of first to last are in the set; true if last < first. */
bool st_intervals_contains(const struct st_intervals *set, size_t first, size_t last);

/** How many numbers are in the set; SIZE_MAX if that is more than a size_t holds. */
size_t st_intervals_total(const struct st_intervals *set);

/** Whether all lines of a file of so many lines are in the set. */
static inline bool st_intervals_covers(const struct st_intervals *set, size_t lines) {
	return st_intervals_contains(set, 1, lines);
}

#endif
