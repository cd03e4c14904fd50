/** The inside of the watcher: looking at paths and directories. Its contract is in fs/watch/watch.h. */
#ifndef STET_FS_WATCH_WATCH_LOOK_H
#define STET_FS_WATCH_WATCH_LOOK_H

#include "fs/watch/watch.h"

/** Add a sentence for the user. */
__attribute__((format(printf, 2, 3))) void st_watch_say(struct st_watch *watch, const char *format,
                                                        ...);

/** Whether rules leave out an entry of a directory. */
bool st_watch_ignores(struct st_watch *watch, const struct st_watch_node *dir, struct st_str name,
                      bool is_dir);

/** Open a directory of the table, following no link; -1 with errno. */
int st_watch_open(struct st_watch *watch, const struct st_watch_node *dir);

/** The same, for looks at what is in it: kept until another one is wanted. Not to be closed. */
int st_watch_near(struct st_watch *watch, const struct st_watch_node *dir);
void st_watch_near_close(struct st_watch *watch);

/** A sign of life: the path will be looked at. Never fails: without memory all is read anew. */
struct st_pending *st_watch_touch(struct st_watch *watch, struct st_watch_node *node);

/** A first look at a path after an event: a directory is queued to be read, a file's rest begins. */
void st_watch_glance(struct st_watch *watch, struct st_watch_node *node);

/** The look at a path that has come to rest; reports, and takes it off the list. */
void st_watch_look(struct st_watch *watch, struct st_pending *pending, bool now);

/** Note a file as it is, without a report. */
void st_watch_adopt(struct st_watch *watch, struct st_watch_node *node);

/** Note a file as absent, without a report. */
void st_watch_disown(struct st_watch *watch, struct st_watch_node *node);

/** Queue a directory to be read; with all directories below if deep. */
void st_watch_queue(struct st_watch *watch, struct st_watch_node *node, bool deep);

/** Take a directory of the table as gone: files below will be looked at. */
void st_watch_lose(struct st_watch *watch, struct st_watch_node *top);

/** Set a watch on an open directory, or mark it as polled. */
void st_watch_attach(struct st_watch *watch, struct st_watch_node *node, int fd);

/** What can be counted on where a directory is. */
enum st_watch_source {
	/** Others can change it without an event. */
	ST_WATCH_REMOTE,
	/** Every change gives an event. */
	ST_WATCH_LOCAL,
	/** And it gives a ctime by this machine's clock, and a listing tells inodes as stat does. */
	ST_WATCH_TIMED,
};

enum st_watch_source st_watch_source_of(int fd);

/** Mark a directory as polled or not. */
void st_watch_set_polled(struct st_watch *watch, struct st_watch_dir *dir, bool polled);

/**
 * Watch git's own file of rules, `.git/info/exclude`, or where that would
 * appear. It is outside the tree that is watched, and where it is depends on
 * `.git`, so this is done anew, before the file is read, with every reading of
 * the root.
 */
void st_watch_rules_attach(struct st_watch *watch);

/** An event of that watch: the rules may be others now. */
void st_watch_rules_hear(struct st_watch *watch, const struct st_inotify_event *event);

/** An entry that a directory lists: a file, which is compared with what was reported of it. */
void st_watch_see_file(struct st_watch *watch, struct st_watch_node *dir, struct st_str name,
                       const struct stat *st);

/** The same for a directory, which is not read here. NULL without memory. */
struct st_watch_node *st_watch_see_dir(struct st_watch *watch, struct st_watch_node *dir,
                                       struct st_str name);

/** All entries were seen in this pass: the others are gone, or ignored by now. */
void st_watch_miss(struct st_watch *watch, struct st_watch_node *dir);

/** Read everything anew. */
void st_watch_read_all(struct st_watch *watch);

/** Read the directories that are queued. */
void st_watch_read_queue(struct st_watch *watch);

/** The first pass over the tree, which reports nothing. */
[[nodiscard]] int st_watch_first_pass(struct st_watch *watch, struct stet_error *err);

/** Whether a file is, by its stat, what was reported of it, or what it was at the start. */
bool st_watch_is_same(const struct st_watch *watch, struct st_watch_node *node,
                      const struct stat *st);

/** Whether a stat was taken so soon after a change that it proves nothing. */
bool st_watch_is_racy(int dir, const struct stat *st);

#endif
