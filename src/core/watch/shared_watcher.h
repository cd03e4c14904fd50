/**
 * The watcher that all users of a workspace share: it tells of the files that
 * sessions have in use, of those that a client asked for, and of files of
 * certain names wherever they appear. The contract of the first two is in
 * stet/watch.h.
 *
 * Nothing is watched before somebody asks for changes; until then it only
 * remembers the files in use. These are bounded: the least recently used one
 * is no longer watched.
 *
 * A question may wait two seconds for the events of what happened before it,
 * with the lock held. A call that meets a new file does not wait for that: it
 * leaves the file on a list, which the holder of the lock takes in.
 */
#ifndef STET_CORE_WATCH_SHARED_WATCHER_H
#define STET_CORE_WATCH_SHARED_WATCHER_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/lru.h"
#include "core/watch/changes.h"
#include "fs/write/write_context.h"

enum { ST_SHARED_WATCHER_MAX = 20000 };

/** A watch, and up to where its changes were told. */
struct st_shared_watcher_source {
	struct st_watch watch;
	char told[ST_CLOCK_SIZE];
};

struct st_shared_watcher {
	/** Knows the root and the state directory, and takes notices. */
	struct st_write_context *writes;
	/** It was started; it never stops before the workspace does. */
	_Atomic bool on;
	/** Guards the watches and all below, but for `met`. */
	pthread_mutex_t lock;
	/** The files in use, and those of certain names, which is started for its users. */
	struct st_shared_watcher_source used, named;
	size_t named_users;
	/** The files of sessions: path to what ends its use. */
	struct st_lru files;
	/** Readable with the watches, or when changes that were taken in elsewhere are to be told. */
	int epoll;
	int wake;
	/** Guards the paths of files that were met while the lock was held. Taken alone, or before the lock is tried. */
	pthread_mutex_t met_lock;
	char **met;
	size_t met_count;
};

/** @guard  Borrowed. */
void st_shared_watcher_init(struct st_shared_watcher *watcher, struct st_write_context *writes);
void st_shared_watcher_release(struct st_shared_watcher *watcher);

/** A session has met a file, by its path below the root. Does not wait. */
void st_shared_watcher_use(struct st_shared_watcher *watcher, const char *path);

/**
 * Start it if it is not, and watch the files of a list, which a session may
 * have met in another process.
 *
 * @return 0 or the codes of st_watch_start().
 */
[[nodiscard]] int st_shared_watcher_use_all(struct st_shared_watcher *watcher,
                                            const struct st_lru *files, struct stet_error *err);

/** Start it if it is not. Returns the descriptor of stet_workspace_watch_fd(), or a code. */
[[nodiscard]] int st_shared_watcher_fd(struct st_shared_watcher *watcher, struct stet_error *err);

/** Watch one file, by its path below the root; counted. Returns 0 or the codes of st_watch_start(). */
[[nodiscard]] int st_shared_watcher_watch(struct st_shared_watcher *watcher, const char *path,
                                          struct stet_error *err);
void st_shared_watcher_unwatch(struct st_shared_watcher *watcher, const char *path);

/**
 * Watch for files of certain names, ignored or not, in every directory that is
 * not ignored; counted. That takes an inotify watch for each directory, so it is
 * only done while somebody wants it. Files that are there already are not told.
 *
 * @wanted  Whether a name is one of them; any thread calls it. The first user's counts.
 * @flags   ST_WATCH_NO_BUILTIN and ST_WATCH_NO_FILES.
 * @return  0 or the codes of st_watch_start().
 */
[[nodiscard]] int st_shared_watcher_watch_names(struct st_shared_watcher *watcher,
                                                bool (*wanted)(void *data, struct st_str name),
                                                void *data, unsigned flags, struct stet_error *err);
void st_shared_watcher_unwatch_names(struct st_shared_watcher *watcher);

/** Whom st_shared_watcher_dispatch() calls, without the lock. */
struct st_shared_watcher_report {
	/** For changes of files in use, and of those with a wanted name; either may be NULL. */
	stet_watch_callback *used, *named;
	void *data;
};

/** As stet_workspace_dispatch(). */
[[nodiscard]] int st_shared_watcher_dispatch(struct st_shared_watcher *watcher, int timeout_ms,
                                             const struct st_shared_watcher_report *report,
                                             struct stet_error *err);

/** As stet_workspace_since(). */
[[nodiscard]] int st_shared_watcher_since(struct st_shared_watcher *watcher, const char *clock,
                                          struct stet_changes **out, struct stet_error *err);

#endif
