/**
 * Debouncing: the list of pending paths, which the watcher checks when they
 * have been quiet for a while.
 *
 * Every event, and every change of its stat, restarts a path's wait. The wait
 * is bounded, so that the watcher reports a file that is always being written
 * from time to time.
 *
 * All waits are equally long, so two queues are enough: one ordered by the last
 * event of each path, and one ordered by the first.
 */
#ifndef STET_FS_WATCH_WATCH_DEBOUNCE_H
#define STET_FS_WATCH_WATCH_DEBOUNCE_H

#include "fs/watch/watch_table.h"

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
	/** The file's fingerprint at the last check; 0 if there was no file. */
	uint64_t fingerprint;
	/** A process wrote to the file: compare its content even if its stat is equal. */
	bool written;
	/** It is on the watcher's list of paths with new events. */
	bool has_event;
	struct st_pending *next_event;
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

/** Free all pending paths. */
void st_debounce_release(struct st_debounce *debounce);

/** Start or restart the wait of a node. NULL if memory ran out. */
struct st_pending *st_debounce_touch(struct st_debounce *debounce, struct st_watch_node *node,
                                     int64_t now_ms);

/** A path whose wait is over, or NULL. */
struct st_pending *st_debounce_due(const struct st_debounce *debounce, int64_t now_ms);

/** Whether a path has waited for bound_ms and must be reported as it is. */
bool st_debounce_is_overdue(const struct st_debounce *debounce, const struct st_pending *pending,
                            int64_t now_ms);

/** When the next wait is over; -1 if no path is pending. */
int64_t st_debounce_deadline(const struct st_debounce *debounce);

/** Remove and free a pending path. */
void st_debounce_done(struct st_debounce *debounce, struct st_pending *pending);

#endif
