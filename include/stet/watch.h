/**
 * A watcher: reports which files below a directory are added, changed and
 * deleted, and answers what has changed since an earlier moment.
 *
 *     static void on_change(void *data, const char *path, const char *event) {
 *             (void)data;
 *             printf("%s\t%s\n", event, path);
 *     }
 *
 *     int main(void) {
 *             struct stet_watcher *watcher = NULL;
 *
 *             if (stet_watcher_new(".", on_change, NULL, &watcher, NULL) < 0 ||
 *                 stet_watcher_start(watcher, NULL) < 0)
 *                     return 1;
 *             while (stet_watcher_dispatch(watcher, -1, NULL) == 0)
 *                     continue;
 *             stet_watcher_free(watcher);
 *     }
 *
 * The watcher has no thread: stet_watcher_dispatch() reads the events and calls
 * the callback, on the thread that calls it. A program with an event loop calls
 * it with a timeout of 0 whenever stet_watcher_fd() becomes readable.
 *
 * The watcher reports regular files and symbolic links (it does not follow
 * links), except those that .gitignore excludes and those in .git, node_modules
 * and dist. It waits until a file has been unchanged for 100 ms, or at most 2 s
 * if the file keeps changing. A file that was deleted and created again in that
 * time counts as changed, unless it has the same bytes. The files that exist at
 * the start are not reported.
 *
 * Use a watcher from one thread at a time.
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
 * Called for each change, on the thread that dispatches. A callback of a watcher
 * must not dispatch, stop or free this watcher; one of
 * stet_workspace_dispatch() may call any function.
 *
 * @path   Relative to the watched directory; valid during the call.
 * @event  "add", "change" or "unlink".
 */
typedef void stet_watch_callback(void *data, const char *path, const char *event);

/** Options to set before stet_watcher_start(). */
enum stet_watch_option {
	/** How long a file must be unchanged before it is reported, in ms; 100 by default. */
	STET_WATCH_DEBOUNCE = 0,
	/** When to report a file that keeps changing, in ms; 2000 by default. */
	STET_WATCH_BOUND = 1,
	/** How often to scan directories that deliver no events, in ms; 1000 by default. */
	STET_WATCH_POLL = 2,
	/** 1: scan all directories instead of using events. 0 is the default. */
	STET_WATCH_POLL_ALL = 3,
	/** 1 (the default): obey .gitignore files and .git/info/exclude. */
	STET_WATCH_GITIGNORE = 4,
	/** 1 (the default): exclude .git, node_modules and dist. */
	STET_WATCH_BUILTIN = 5,
	/** 1: watch only the files named with stet_watcher_use(). 0 is the default. */
	STET_WATCH_USED_ONLY = 6,
	/** How many changes to remember for stet_watcher_since(); 65536 by default. */
	STET_WATCH_CHANGES = 7,
};

/**
 * Make a watcher. It does nothing before stet_watcher_start().
 *
 * @root      A directory.
 * @callback  NULL for a watcher that only answers stet_watcher_since().
 * @return    0, STET_E_NOT_FOUND, STET_E_KIND, STET_E_ACCESS, STET_E_LIMIT,
 *            STET_E_NOMEM, STET_E_IO.
 */
STET_API STET_NODISCARD int stet_watcher_new(const char *root, stet_watch_callback *callback,
                                             void *data, struct stet_watcher **out,
                                             struct stet_error *err);

/** Stop and free a watcher; NULL is fine. */
STET_API void stet_watcher_free(struct stet_watcher *watcher);

/** Set an option. Returns 0 or STET_E_INVALID (unknown option, invalid value, or started already). */
STET_API STET_NODISCARD int stet_watcher_set(struct stet_watcher *watcher,
                                             enum stet_watch_option option, int64_t value,
                                             struct stet_error *err);

/**
 * Exclude a state directory with another name than `.stet`
 * (stet_workspace_state_dir()). Call it before stet_watcher_start().
 *
 * @return 0, STET_E_INVALID or STET_E_NOMEM.
 */
STET_API STET_NODISCARD int stet_watcher_state_dir(struct stet_watcher *watcher, const char *name,
                                                   struct stet_error *err);

/** Start watching. Returns 0, STET_E_INVALID (started already), STET_E_LIMIT, STET_E_NOMEM, STET_E_IO. */
STET_API STET_NODISCARD int stet_watcher_start(struct stet_watcher *watcher,
                                               struct stet_error *err);

/** Stop. The watcher can be started again; its old clocks are then invalid. */
STET_API void stet_watcher_stop(struct stet_watcher *watcher);

/** A descriptor for poll(), readable when there are events to dispatch; -1 if not started. */
STET_API int stet_watcher_fd(const struct stet_watcher *watcher);

/**
 * Process events, and call the callback for files that are due (see
 * STET_WATCH_DEBOUNCE).
 *
 * @timeout_ms  How long to wait for an event: 0 not at all, -1 without limit. A
 *              signal ends the wait too.
 * @return      0; STET_E_NOT_FOUND if the watched directory was deleted;
 *              STET_E_INVALID (not started), STET_E_IO.
 */
STET_API STET_NODISCARD int stet_watcher_dispatch(struct stet_watcher *watcher, int timeout_ms,
                                                  struct stet_error *err);

/**
 * End the stet_watcher_dispatch() that another thread waits in, or the next one,
 * without an event. This is the only function of a watcher that may be called
 * while another thread uses it.
 */
STET_API void stet_watcher_wake(struct stet_watcher *watcher);

/**
 * Process and report every change made before this call, without waiting for
 * files to be unchanged. The next stet_watcher_since() includes them all.
 *
 * @return Like stet_watcher_dispatch(); STET_E_BUSY if the time was too short.
 */
STET_API STET_NODISCARD int stet_watcher_sync(struct stet_watcher *watcher, int timeout_ms,
                                              struct stet_error *err);

/**
 * With STET_WATCH_USED_ONLY: watch a file, which need not exist. This takes one
 * inotify watch for each directory on the way to it; files share these. The
 * watcher counts the calls: it watches until stet_watcher_unuse() was called as
 * often.
 *
 * @path   A path as for stet_session_read().
 * @return 0, or the reason why the path cannot be used.
 */
STET_API STET_NODISCARD int stet_watcher_use(struct stet_watcher *watcher, const char *path,
                                             struct stet_error *err);

/** Undo one stet_watcher_use(). */
STET_API void stet_watcher_unuse(struct stet_watcher *watcher, const char *path);

/** The clock after all reported changes; valid until the next call. "" if not started. */
STET_API const char *stet_watcher_clock(struct stet_watcher *watcher);

/**
 * List the changes since a clock. The time it takes depends on their number, not
 * on the size of the tree.
 *
 * @clock  From stet_watcher_clock() or stet_changes_clock(); "" or NULL to list
 *         all files.
 * @out    Receives the changes, to be freed.
 * @return 0, STET_E_INVALID (not started), STET_E_NOMEM.
 */
STET_API STET_NODISCARD int stet_watcher_since(struct stet_watcher *watcher, const char *clock,
                                               struct stet_changes **out, struct stet_error *err);

/** Free changes; NULL is fine. */
STET_API void stet_changes_free(struct stet_changes *changes);

/** 1 if the clock was too old or another watcher's; the changes then list all files. */
STET_API int stet_changes_fresh(const struct stet_changes *changes);

/** The clock for the next stet_watcher_since(). */
STET_API const char *stet_changes_clock(const struct stet_changes *changes);

/** The number of changes. */
STET_API size_t stet_changes_count(const struct stet_changes *changes);

/** The path and the event of the n-th change (n from 0), the latest first; NULL beyond the last. */
STET_API const char *stet_changes_path(const struct stet_changes *changes, size_t n);
STET_API const char *stet_changes_event(const struct stet_changes *changes, size_t n);

/**
 * Take the next notice: a sentence about a fallback to polling, a directory that
 * cannot be read, or the deletion of the watched directory.
 *
 * @return A string to be freed with stet_free(); NULL if there is no notice.
 */
STET_API char *stet_watcher_notice(struct stet_watcher *watcher);

/**
 * ---- the watcher of a workspace ----
 *
 * All sessions of a workspace share one watcher for the files in use: the files
 * that sessions have read or written lately (up to 20,000), and the files named
 * with stet_workspace_watch(). It takes inotify watches only for the directories
 * on the way to these files, whatever the size of the tree. The first of the
 * calls below starts it; stet_workspace_close() ends it. The tool `changes` uses
 * it, and servers use it to notify clients that subscribe to a file:
 *
 *     // Add fd to the event loop; call stet_workspace_dispatch() when it is readable.
 *     int fd = stet_workspace_watch_fd(ws, err);
 *
 *     // When a client subscribes, watch the file before reading it.
 *     char *path = NULL;
 *     if (fd < 0 || stet_workspace_watch(ws, "src/a.c", &path, err) < 0)
 *             return 1;
 *
 *     // When the client unsubscribes or disconnects:
 *     stet_workspace_unwatch(ws, path);
 *     stet_free(path);
 *
 * These functions may be called from any thread, also while other threads use
 * sessions. The callback runs on the thread that dispatches, with no lock held,
 * and may call any function. Each change is reported to one dispatch only, so
 * dispatch on one thread. The watcher reports changes by any process, also a
 * session's own writes, once the file has been unchanged for a moment.
 */

/**
 * A descriptor for poll(), readable when there are events to dispatch. It stays
 * the same until the workspace is closed. Do not read from it or close it.
 *
 * @return The descriptor, or STET_E_LIMIT, STET_E_NOMEM, STET_E_IO.
 */
STET_API STET_NODISCARD int stet_workspace_watch_fd(struct stet_workspace *ws,
                                                    struct stet_error *err);

/**
 * Watch a file. Neither the file nor its directory need exist. The watcher
 * counts the calls: it watches until stet_workspace_unwatch() was called as
 * often.
 *
 * @path           A path as for stet_session_read().
 * @relative_path  Receives the path that changes will name, to be freed with
 *                 stet_free().
 * @return         0, a code of stet_workspace_watch_fd(), or the reason why the
 *                 path cannot be used.
 */
STET_API STET_NODISCARD int stet_workspace_watch(struct stet_workspace *ws, const char *path,
                                                 char **relative_path, struct stet_error *err);

/**
 * Undo one stet_workspace_watch().
 *
 * @relative_path  The path that stet_workspace_watch() returned.
 */
STET_API void stet_workspace_unwatch(struct stet_workspace *ws, const char *relative_path);

/**
 * Process events, and call the callback for files that are due, the oldest
 * change first.
 *
 * @timeout_ms  How long to wait for an event: 0 not at all, -1 without limit.
 * @return      Like stet_watcher_dispatch() or stet_workspace_watch_fd().
 */
STET_API STET_NODISCARD int stet_workspace_dispatch(struct stet_workspace *ws, int timeout_ms,
                                                    stet_watch_callback *callback, void *data,
                                                    struct stet_error *err);

/** End the stet_workspace_dispatch() that another thread waits in, without an event. */
STET_API void stet_workspace_wake(struct stet_workspace *ws);

/**
 * List the changes of the files in use since a clock, including every change
 * made before this call.
 *
 * @clock  From an earlier stet_changes_clock(); "" or NULL to list all files in
 *         use.
 * @return 0, STET_E_BUSY (the events did not arrive in time), STET_E_NOT_FOUND
 *         (the root was deleted), or a code of stet_workspace_watch_fd().
 */
STET_API STET_NODISCARD int stet_workspace_since(struct stet_workspace *ws, const char *clock,
                                                 struct stet_changes **out, struct stet_error *err);

#ifdef __cplusplus
}
#endif

#endif
