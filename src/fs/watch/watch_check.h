/** Internal functions of the watcher, which check paths and read directories. See fs/watch/watch.h. */
#ifndef STET_FS_WATCH_WATCH_CHECK_H
#define STET_FS_WATCH_WATCH_CHECK_H

#include "fs/watch/watch.h"

/** Add a notice. */
__attribute__((format(printf, 2, 3))) void st_watch_notice(struct st_watch *watch,
                                                           const char *format, ...);

/** Whether the watcher ignores an entry of a directory. */
bool st_watch_ignores(struct st_watch *watch, const struct st_watch_node *dir, struct st_str name,
                      bool is_dir);

/** Open a directory of the table without following links; -1 with errno. */
int st_watch_open(struct st_watch *watch, const struct st_watch_node *dir);

/** Close the descriptor of the directory that was checked last. */
void st_watch_close_cached(struct st_watch *watch);

/** Put a path on the list of pending paths. If memory runs out, schedules a rescan and returns NULL. */
struct st_pending *st_watch_mark_pending(struct st_watch *watch, struct st_watch_node *node);

/** After an event: queue the path if it is a directory now, else note its fingerprint. */
void st_watch_check_kind(struct st_watch *watch, struct st_watch_node *node);

/** Check a pending path and report a change. With `now`, do not wait if the file is changing. */
void st_watch_check(struct st_watch *watch, struct st_pending *pending, bool now);

/** Record the present state of a file without a report. */
void st_watch_record_file(struct st_watch *watch, struct st_watch_node *node);

/** Record that a file does not exist, without a report. */
void st_watch_forget_file(struct st_watch *watch, struct st_watch_node *node);

/** Queue a directory for reading; if deep, with all directories below it. */
void st_watch_queue(struct st_watch *watch, struct st_watch_node *node, bool deep);

/** A directory is gone: mark all files below it as pending. */
void st_watch_lose_dir(struct st_watch *watch, struct st_watch_node *top);

/** Add an inotify watch to an open directory, or mark the directory as polled. */
void st_watch_add_watch(struct st_watch *watch, struct st_watch_node *node, int fd);

/** What the watcher can rely on in a filesystem. */
enum st_watch_source {
	/** Other machines can change it without an event. */
	ST_WATCH_REMOTE,
	/** Every change causes an event. */
	ST_WATCH_LOCAL,
	/** Also: ctimes come from this machine's clock, and listings show the inodes of stat. */
	ST_WATCH_TIMED,
};

enum st_watch_source st_watch_source_of(int fd);

/** Mark a directory as polled or not. */
void st_watch_set_polled(struct st_watch *watch, struct st_watch_dir *dir, bool polled);

/**
 * Watch `.git/info/exclude`, or the directory where it would appear. It is not
 * a part of the watched tree, and its location depends on `.git`, so the watcher
 * calls this with every reading of the root, before it reads the file.
 */
void st_watch_rules_add_watch(struct st_watch *watch);

/** An event of that watch: queue the whole tree if the rules may have changed. */
void st_watch_rules_event(struct st_watch *watch, const struct st_inotify_event *event);

/** A directory lists a file: mark it as pending if it differs from the last report. */
void st_watch_listed_file(struct st_watch *watch, struct st_watch_node *dir, struct st_str name,
                          const struct stat *st);

/** A directory lists another one, which the caller reads or queues. NULL if memory ran out. */
struct st_watch_node *st_watch_listed_dir(struct st_watch *watch, struct st_watch_node *dir,
                                          struct st_str name);

/** A directory was read to its end: entries that it did not list are gone, or ignored now. */
void st_watch_check_unlisted(struct st_watch *watch, struct st_watch_node *dir);

/** Read the whole tree again, now. */
void st_watch_rescan_now(struct st_watch *watch);

/** Read the directories that are queued. */
void st_watch_read_queue(struct st_watch *watch);

/** Read the tree for the first time; reports nothing. */
[[nodiscard]] int st_watch_first_pass(struct st_watch *watch, struct stet_error *err);

/** Whether a file's stat shows that it is as reported last, or as at the start. */
bool st_watch_is_same(const struct st_watch *watch, struct st_watch_node *node,
                      const struct stat *st);

/** Whether a stat was taken so soon after a change that an equal one proves nothing. */
bool st_watch_is_racy(int dir, const struct stat *st);

#endif
