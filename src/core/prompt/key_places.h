/**
 * Where keys occur in a list, sorted, so that looking for the next place of a key
 * takes no walk through the list: lists of messages may have 100,000 calls.
 *
 *     struct st_key_places places = {0};
 *     if (!st_key_places_add(&places, key, i))
 *             return st_fail_nomem(err);
 *     ...
 *     st_key_places_sort(&places);
 *     bool again = st_key_places_next(&places, key, i) != SIZE_MAX;
 *     st_key_places_release(&places);
 */
#ifndef STET_CORE_PROMPT_KEY_PLACES_H
#define STET_CORE_PROMPT_KEY_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct st_key_place {
	uint64_t key;
	size_t at;
};

struct st_key_places {
	struct st_key_place *items;
	size_t count;
};

/** Add a place; false if out of memory. */
[[nodiscard]] bool st_key_places_add(struct st_key_places *places, uint64_t key, size_t at);

/** Sort, after the last st_key_places_add(). */
void st_key_places_sort(struct st_key_places *places);

/** The first place of a key behind another place; SIZE_MAX if there is none. */
size_t st_key_places_next(const struct st_key_places *places, uint64_t key, size_t behind);

void st_key_places_release(struct st_key_places *places);

#endif
