/**
 * A watcher: which files below a directory appear, change and go (spec:
 * `FileWatcher`), and what changed since some moment.
 *
 *     static void on_change(void *data, const char *path, const char *event) {
 *             printf("%s\t%s\n", event, path);
 *     }
 *     ...
 *     if (stet_watcher_new(".", on_change, NULL, &watcher, err) < 0 ||
 *         stet_watcher_start(watcher, err) < 0)
 *             return 1;
 *     while (stet_watcher_dispatch(watcher, -1, err) == 0)
 *             continue;
 *     stet_watcher_free(watcher);
 *
 * There is no thread behind it: events are taken in and reported while
 * stet_watcher_dispatch() runs, on the thread that calls it. Programs with an
 * event loop call it with a timeout of 0 whenever stet_watcher_fd() becomes
 * readable.
 *
 * Reported are regular files and links (which are not followed) that no
 * .gitignore leaves out, outside .git, node_modules and dist. A file is
 * reported when it has been left alone for 100 ms, or after 2 s of being
 * written all the time; what was removed and made again meanwhile has changed,
 * or not, if it has the same bytes. Nothing is reported for what is there at
 * the start.
 *
 * A watcher is used from one thread at a time.
 */
#ifndef STET_WATCH_H
#define STET_WATCH_H

#include <stddef.h>
#include <stdint.h>

#include "stet/workspace.h"

#ifdef __cplusplus
extern "C" {
#endif

struct stet_watcher;
struct stet_changes;

/**
 * Called for a change; must not dispatch, stop or free the watcher.
 *
 * @path   Below the watched directory; valid during the call.
 * @event  "add", "change" or "unlink".
 */
typedef void stet_watch_callback(void *data, const char *path, const char *event);

/** What can be set on a watcher before its start. */
enum stet_watch_option {
	/** How long a file must be left alone before it is reported, in ms; 100 by default. */
	STET_WATCH_DEBOUNCE,
	/** After how long it is reported all the same, in ms; 2000 by default. */
	STET_WATCH_BOUND,
	/** How often is looked where no events come from, in ms; 1000 by default. */
	STET_WATCH_POLL,
	/** 1: look everywhere instead of waiting for events. 0 is the default. */
	STET_WATCH_POLL_ALL,
	/** 1 (the default): leave out what .gitignore files and .git/info/exclude say. */
	STET_WATCH_GITIGNORE,
	/** 1 (the default): leave out .git, node_modules and dist. */
	STET_WATCH_BUILTIN,
	/** 1: watch only the files named by stet_watcher_use(). 0 is the default. */
	STET_WATCH_USED_ONLY,
	/** How many changes are remembered for stet_watcher_since(); 65536 by default. */
	STET_WATCH_CHANGES,
};

/**
 * Make a watcher, which does nothing yet.
 *
 * @root      A directory.
 * @callback  May be NULL for one that is only asked.
 * @return    0, STET_E_NOT_FOUND, STET_E_KIND, STET_E_ACCESS, STET_E_LIMIT,
 *            STET_E_NOMEM, STET_E_IO.
 */
STET_API STET_NODISCARD int stet_watcher_new(const char *root, stet_watch_callback *callback,
                                             void *data, struct stet_watcher **out,
                                             struct stet_error *err);

/** Stop and free a watcher; NULL is fine. */
STET_API void stet_watcher_free(struct stet_watcher *watcher);

/** Set an option, before the start. Returns 0 or STET_E_INVALID. */
STET_API STET_NODISCARD int stet_watcher_set(struct stet_watcher *watcher,
                                             enum stet_watch_option option, int64_t value,
                                             struct stet_error *err);

/**
 * Leave out the state directory of a workspace that does not call it `.stet`
 * (stet_workspace_state_dir()), before the start.
 *
 * @return 0, STET_E_INVALID or STET_E_NOMEM.
 */
STET_API STET_NODISCARD int stet_watcher_state_dir(struct stet_watcher *watcher, const char *name,
                                                   struct stet_error *err);

/** Begin to watch. Returns 0, STET_E_INVALID (started already), STET_E_LIMIT, STET_E_NOMEM, STET_E_IO. */
STET_API STET_NODISCARD int stet_watcher_start(struct stet_watcher *watcher,
                                               struct stet_error *err);

/** Stop; it can be started again, as another instance. */
STET_API void stet_watcher_stop(struct stet_watcher *watcher);

/** A descriptor for poll(): readable when there is something to dispatch. -1 if not started. */
STET_API int stet_watcher_fd(const struct stet_watcher *watcher);

/**
 * Take in events and call the callback for what has come to rest.
 *
 * @timeout_ms  How long to wait for something to do: 0 for not at all, -1 for
 *              ever. A signal ends the wait too.
 * @return      0; STET_E_NOT_FOUND when the directory itself is gone;
 *              STET_E_INVALID (not started), STET_E_IO.
 */
STET_API STET_NODISCARD int stet_watcher_dispatch(struct stet_watcher *watcher, int timeout_ms,
                                                  struct stet_error *err);

/**
 * Take in and report everything that happened before this call, at rest or
 * not: what a program wrote before it is in the next stet_watcher_since().
 *
 * @return As stet_watcher_dispatch(); STET_E_BUSY if the time was too short.
 */
STET_API STET_NODISCARD int stet_watcher_sync(struct stet_watcher *watcher, int timeout_ms,
                                              struct stet_error *err);

/**
 * Watch one file, with STET_WATCH_USED_ONLY; it need not exist. Costs a watch
 * for each directory on the way to it, shared by all files there.
 *
 * @path   As stet_session_read() takes it. Counted: as many
 *         stet_watcher_unuse() end it.
 * @return 0, or why the path cannot be used.
 */
STET_API STET_NODISCARD int stet_watcher_use(struct stet_watcher *watcher, const char *path,
                                             struct stet_error *err);

/** No longer watch a file. */
STET_API void stet_watcher_unuse(struct stet_watcher *watcher, const char *path);

/** The moment that the reports so far have reached; valid until the next call. "" if not started. */
STET_API const char *stet_watcher_clock(struct stet_watcher *watcher);

/**
 * What changed since a clock, in a time that depends on how much that is.
 *
 * @clock  Of stet_watcher_clock() or stet_changes_clock(); "" or NULL for a
 *         list of all.
 * @out    Receives the changes, to be freed.
 * @return 0, STET_E_INVALID (not started), STET_E_NOMEM.
 */
STET_API STET_NODISCARD int stet_watcher_since(struct stet_watcher *watcher, const char *clock,
                                               struct stet_changes **out, struct stet_error *err);

/** Free changes; NULL is fine. */
STET_API void stet_changes_free(struct stet_changes *changes);

/** 1 if the clock was of another watcher or too old: the changes are then all files there are. */
STET_API int stet_changes_fresh(const struct stet_changes *changes);

/** The clock to ask with the next time. */
STET_API const char *stet_changes_clock(const struct stet_changes *changes);

/** How many changes there are. */
STET_API size_t stet_changes_count(const struct stet_changes *changes);

/** The path and the event of the n-th change (n from 0), the latest first; NULL beyond the last. */
STET_API const char *stet_changes_path(const struct stet_changes *changes, size_t n);
STET_API const char *stet_changes_event(const struct stet_changes *changes, size_t n);

/**
 * Take the next notice: a sentence on a fallback to polling, a directory that
 * cannot be read, or the end of the watched directory.
 *
 * @return A string to be freed with stet_free(), or NULL if none waits.
 */
STET_API char *stet_watcher_notice(struct stet_watcher *watcher);

/**
 * ---- the watcher of a workspace ----
 *
 * All sessions of a workspace share a watcher of the files in use: those that
 * sessions have read or written lately (up to 20,000), and those that somebody
 * named with stet_workspace_watch(). A directory costs a watch only if such a
 * file is in it or below it, whatever the size of the tree. It starts with the
 * first of these calls, and ends with the workspace. It serves the tool
 * `changes`, and servers that have to tell their clients:
 *
 *     // At the first subscription: have the loop call on_readable().
 *     int fd = stet_workspace_watch_fd(ws, err);
 *
 *     // A client subscribes to a file; to read it comes after that.
 *     char *below = NULL;
 *     if (stet_workspace_watch(ws, "src/a.c", &below, err) < 0)
 *             return err->code;
 *     remember(client, below);
 *
 *     static void on_readable(int fd, short what, void *server) {
 *             (void)stet_workspace_dispatch(ws, 0, on_change, server, NULL);
 *     }
 *
 *     static void on_change(void *server, const char *path, const char *event) {
 *             // Tell the clients that remember this path; those of the
 *             // snapshot of any path; those of the AGENTS.md if it is one.
 *     }
 *
 *     // The client unsubscribes, or is gone.
 *     stet_workspace_unwatch(ws, below);
 *     stet_free(below);
 *
 * Every one of these calls may be made from any thread, also while sessions
 * are at work in others. The callback runs on the thread that dispatches,
 * without a lock held: it may make any call, also these. Each change is told
 * to one dispatch only, so let one thread do that. A change is told once the
 * file has come to rest, and whoever made it: a session's own write too.
 */

/**
 * The descriptor for poll(): readable when there is something to dispatch. It
 * stays the same until the workspace is closed, and is not to be read or
 * closed.
 *
 * @return The descriptor, or STET_E_LIMIT, STET_E_NOMEM, STET_E_IO.
 */
STET_API STET_NODISCARD int stet_workspace_watch_fd(struct stet_workspace *ws,
                                                    struct stet_error *err);

/**
 * Watch a file, which need not exist, nor the directories on the way to it.
 *
 * @path   As stet_session_read() takes it.
 * @below  Receives the path as changes will name it, to be freed with
 *         stet_free(). Counted: as many stet_workspace_unwatch() end it.
 * @return 0, as stet_workspace_watch_fd(), or why the path cannot be used.
 */
STET_API STET_NODISCARD int stet_workspace_watch(struct stet_workspace *ws, const char *path,
                                                 char **relative_path, struct stet_error *err);

/**
 * No longer watch a file, unless others do.
 *
 * @below  What stet_workspace_watch() gave.
 */
STET_API void stet_workspace_unwatch(struct stet_workspace *ws, const char *relative_path);

/**
 * Take in events, and call the callback for what has come to rest, the oldest
 * change first.
 *
 * @timeout_ms  How long to wait for something to do: 0 for not at all, -1 for
 *              ever.
 * @return      As stet_watcher_dispatch(), or as stet_workspace_watch_fd().
 */
STET_API STET_NODISCARD int stet_workspace_dispatch(struct stet_workspace *ws, int timeout_ms,
                                                    stet_watch_callback *callback, void *data,
                                                    struct stet_error *err);

/**
 * What changed of the files in use since a clock. Everything that happened
 * before this call is in the answer, whether it has come to rest or not.
 *
 * @clock  Of an earlier stet_changes_clock(); "" or NULL for a list of all.
 * @return 0, STET_E_BUSY (the events did not come in time), STET_E_NOT_FOUND
 *         (the root is gone), or as stet_workspace_watch_fd().
 */
STET_API STET_NODISCARD int stet_workspace_since(struct stet_workspace *ws, const char *clock,
                                                 struct stet_changes **out, struct stet_error *err);

#ifdef __cplusplus
}
#endif

#endif
