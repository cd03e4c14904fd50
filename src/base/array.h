/**
 * Arrays that grow.
 *
 * An array has room for a power of two items, 8 at least, so that its count
 * alone tells when it is full:
 *
 *     if (!st_array_room(&list->items, list->count, sizeof *list->items))
 *             return st_fail_nomem(err);
 *     list->items[list->count++] = item;
 */
#ifndef STET_BASE_ARRAY_H
#define STET_BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

/**
 * Make room for one more item.
 *
 * @array  The address of the pointer to the items; NULL items are an empty array.
 * @count  How many items there are.
 * @size   The size of one.
 * @return False without memory; the items are as they were.
 */
bool st_array_room(void *array, size_t count, size_t size);

#endif
