#include "core/places/queue.h"

#include <stdio.h>

#include "base/array.h"
#include "base/clock.h"
#include "core/state/store.h"

/* Look at so many of the last events for one of the same file. */
enum { SAME_MAX = 64 };

static void event_release(struct st_places_event *event) {
	free(event->path);
	free(event->moved_from);
	free(event->who);
}

void st_places_taken_release(struct st_places_taken *taken) {
	for (size_t i = 0; i < taken->count; i++)
		event_release(&taken->events[i]);
	free(taken->events);
	taken->events = NULL;
	taken->count = taken->label_count = 0;
}

bool st_places_taken_is_empty(const struct st_places_taken *taken) {
	return taken->count == 0 && taken->label_count == 0;
}

void st_places_queue_init(struct st_places_queue *queue) {
	*queue = (struct st_places_queue){0};
	pthread_mutex_init(&queue->lock, NULL);
}

void st_places_queue_release(struct st_places_queue *queue) {
	st_auto(st_places_taken) rest = {0};
	st_places_queue_take(queue, &rest);
	pthread_mutex_destroy(&queue->lock);
}

/* ---- events ---- */

/* The queued event of the same file by the same session. */
static struct st_places_event *find_same(struct st_places_queue *queue,
                                         const struct st_file_event *event) {
	for (size_t i = queue->count; i > 0 && queue->count - i < SAME_MAX; i--) {
		struct st_places_event *queued = &queue->events[i - 1];
		if (strcmp(queued->path, event->path) == 0)
			return strcmp(queued->who, event->who ? event->who : "") == 0 ? queued : NULL;
	}
	return NULL;
}

/* A file that comes by a move follows the event that it is gone elsewhere. */
static const char *find_origin(const struct st_file_event *event, const char *last_gone,
                               const char *last_to) {
	return event->moved && last_to && strcmp(last_to, event->path) == 0 ? last_gone : NULL;
}

static bool copy_event(const struct st_file_event *event, struct st_places_event *copy) {
	const struct st_version unknown = st_version_unknown();
	*copy = (struct st_places_event){
		.path = strdup(event->path),
		.who = strdup(event->who ? event->who : ""),
		.at = event->at,
		.before = event->before,
		.after = event->after,
		.knows_before = !event->foreign && !st_version_eq(&event->before, &unknown),
	};
	return copy->path && copy->who;
}

static void drop_oldest(struct st_places_queue *queue) {
	event_release(&queue->events[0]);
	queue->count--;
	memmove(queue->events, queue->events + 1, queue->count * sizeof *queue->events);
	queue->overflowed = true;
}

static void append_event(struct st_places_queue *queue, const struct st_file_event *event,
                         const char *origin) {
	struct st_places_event copy;
	if (queue->count == ST_PLACES_QUEUE_MAX)
		drop_oldest(queue);
	if (!copy_event(event, &copy) ||
	    !st_array_room(&queue->events, queue->count, sizeof *queue->events)) {
		event_release(&copy);
		return;
	}
	copy.moved_from = origin ? strdup(origin) : NULL;
	queue->events[queue->count++] = copy;
}

/* The path of the event before, if its file went where this one is. */
static const char *origin_in(const struct st_places_queue *queue,
                             const struct st_file_event *event) {
	if (queue->count == 0)
		return NULL;
	const struct st_places_event *last = &queue->events[queue->count - 1];
	bool gone = !last->after.exists && st_version_eq(&last->before, &event->after);
	return gone ? find_origin(event, last->path, event->path) : NULL;
}

void st_places_queue_add(struct st_places_queue *queue, const struct st_file_event *event) {
	if (!st_file_event_is_write(event))
		return;
	pthread_mutex_lock(&queue->lock);
	struct st_places_event *same = find_same(queue, event);
	if (same) {
		same->after = event->after;
		same->at = event->at;
	} else {
		append_event(queue, event, origin_in(queue, event));
	}
	pthread_mutex_unlock(&queue->lock);
}

/* ---- presence ---- */

static void add_label(struct st_places_queue *queue, const char *label) {
	for (size_t i = 0; i < queue->label_count; i++) {
		if (strcmp(queue->labels[i], label) == 0)
			return;
	}
	if (queue->label_count < ST_PLACES_LABELS_MAX)
		snprintf(queue->labels[queue->label_count++], ST_LABEL_MAX, "%s", label);
}

void st_places_queue_label(struct st_places_queue *queue, const char *label) {
	pthread_mutex_lock(&queue->lock);
	add_label(queue, label);
	pthread_mutex_unlock(&queue->lock);
}

bool st_places_queue_touch(struct st_places_queue *queue, const char *label, int64_t ms) {
	int64_t now = st_now_ms();
	pthread_mutex_lock(&queue->lock);
	bool due = queue->touched_ms == 0 || now - queue->touched_ms >= ms;
	if (due)
		queue->touched_ms = now;
	add_label(queue, label);
	pthread_mutex_unlock(&queue->lock);
	return due;
}

/* ---- taking ---- */

bool st_places_queue_before(struct st_places_queue *queue, const char *path,
                            struct st_version *before) {
	bool found = false;
	pthread_mutex_lock(&queue->lock);
	for (size_t i = 0; i < queue->count && !found; i++) {
		found = strcmp(queue->events[i].path, path) == 0 && queue->events[i].knows_before;
		if (found)
			*before = queue->events[i].before;
	}
	pthread_mutex_unlock(&queue->lock);
	return found;
}

bool st_places_queue_has_events(struct st_places_queue *queue) {
	pthread_mutex_lock(&queue->lock);
	bool has = queue->count > 0;
	pthread_mutex_unlock(&queue->lock);
	return has;
}

void st_places_queue_take(struct st_places_queue *queue, struct st_places_taken *taken) {
	pthread_mutex_lock(&queue->lock);
	taken->events = queue->events;
	taken->count = queue->count;
	taken->label_count = queue->label_count;
	memcpy(taken->labels, queue->labels, sizeof taken->labels);
	queue->events = NULL;
	queue->count = queue->label_count = 0;
	pthread_mutex_unlock(&queue->lock);
}

/* Append what was queued meanwhile to what is returned. If memory is short, the older events are lost. */
static void join_events(struct st_places_queue *queue, struct st_places_taken *taken) {
	size_t returned = taken->count;
	for (size_t i = 0; i < queue->count; i++) {
		if (!st_array_room(&taken->events, taken->count, sizeof *taken->events)) {
			taken->count = returned;
			queue->overflowed = true;
			return;
		}
		taken->events[taken->count++] = queue->events[i];
	}
	free(queue->events);
	queue->events = taken->events;
	queue->count = taken->count;
	taken->events = NULL;
	taken->count = 0;
	while (queue->count > ST_PLACES_QUEUE_MAX)
		drop_oldest(queue);
}

void st_places_queue_return(struct st_places_queue *queue, struct st_places_taken *taken) {
	pthread_mutex_lock(&queue->lock);
	if (taken->count > 0)
		join_events(queue, taken);
	for (size_t i = 0; i < taken->label_count; i++)
		add_label(queue, taken->labels[i]);
	pthread_mutex_unlock(&queue->lock);
}
