/**
 * Paths that are to be looked at once they have come to rest.
 *
 * A path rests when nothing was heard of it for a while: every event, and
 * every difference in its stat, starts the wait anew. The wait is bounded, so
 * that a log which is always being written is reported from time to time.
 *
 * All waits are equally long, so two queues do for a timer wheel: by the last
 * sign of life, and by the first.
 */
#ifndef STET_FS_WATCH_WATCH_DEBOUNCE_H
#define STET_FS_WATCH_WATCH_DEBOUNCE_H

#include "fs/watch/watch_table.h"

/** A queue's links. */
struct st_pending_link {
	struct st_pending *next;
	struct st_pending *prev;
};

struct st_pending {
	struct st_watch_node *node;
	int64_t first_ms;
	int64_t last_ms;
	struct st_pending_link by_first;
	struct st_pending_link by_last;
	/** The fingerprint at the last look; 0 if nothing was there. */
	uint64_t print;
	/** Somebody wrote to it: its content counts even if its stat is the same. */
	bool written;
	/** To be glanced at in the round that is going on. */
	bool heard;
	struct st_pending *next_heard;
};

struct st_debounce {
	int64_t wait_ms;
	int64_t bound_ms;
	struct st_pending *first_head;
	struct st_pending *first_tail;
	struct st_pending *last_head;
	struct st_pending *last_tail;
	size_t count;
};

/** Free what still waits; the nodes forget it. */
void st_debounce_release(struct st_debounce *debounce);

/** A sign of life of a node: it waits from now on. NULL without memory. */
struct st_pending *st_debounce_touch(struct st_debounce *debounce, struct st_watch_node *node,
                                     int64_t now_ms);

/** The next one whose wait is over; NULL if there is none. */
struct st_pending *st_debounce_due(const struct st_debounce *debounce, int64_t now_ms);

/** Whether it has waited so long that it is to be reported as it is. */
bool st_debounce_is_overdue(const struct st_debounce *debounce, const struct st_pending *pending,
                            int64_t now_ms);

/** When the next wait is over; -1 if nothing waits. */
int64_t st_debounce_deadline(const struct st_debounce *debounce);

/** Take one out and free it. */
void st_debounce_done(struct st_debounce *debounce, struct st_pending *pending);

#endif
