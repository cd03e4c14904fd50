/**
 * core/watch reports changes of files, on top of fs/watch: the shared watcher
 * of a workspace (here), and the watcher that programs create (watcher.h).
 *
 * The shared watcher reports changes of the files that sessions have read or
 * written, of files that a client subscribed to, and of files with certain
 * names wherever they appear. It watches nothing until a caller asks for
 * changes; until then it only remembers which files are in use. It remembers a
 * bounded number, and stops watching the least recently used one.
 *
 * st_shared_watcher_since() may hold the lock for two seconds while it waits
 * for pending events. st_shared_watcher_use() does not wait for the lock: it
 * queues the path, and the thread that holds the lock adds it before unlocking.
 */
#ifndef STET_CORE_WATCH_SHARED_WATCHER_H
#define STET_CORE_WATCH_SHARED_WATCHER_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/lru.h"
#include "core/watch/changes.h"
#include "fs/write/write_context.h"

enum { ST_SHARED_WATCHER_MAX = 20000 };

/** A watch, and the clock of the last change reported. */
struct st_shared_watcher_source {
	struct st_watch watch;
	char reported[ST_CLOCK_SIZE];
};

struct st_shared_watcher {
	/** Has the root and the state directory, and receives notices. */
	struct st_write_context *writes;
	/** Set once it is started; it runs until the workspace is closed. */
	_Atomic bool on;
	/** Protects all members below, up to the queue. */
	pthread_mutex_t lock;
	/** Watches the files in use, and files with certain names; the latter runs while named_users > 0. */
	struct st_shared_watcher_source used, named;
	size_t named_users;
	/** The files of sessions, by path; evicting one stops watching it. */
	struct st_lru files;
	/** Readable when a watch is, or when `wake` is: some call read events that are not reported yet. */
	int epoll;
	int wake;
	/** Protects the queue. Taken alone, or before a trylock of `lock`. */
	pthread_mutex_t queue_lock;
	/** Files that sessions began to use while another thread held `lock`. */
	char **queue;
	size_t queue_count;
};

/** @writes  Borrowed. */
void st_shared_watcher_init(struct st_shared_watcher *watcher, struct st_write_context *writes);
void st_shared_watcher_release(struct st_shared_watcher *watcher);

/** Note that a session uses a file, by its path below the root. Does not block. */
void st_shared_watcher_use(struct st_shared_watcher *watcher, const char *path);

/**
 * Start it if necessary, and watch all files of a session, which may have begun
 * to use them in another process.
 *
 * @return 0 or the codes of st_watch_start().
 */
[[nodiscard]] int st_shared_watcher_use_all(struct st_shared_watcher *watcher,
                                            const struct st_lru *files, struct stet_error *err);

/** Start it if necessary. Returns the descriptor of stet_workspace_watch_fd(), or a code. */
[[nodiscard]] int st_shared_watcher_fd(struct st_shared_watcher *watcher, struct stet_error *err);

/**
 * Watch one file, by its path below the root, until as many calls of
 * st_shared_watcher_unwatch(). Returns 0 or the codes of st_watch_start().
 */
[[nodiscard]] int st_shared_watcher_watch(struct st_shared_watcher *watcher, const char *path,
                                          struct stet_error *err);
void st_shared_watcher_unwatch(struct st_shared_watcher *watcher, const char *path);

/**
 * Watch for files with certain names, ignored or not, in every directory that is
 * not ignored, until as many calls of st_shared_watcher_unwatch_names(). That
 * takes an inotify watch for each directory. Existing files are not reported.
 *
 * @wanted  Whether a name is one of them; called by any thread. While one
 *          caller watches, the wanted and flags of further callers are ignored.
 * @flags   ST_WATCH_NO_BUILTIN and ST_WATCH_NO_FILES.
 * @return  0 or the codes of st_watch_start().
 */
[[nodiscard]] int st_shared_watcher_watch_names(struct st_shared_watcher *watcher,
                                                bool (*wanted)(void *data, struct st_str name),
                                                void *data, unsigned flags, struct stet_error *err);
void st_shared_watcher_unwatch_names(struct st_shared_watcher *watcher);

/** The callbacks of st_shared_watcher_dispatch(), which calls them without the lock. */
struct st_shared_watcher_report {
	/** For files in use, and for files with a wanted name; either may be NULL. */
	stet_watch_callback *used, *named;
	void *data;
};

/** As stet_workspace_dispatch(). */
[[nodiscard]] int st_shared_watcher_dispatch(struct st_shared_watcher *watcher, int timeout_ms,
                                             const struct st_shared_watcher_report *report,
                                             struct stet_error *err);

/** As stet_workspace_wake(). */
void st_shared_watcher_wake(struct st_shared_watcher *watcher);

/** As stet_workspace_since(). */
[[nodiscard]] int st_shared_watcher_since(struct st_shared_watcher *watcher, const char *clock,
                                          struct stet_changes **out, struct stet_error *err);

#endif
