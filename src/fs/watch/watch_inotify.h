/**
 * inotify as the watcher needs it: which watch belongs to which directory, and
 * events as plain hints.
 *
 * A watch follows its directory wherever that is moved to, and setting one on
 * a directory that has one gives the same watch again. So a directory that
 * turns up in a new place brings its old watch along, which is how moves are
 * recognised; until then its events come under the old place. A watch stays
 * known until the kernel says that it is gone, since events from before that
 * may still be waiting.
 */
#ifndef STET_FS_WATCH_WATCH_INOTIFY_H
#define STET_FS_WATCH_WATCH_INOTIFY_H

#include <stdint.h>

#include "base/error.h"
#include "base/str.h"

struct st_watch_node;

/** Which directory a watch is for. */
struct st_watch_owner {
	/** 0 for a free place: the kernel counts from 1. */
	int wd;
	/** NULL for a watch whose directory has left its place. */
	struct st_watch_node *node;
};

struct st_inotify {
	int fd;
	/** By watch, open addressing. */
	struct st_watch_owner *owners;
	size_t room;
	size_t count;
	/** Where events are read to. */
	char *buffer;
};

#define ST_INOTIFY_INIT \
	{ .fd = -1 }

/** One event. */
struct st_inotify_event {
	/** -1 if the queue overflowed. */
	int wd;
	uint32_t mask;
	/** The entry of the directory it is about; "" if it is about the directory itself. */
	struct st_str name;
};

/** Begin. Returns 0, STET_E_LIMIT (too many instances or descriptors), STET_E_NOMEM, STET_E_IO. */
[[nodiscard]] int st_inotify_open(struct st_inotify *in, struct stet_error *err);
void st_inotify_release(struct st_inotify *in);

/**
 * Set a watch on an open directory, or find the one that it has.
 *
 * @return The watch, which has no owner yet if it is new; or -1 with errno,
 *         ENOSPC when the user's watches are used up.
 */
[[nodiscard]] int st_inotify_add(const struct st_inotify *in, int dir);

/**
 * Set a watch for entries of a directory being removed, and nothing else.
 *
 * @return The watch, or -1 (also if the directory has one).
 */
[[nodiscard]] int st_inotify_add_removals(const struct st_inotify *in, int dir);

/** Give a watch an owner, or none. False without memory. */
[[nodiscard]] bool st_inotify_own(struct st_inotify *in, int wd, struct st_watch_node *node);

/** Find a watch. NULL if it is not known. The owner may be written to. */
struct st_watch_owner *st_inotify_owner(const struct st_inotify *in, int wd);

/** Ask the kernel to drop a watch; it stays known until the kernel has confirmed that. */
void st_inotify_drop(const struct st_inotify *in, int wd);

/** Forget a watch that the kernel has dropped. */
void st_inotify_forget(struct st_inotify *in, int wd);

/**
 * Read what is waiting, without blocking, and call a function for each event.
 *
 * @return How many bytes were read, 0 if nothing was waiting (or it is not
 *         open), or STET_E_IO.
 */
[[nodiscard]] int st_inotify_read(struct st_inotify *in,
                                  void (*hear)(void *data, const struct st_inotify_event *event),
                                  void *data, struct stet_error *err);

#endif
