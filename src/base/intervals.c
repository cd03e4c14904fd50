#include "base/intervals.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* Whether a ends before b begins, with at least one number between them. */
static bool apart(struct st_interval a, struct st_interval b) {
	return a.last < b.first && b.first - a.last > 1;
}

/* The index of the first interval that touches the item or comes after it. */
static size_t lower(const struct st_intervals *set, struct st_interval item) {
	size_t low = 0, high = set->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (apart(set->items[middle], item))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Replace count intervals, from index at, by one. The caller has made room if count is 0. */
static void splice(struct st_intervals *set, size_t at, size_t count, struct st_interval item) {
	assert(at + count <= set->count);
	struct st_interval *place = set->items + at;
	memmove(place + 1, place + count, (set->count - at - count) * sizeof item);
	*place = item;
	set->count = set->count + 1 - count;
}

static size_t smallest(const struct st_intervals *set) {
	size_t best = 0;
	for (size_t i = 1; i < set->count; i++) {
		struct st_interval item = set->items[i], least = set->items[best];
		if (item.last - item.first < least.last - least.first)
			best = i;
	}
	return best;
}

static void remove_at(struct st_intervals *set, size_t at) {
	struct st_interval *place = set->items + at;
	set->count--;
	memmove(place, place + 1, (set->count - at) * sizeof *place);
}

void st_intervals_release(struct st_intervals *set) {
	free(set->items);
	*set = (struct st_intervals){0};
}

void st_intervals_clear(struct st_intervals *set) {
	set->count = 0;
}

bool st_intervals_add(struct st_intervals *set, size_t first, size_t last) {
	struct st_interval item = {first, last};
	if (last < first)
		return true;

	size_t at = lower(set, item), end = at;
	for (; end < set->count && !apart(item, set->items[end]); end++) {
		if (set->items[end].first < item.first)
			item.first = set->items[end].first;
		if (set->items[end].last > item.last)
			item.last = set->items[end].last;
	}
	if (at == end && set->count == ST_INTERVALS_MAX) {
		/* Keep the new interval: the next question is probably about it. */
		size_t victim = smallest(set);
		remove_at(set, victim);
		at -= victim < at;
		end = at;
	} else if (at == end && !st_array_room(&set->items, set->count, sizeof *set->items)) {
		return false;
	}
	splice(set, at, end - at, item);
	return true;
}

bool st_intervals_contains(const struct st_intervals *set, size_t first, size_t last) {
	if (last < first)
		return true;
	size_t at = lower(set, (struct st_interval){first, first});
	/* The interval just before may touch `first` without containing it. */
	if (at < set->count && set->items[at].last < first)
		at++;
	return at < set->count && set->items[at].first <= first && last <= set->items[at].last;
}
