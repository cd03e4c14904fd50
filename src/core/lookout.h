/**
 * The lookout of a workspace: one watcher for the files that its sessions have
 * in use, and for those that somebody wants to be told of. Its contract is in
 * stet/watch.h.
 *
 * Nothing is watched before somebody asks for changes; until then it only
 * remembers the files that are in use. These are bounded: the least recently
 * used one is no longer watched.
 */
#ifndef STET_CORE_LOOKOUT_H
#define STET_CORE_LOOKOUT_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/lru.h"
#include "core/changes.h"
#include "fs/guard.h"

enum { ST_LOOKOUT_MAX = 20000 };

struct st_lookout {
	const struct st_guard *guard;
	/** It was started; it never stops before the workspace does. */
	_Atomic bool on;
	/** Guards the rest. */
	pthread_mutex_t lock;
	struct st_watch watch;
	/** The files of sessions: path to what ends its use. */
	struct st_lru files;
	/** Readable with the watch, or when changes that were taken in elsewhere are to be told. */
	int epoll;
	int wake;
	/** Up to where stet_workspace_dispatch() has told. */
	char told[ST_CLOCK_SIZE];
};

/** @guard  Borrowed; it knows the root and the state directory. */
void st_lookout_init(struct st_lookout *lookout, const struct st_guard *guard);
void st_lookout_release(struct st_lookout *lookout);

/** A session has met a file, by its path below the root. */
void st_lookout_use(struct st_lookout *lookout, const char *path);

/**
 * Start it if it is not, and watch the files of a list, which a session may
 * have met in another process.
 *
 * @return 0 or the codes of st_watch_start().
 */
[[nodiscard]] int st_lookout_use_all(struct st_lookout *lookout, const struct st_lru *files,
                                     struct stet_error *err);

#endif
