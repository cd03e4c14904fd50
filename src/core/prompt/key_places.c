#include "core/prompt/key_places.h"

#include "base/array.h"

bool st_key_places_add(struct st_key_places *places, uint64_t key, size_t at) {
	if (!st_array_room(&places->items, places->count, sizeof *places->items))
		return false;
	places->items[places->count++] = (struct st_key_place){key, at};
	return true;
}

static int compare(const struct st_key_place *a, const struct st_key_place *b) {
	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return a->at < b->at ? -1 : a->at > b->at;
}

static int by_key(const void *a, const void *b) {
	return compare(a, b);
}

void st_key_places_sort(struct st_key_places *places) {
	if (places->count)
		qsort(places->items, places->count, sizeof *places->items, by_key);
}

size_t st_key_places_next(const struct st_key_places *places, uint64_t key, size_t behind) {
	const struct st_key_place wanted = {key, behind};
	size_t low = 0, high = places->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (compare(&places->items[middle], &wanted) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < places->count && places->items[low].key == key ? places->items[low].at : SIZE_MAX;
}

void st_key_places_release(struct st_key_places *places) {
	free(places->items);
	*places = (struct st_key_places){0};
}
