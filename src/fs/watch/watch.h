/**
 * fs/watch reports which files below a root appear, change and disappear.
 *
 * An inotify event is only a hint: it puts a path on the list of pending paths.
 * When no event has come for a path for a while, the watcher checks the path
 * and compares what is there with its last report. New directories, queue
 * overflows and polled directories all end in the same check. So a lost event
 * can delay a report, but cannot make it wrong.
 *
 *     struct st_watch watch = ST_WATCH_INIT;
 *     watch.report = on_change;
 *     if (st_watch_start(&watch, &root, err) < 0)
 *             return err->code;
 *     while (poll(... st_watch_fd(&watch) ...))
 *             st_watch_dispatch(&watch, err);
 *     st_watch_stop(&watch);
 *
 * The watcher reports regular files and links (which it does not follow) that
 * no ignore rule excludes. When rules change, it reports files that become
 * visible as added and files that become ignored as removed.
 *
 * Only one thread at a time may use a watcher.
 */
#ifndef STET_FS_WATCH_WATCH_H
#define STET_FS_WATCH_WATCH_H

#include "fs/path/root.h"
#include "fs/versions/state_dir.h"
#include "fs/watch/watch_inotify.h"
#include "fs/watch/watch_mounts.h"
#include "fs/watch/watch_debounce.h"
#include "fs/watch/watch_table.h"

enum st_watch_event {
	ST_WATCH_ADD,
	ST_WATCH_CHANGE,
	ST_WATCH_UNLINK,
};

enum st_watch_flags {
	/** Like ST_IGNORE_NO_BUILTIN and ST_IGNORE_NO_FILES. */
	ST_WATCH_NO_BUILTIN = 1 << 0,
	ST_WATCH_NO_FILES = 1 << 1,
	/** Watch only the files named by st_watch_use(), through their directories. */
	ST_WATCH_USED = 1 << 2,
	/** Poll the tree instead of using inotify. */
	ST_WATCH_POLL = 1 << 3,
};

enum {
	ST_WATCH_DEBOUNCE_MS = 100,
	ST_WATCH_BOUND_MS = 2000,
	ST_WATCH_POLL_MS = 1000,
	ST_WATCH_CHANGES = 65536,
	ST_WATCH_NOTICES = 16,
	/** Room for a clock, with its NUL. */
	ST_CLOCK_SIZE = 48,
};

struct st_watch {
	/** Settings; the caller may change them before the start. */
	unsigned flags;
	int64_t debounce_ms;
	int64_t bound_ms;
	int64_t poll_ms;
	size_t max_changes;
	/** The state directory: the watcher writes its cookies there and reports nothing below it. */
	const char *state_dir;
	/**
	 * Watch only files whose names this accepts, even ignored ones; NULL for all
	 * files that are not ignored. Several threads may call it at once.
	 */
	bool (*wanted)(void *data, struct st_str name);
	/** Called by st_watch_dispatch() and st_watch_sync(); must not call these or st_watch_stop(). */
	void (*report)(void *data, const char *path, enum st_watch_event event);
	void *data;

	/** Everything below is private. */
	const struct st_root *root;
	int epoll;
	int timer;
	struct st_inotify in;
	struct st_mounts mounts;
	struct st_watch_table table;
	struct st_debounce debounce;
	uint64_t instance;
	/** When the first pass began (wall clock), and the wall clock minus the monotonic one then. */
	int64_t start_ns;
	int64_t start_offset_ns;
	/** The number of the current reading: marks the entries that it listed. */
	uint32_t pass;
	/** Directories that wait to be read. */
	struct st_watch_dir *queue;
	struct st_watch_dir **queue_end;
	/** The directory that was opened last; the next path often lies in it, too. */
	const struct st_watch_node *cached_dir;
	int cached_fd;
	size_t cached_freed;
	struct st_buf path;
	/** The path that is being checked, for the report. */
	struct st_buf report_path;
	/** Paths with new events. */
	struct st_pending *events;
	/** How many directories are polled, and when to poll them next. */
	size_t polled;
	int64_t poll_at_ms;
	/** When to read the whole tree again because events were lost; -1 for never. */
	int64_t rescan_at_ms;
	/** Watches whose directories are not where the table has them. */
	int *detached;
	size_t detached_count;
	/** The watch on the root's parent, which reports the removal of the root. */
	int parent_wd;
	/** The watch for .git/info/exclude, and the entry of the watched directory that matters. */
	int rules_wd;
	const char *rules_entry;
	/** The cookie that st_watch_sync() waits for. */
	int cookie_wd;
	char cookie[32];
	bool cookie_seen;
	/** This round has reported a change. */
	bool has_reported;
	/** The root is gone. */
	bool gone;
	bool limit_reported;
	bool network_reported;
	size_t overflows;
	char *notices[ST_WATCH_NOTICES];
	size_t notice_count;
};

#define ST_WATCH_INIT \
	{ \
		.debounce_ms = ST_WATCH_DEBOUNCE_MS, .bound_ms = ST_WATCH_BOUND_MS, \
		.poll_ms = ST_WATCH_POLL_MS, .max_changes = ST_WATCH_CHANGES, .state_dir = ST_STATE_DIR, \
		.epoll = -1, .timer = -1, .in = ST_INOTIFY_INIT, .mounts = ST_MOUNTS_INIT, \
		.cached_fd = -1, .rescan_at_ms = -1, .parent_wd = -1, .rules_wd = -1, .cookie_wd = -1, \
	}

/**
 * Begin to watch. Files that exist already are not reported.
 *
 * @root   Borrowed until the stop.
 * @return 0, STET_E_LIMIT, STET_E_NOMEM, STET_E_ACCESS, STET_E_IO.
 */
[[nodiscard]] int st_watch_start(struct st_watch *watch, const struct st_root *root,
                                 struct stet_error *err);

/** Stop watching and free everything; the settings stay. */
void st_watch_stop(struct st_watch *watch);

/** A descriptor that is readable when st_watch_dispatch() has something to do; -1 if not started. */
int st_watch_fd(const struct st_watch *watch);

/**
 * Handle all events, and report the paths that are due. Does not wait.
 *
 * @return 0, STET_E_NOT_FOUND once the root is gone, STET_E_NOMEM (a later
 *         rescan finds what was missed), STET_E_IO.
 */
[[nodiscard]] int st_watch_dispatch(struct st_watch *watch, struct stet_error *err);

/**
 * Report everything that happened before this call, without debouncing. The
 * function creates a cookie file and waits for its event, which comes after
 * all earlier ones, and reads the polled directories.
 *
 * @return Like st_watch_dispatch(), or STET_E_BUSY if the cookie's event did
 *         not come in time, or STET_E_CANCELLED.
 */
[[nodiscard]] int st_watch_sync(struct st_watch *watch, int64_t timeout_ms, struct stet_error *err);

/** Read the whole tree again soon, as after lost events. */
void st_watch_rescan(struct st_watch *watch);

/**
 * With ST_WATCH_USED: watch a file, which need not exist. Each call needs a
 * matching st_watch_unuse(). path is canonical, like that of a st_place.
 */
[[nodiscard]] int st_watch_use(struct st_watch *watch, struct st_str path, struct stet_error *err);

/** Undo one st_watch_use(). */
void st_watch_unuse(struct st_watch *watch, struct st_str path);

/** Write the current clock, "c:INSTANCE:TICK". */
void st_watch_clock(const struct st_watch *watch, char clock[ST_CLOCK_SIZE]);

/**
 * List the files that changed since a clock. If the clock is too old or of
 * another watcher, list all files.
 *
 * @each   Called for every file, the most recent change first; ADD for a file
 *         that appeared since.
 * @return 0, 1 if all files were listed, STET_E_NOMEM.
 */
[[nodiscard]] int st_watch_since(struct st_watch *watch, struct st_str clock,
                                 void (*each)(void *data, const char *path,
                                              enum st_watch_event event),
                                 void *data, struct stet_error *err);

/** Take the oldest notice, such as one of a fallback to polling; the caller frees it. May be NULL. */
char *st_watch_next_notice(struct st_watch *watch);

/** "add", "change" or "unlink". */
const char *st_watch_event_name(enum st_watch_event event);

#endif
