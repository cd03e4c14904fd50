/**
 * inotify for the watcher: maps each watch to its directory, and reads events.
 *
 * A watch follows its directory when that is moved, and adding a watch to a
 * directory that has one returns the same watch. So a moved directory shows up
 * with its old watch, which is how the watcher recognises moves; until then its
 * events are attributed to the old path. A watch stays in the map until the
 * kernel confirms its removal, because earlier events may still be queued.
 */
#ifndef STET_FS_WATCH_WATCH_INOTIFY_H
#define STET_FS_WATCH_WATCH_INOTIFY_H

#include <stdint.h>

#include "base/error.h"
#include "base/str.h"

struct st_watch_node;

/** The directory of a watch. */
struct st_watch_owner {
	/** 0 for an empty slot: the kernel counts from 1. */
	int wd;
	/** NULL if the directory is not where the table has it. */
	struct st_watch_node *node;
};

struct st_inotify {
	int fd;
	/** A hash table by wd, with open addressing. */
	struct st_watch_owner *owners;
	size_t room;
	size_t count;
	char *buffer;
};

#define ST_INOTIFY_INIT \
	{ .fd = -1 }

struct st_inotify_event {
	/** -1 if the queue overflowed. */
	int wd;
	uint32_t mask;
	/** The name of the directory's entry; "" for the directory itself. */
	struct st_str name;
};

/** Returns 0, STET_E_LIMIT (too many instances or descriptors), STET_E_NOMEM, STET_E_IO. */
[[nodiscard]] int st_inotify_open(struct st_inotify *in, struct stet_error *err);
void st_inotify_release(struct st_inotify *in);

/**
 * Add a watch to an open directory, or find the one that it has.
 *
 * @return The watch, or -1 with errno (ENOSPC: the user has no watches left).
 */
[[nodiscard]] int st_inotify_add(const struct st_inotify *in, int dir);

/**
 * Add a watch that only reports the removal of entries.
 *
 * @return The watch, or -1 (also if the directory already has a watch).
 */
[[nodiscard]] int st_inotify_add_removals(const struct st_inotify *in, int dir);

/** Map a watch to a directory; node may be NULL. False if memory ran out. */
[[nodiscard]] bool st_inotify_set_owner(struct st_inotify *in, int wd, struct st_watch_node *node);

/** Find a watch; NULL if it is not in the map. The caller may change the owner's node. */
struct st_watch_owner *st_inotify_owner(const struct st_inotify *in, int wd);

/** Ask the kernel to remove a watch; it stays in the map until the kernel confirms that. */
void st_inotify_drop(const struct st_inotify *in, int wd);

/** Take a watch out of the map after the kernel has removed it. */
void st_inotify_forget(struct st_inotify *in, int wd);

/**
 * Read queued events without blocking, and call `handle` for each.
 *
 * @return The number of bytes read, 0 if no event was queued (or inotify is not
 *         open), or STET_E_IO.
 */
[[nodiscard]] int st_inotify_read(struct st_inotify *in,
                                  void (*handle)(void *data, const struct st_inotify_event *event),
                                  void *data, struct stet_error *err);

#endif
