/**
 * The watcher: which files below a root appear, change and go.
 *
 * What the kernel tells is a hint and no more. It puts a path on a list;
 * when the path has come to rest it is looked at, and what is there is
 * compared with what was reported last. A new directory, an overflow, and a
 * directory that gives no events and is polled, all end in the same look. So
 * a lost event can make a report late, never wrong.
 *
 *     struct st_watch watch = ST_WATCH_INIT;
 *     watch.report = on_change;
 *     if (st_watch_start(&watch, &root, err) < 0)
 *             return err->code;
 *     while (poll(... st_watch_fd(&watch) ...))
 *             st_watch_dispatch(&watch, err);
 *     st_watch_stop(&watch);
 *
 * Reported are regular files and links (which are never followed), below
 * directories and under names that no ignore rule leaves out. Where rules
 * change, files appear and go like others do.
 *
 * A watcher belongs to one thread at a time.
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
	/** As ST_IGNORE_NO_BUILTIN and ST_IGNORE_NO_FILES. */
	ST_WATCH_NO_BUILTIN = 1 << 0,
	ST_WATCH_NO_FILES = 1 << 1,
	/** Watch only files named by st_watch_use(), by the directories on the way to them. */
	ST_WATCH_USED = 1 << 2,
	/** Set no watches; look again and again instead. */
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
	/** To be set before the start. */
	unsigned flags;
	int64_t debounce_ms;
	int64_t bound_ms;
	int64_t poll_ms;
	size_t max_changes;
	/** The name of the state directory, where cookies are laid and nothing is reported. */
	const char *state_dir;
	/** Only files whose name this takes count, ignored or not; NULL for all. Any thread calls it. */
	bool (*wanted)(void *data, struct st_str name);
	/** Called by st_watch_dispatch() and st_watch_sync(); must not call these or stop the watch. */
	void (*report)(void *data, const char *path, enum st_watch_event event);
	void *data;

	/** Private from here on. */
	const struct st_root *root;
	int epoll;
	int timer;
	struct st_inotify in;
	struct st_mounts mounts;
	struct st_watch_table table;
	struct st_debounce debounce;
	uint64_t instance;
	/** When the first pass began, by the wall clock, and how far that is ahead of the monotonic one. */
	int64_t start_ns;
	int64_t start_offset_ns;
	uint32_t pass;
	/** Directories to be read. */
	struct st_watch_dir *queue;
	struct st_watch_dir **queue_end;
	/** The directory that was opened last, for the next look. */
	const struct st_watch_node *near;
	int near_fd;
	size_t near_freed;
	struct st_buf path;
	/** The path that is looked at, for the report. */
	struct st_buf told;
	/** What was heard of in this round. */
	struct st_pending *heard;
	/** How many directories are polled, and when the next time is. */
	size_t polled;
	int64_t poll_at_ms;
	/** When everything is to be read anew, since events were lost; -1 for never. */
	int64_t renew_at_ms;
	/** Watches whose directory has left its place. */
	int *loose;
	size_t loose_count;
	/** The watch of the directory above the root, which is where the root is removed from. */
	int above_wd;
	/** The watch for git's own file of rules, and the entry of that directory which counts. */
	int rules_wd;
	const char *rules_entry;
	/** The cookie that is waited for. */
	int cookie_wd;
	char cookie[32];
	bool cookie_seen;
	/** Something was reported in this round. */
	bool stirred;
	/** The root is gone; nothing more will be heard. */
	bool gone;
	bool said_limit;
	bool said_network;
	size_t overflows;
	char *notices[ST_WATCH_NOTICES];
	size_t notice_count;
};

#define ST_WATCH_INIT \
	{ \
		.debounce_ms = ST_WATCH_DEBOUNCE_MS, .bound_ms = ST_WATCH_BOUND_MS, \
		.poll_ms = ST_WATCH_POLL_MS, .max_changes = ST_WATCH_CHANGES, .state_dir = ST_STATE_DIR, \
		.epoll = -1, .timer = -1, .in = ST_INOTIFY_INIT, .mounts = ST_MOUNTS_INIT, .near_fd = -1, \
		.renew_at_ms = -1, .above_wd = -1, .rules_wd = -1, .cookie_wd = -1, \
	}

/**
 * Begin to watch. What is there already is not reported.
 *
 * @root   Borrowed until the stop.
 * @return 0, STET_E_LIMIT, STET_E_NOMEM, STET_E_ACCESS, STET_E_IO.
 */
[[nodiscard]] int st_watch_start(struct st_watch *watch, const struct st_root *root,
                                 struct stet_error *err);

/** End it and free everything; the settings stay. */
void st_watch_stop(struct st_watch *watch);

/** A descriptor that is readable when st_watch_dispatch() has something to do; -1 if not started. */
int st_watch_fd(const struct st_watch *watch);

/**
 * Take in what has happened, and report what has come to rest. Does not wait.
 *
 * @return 0; STET_E_NOT_FOUND once the root is gone; STET_E_NOMEM (what could
 *         not be noted will be found by reading everything anew), STET_E_IO.
 */
[[nodiscard]] int st_watch_dispatch(struct st_watch *watch, struct stet_error *err);

/**
 * Take in and report, without waiting for rest, everything that happened
 * before this call: a file of ours is made and waited for among the events,
 * and polled directories are read.
 *
 * @return As st_watch_dispatch(); STET_E_BUSY if the time was too short.
 */
[[nodiscard]] int st_watch_sync(struct st_watch *watch, int64_t timeout_ms, struct stet_error *err);

/** Read everything anew, as after lost events. */
void st_watch_renew(struct st_watch *watch);

/** With ST_WATCH_USED: watch a file, which need not exist. Paths are those of st_place. Counted. */
[[nodiscard]] int st_watch_use(struct st_watch *watch, struct st_str path, struct stet_error *err);

/** One user less of a file. */
void st_watch_unuse(struct st_watch *watch, struct st_str path);

/** Write the clock: "c:INSTANCE:TICK". */
void st_watch_clock(const struct st_watch *watch, char clock[ST_CLOCK_SIZE]);

/**
 * List what changed since a clock, or, if that cannot be told, all files.
 *
 * @each   Called for every file, the last changed first; ADD for a file that
 *         appeared since.
 * @return 1 if it is the full list (the clock is not of this watcher, or too
 *         old), 0 if not, STET_E_NOMEM.
 */
[[nodiscard]] int st_watch_since(struct st_watch *watch, struct st_str clock,
                                 void (*each)(void *data, const char *path,
                                              enum st_watch_event event),
                                 void *data, struct stet_error *err);

/** Take the oldest notice, such as a fallback to polling; the caller frees it. NULL if there is none. */
char *st_watch_next_notice(struct st_watch *watch);

/** "add", "change" or "unlink". */
const char *st_watch_event_name(enum st_watch_event event);

#endif
