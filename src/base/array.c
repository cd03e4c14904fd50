#include "base/array.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

bool st_array_room(void *array, size_t count, size_t size) {
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
