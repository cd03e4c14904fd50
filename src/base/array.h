/**
 * Arrays that grow.
 *
 * The capacity of an array is a power of two and at least 8, so that the count
 * alone shows when it is full:
 *
 *     if (!st_array_room(&list->items, list->count, sizeof *list->items))
 *             return st_fail_nomem(err);
 *     list->items[list->count++] = item;
 */
#ifndef STET_BASE_ARRAY_H
#define STET_BASE_ARRAY_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/**
 * Make room for one more item.
 *
 * @array  The address of the pointer to the items, which is NULL at first.
 * @count  The number of items.
 * @size   The size of an item.
 * @return False if out of memory; the items are unchanged.
 */
static inline bool st_array_room(void *array, size_t count, size_t size) {
	assert(size > 0);
	if (count != 0 && (count < 8 || (count & (count - 1)) != 0))
		return true;
	void *items;
	memcpy(&items, array, sizeof items);
	size_t room = count ? count * 2 : 8;
	items = room > SIZE_MAX / size ? NULL : realloc(items, room * size);
	if (!items)
		return false;
	memcpy(array, &items, sizeof items);
	return true;
}

#endif
