#include "core/deeds.h"

#include <stdlib.h>

#include "base/array.h"

/* What waits to be stored: beyond so many, the oldest are forgotten. */
enum { DEEDS_MAX = 10000 };

static void drop(struct st_deed *deed) {
	free((void *)(uintptr_t)deed->path);
	free((void *)(uintptr_t)deed->to);
}

void st_deeds_clear(struct st_deeds *deeds) {
	while (deeds->count > 0)
		drop(&deeds->items[--deeds->count]);
	deeds->writes = 0;
}

void st_deeds_release(struct st_deeds *deeds) {
	st_deeds_clear(deeds);
	free(deeds->items);
	*deeds = (struct st_deeds){0};
}

/* The same file read again, a moment ago. */
static bool repeats(const struct st_deeds *deeds, const struct st_deed *deed) {
	if (deeds->count == 0 || deed->wrote)
		return false;
	struct st_deed *last = &deeds->items[deeds->count - 1];
	if (last->wrote || strcmp(last->path, deed->path) != 0)
		return false;
	last->after = deed->after;
	last->stamp = deed->stamp;
	last->at = deed->at;
	return true;
}

static bool make_room(struct st_deeds *deeds) {
	if (deeds->count == DEEDS_MAX) {
		deeds->writes -= deeds->items[0].wrote;
		drop(&deeds->items[0]);
		deeds->count--;
		memmove(deeds->items, deeds->items + 1, deeds->count * sizeof *deeds->items);
	}
	return st_array_room(&deeds->items, deeds->count, sizeof *deeds->items);
}

int st_deeds_add(struct st_deeds *deeds, const struct st_deed *deed, struct stet_error *err) {
	if (repeats(deeds, deed))
		return 0;
	char *path = strdup(deed->path);
	char *to = deed->to ? strdup(deed->to) : NULL;
	if (!path || (deed->to && !to) || !make_room(deeds)) {
		free(path);
		free(to);
		return st_fail_nomem(err);
	}
	struct st_deed *own = &deeds->items[deeds->count++];
	*own = *deed;
	own->path = path;
	own->to = to;
	deeds->writes += deed->wrote;
	return 0;
}
