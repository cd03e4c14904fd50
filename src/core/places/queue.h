/**
 * The queue between the calls of a workspace's sessions and the registry of
 * places: what they changed, and who was active.
 *
 * Calls append to it without waiting, and the background worker takes all of it.
 * A second change of a file that is still queued replaces the first, and the
 * oldest events are dropped beyond ST_PLACES_QUEUE_MAX. Thread-safe.
 */
#ifndef STET_CORE_PLACES_QUEUE_H
#define STET_CORE_PLACES_QUEUE_H

#include "core/places/places.h"

struct st_places_event {
	/** Below the root; owned, like all strings here. */
	char *path;
	/** Its name before a move; NULL for none. */
	char *moved_from;
	char *who;
	int64_t at;
	struct st_version before, after;
	/** Whether the version before is known. */
	bool knows_before;
};

void st_places_queue_init(struct st_places_queue *queue);
void st_places_queue_release(struct st_places_queue *queue);

/** Append a write or a removal; does nothing for other events. */
void st_places_queue_add(struct st_places_queue *queue, const struct st_file_event *event);

/** Note who is active. */
void st_places_queue_label(struct st_places_queue *queue, const char *label);

/** The same, if nobody was noted for so many milliseconds. Returns whether it was. */
bool st_places_queue_touch(struct st_places_queue *queue, const char *label, int64_t ms);

/** The version of a file before its first queued change; false if there is none, or it is not known. */
bool st_places_queue_before(struct st_places_queue *queue, const char *path,
                            struct st_version *before);

bool st_places_queue_has_events(struct st_places_queue *queue);

/** The contents of a queue, taken from it. */
struct st_places_taken {
	struct st_places_event *events;
	size_t count;
	char labels[ST_PLACES_LABELS_MAX][ST_LABEL_MAX];
	size_t label_count;
};

void st_places_taken_release(struct st_places_taken *taken);
bool st_places_taken_is_empty(const struct st_places_taken *taken);

void st_places_queue_take(struct st_places_queue *queue, struct st_places_taken *taken);

/** Put it back at the start of the queue. */
void st_places_queue_return(struct st_places_queue *queue, struct st_places_taken *taken);

#endif
