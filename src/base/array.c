#include "base/array.h"

#include <stdlib.h>
#include <string.h>

bool st_array_room(void *array, size_t count, size_t size) {
	if (count != 0 && (count < 8 || (count & (count - 1)) != 0))
		return true;
	void *items;
	memcpy(&items, array, sizeof items);
	items = reallocarray(items, count ? count * 2 : 8, size);
	if (!items)
		return false;
	memcpy(array, &items, sizeof items);
	return true;
}
