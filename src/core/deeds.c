#include "core/deeds.h"

#include <stdlib.h>

#include "base/array.h"

/* What waits to be stored: beyond so many, the oldest are forgotten. */
enum { DEEDS_MAX = 10000 };

static void drop(struct st_file_event *event) {
	free((void *)(uintptr_t)event->path);
	free((void *)(uintptr_t)event->moved_to);
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
static bool repeats(const struct st_deeds *deeds, const struct st_file_event *event) {
	if (deeds->count == 0 || event->kind != ST_EVENT_READ)
		return false;
	struct st_file_event *last = &deeds->items[deeds->count - 1];
	if (last->kind != ST_EVENT_READ || strcmp(last->path, event->path) != 0)
		return false;
	last->after = event->after;
	last->at = event->at;
	return true;
}

static bool make_room(struct st_deeds *deeds) {
	if (deeds->count == DEEDS_MAX) {
		deeds->writes -= deeds->items[0].kind != ST_EVENT_READ;
		drop(&deeds->items[0]);
		deeds->count--;
		memmove(deeds->items, deeds->items + 1, deeds->count * sizeof *deeds->items);
	}
	return st_array_room(&deeds->items, deeds->count, sizeof *deeds->items);
}

int st_deeds_add(struct st_deeds *deeds, const struct st_file_event *event,
                 struct stet_error *err) {
	if (repeats(deeds, event))
		return 0;
	char *path = strdup(event->path);
	char *to = event->moved_to ? strdup(event->moved_to) : NULL;
	if (!path || (event->moved_to && !to) || !make_room(deeds)) {
		free(path);
		free(to);
		return st_fail_nomem(err);
	}
	struct st_file_event *own = &deeds->items[deeds->count++];
	*own = *event;
	own->path = path;
	own->moved_to = to;
	deeds->writes += event->kind != ST_EVENT_READ;
	return 0;
}
