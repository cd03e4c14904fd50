/**
 * The watcher's table: every file that it has reported, with its fingerprint,
 * and the order in which the files changed.
 *
 * Each node is linked to its directory and found by name, so that a directory
 * can be dropped as a whole and paths take no memory. A node outlives its file
 * while the path is *pending* (fs/watch/watch_debounce.h), or while the file's
 * removal is in the list of changes.
 *
 * The list of changes is newest first. Every batch of changes has a tick; the
 * changes since a tick are the front of the list, down to the first older tick.
 * The list is bounded: `forgotten` is the tick of the newest change that was
 * dropped from its end, and the table cannot answer for older ticks.
 */
#ifndef STET_FS_WATCH_WATCH_TABLE_H
#define STET_FS_WATCH_WATCH_TABLE_H

#include <stdint.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "fs/tree/ignore.h"

struct st_pending;

/** An entry of the list of changes. */
struct st_watch_change {
	struct st_watch_node *node;
	struct st_watch_change *newer;
	struct st_watch_change *older;
	uint64_t tick;
	/** The tick in which the file appeared; 0 if it existed at the start. */
	uint64_t born;
};

/** The part of a node that only directories have. */
struct st_watch_dir {
	struct st_watch_node *node;
	/** The entries, in no order. */
	struct st_watch_node *first;
	/** The ignore rules in this directory; owned. */
	struct st_ignore *ignore;
	/** The inotify watch, -1 for none. */
	int wd;
	/** The directory exists, as far as is known; if not, it has nodes below it. */
	bool present;
	/** No events come from it, so the watcher polls it. */
	bool polled;
	/** In the queue of directories to read; deep: with all directories below. */
	bool queued;
	bool deep;
	struct st_watch_dir *next_queued;
};

struct st_watch_node {
	/** NULL for the root. */
	struct st_watch_node *parent;
	struct st_watch_node *next;
	struct st_watch_node *prev;
	/** The next node in the same bucket. */
	struct st_watch_node *chain;
	/** NULL unless the path is or was a directory. */
	struct st_watch_dir *dir;
	/** NULL if the file is not in the list of changes. */
	struct st_watch_change *change;
	/** NULL if the path is not pending. */
	struct st_pending *pending;
	/** The fingerprint of the last reported stat; if unseen, of the inode alone. */
	uint64_t fingerprint;
	/** The first bytes of the content's hash; 0 if unknown. */
	uint64_t digest;
	/** The last reading that listed it. */
	uint32_t pass;
	/** How many uses of files at or below it (ST_WATCH_USED). */
	uint32_t users;
	/** The hash of name and directory. */
	uint32_t hash;
	/** The last report said that the file exists. */
	bool present;
	/** Listed at the start, but never stat-ed. */
	bool unseen;
	/** The stat was taken so soon after a change that an equal one proves nothing. */
	bool racy;
	uint8_t name_len;
	char name[];
};

struct st_watch_table {
	struct st_watch_node *root;
	struct st_watch_node **buckets;
	size_t bucket_count;
	size_t count;
	/** How many nodes were freed so far: as long as it is unchanged, pointers stay valid. */
	size_t freed;
	/** How many files are present. */
	size_t files;
	struct st_watch_change *newest;
	struct st_watch_change *oldest;
	size_t changes;
	size_t max_changes;
	/** The current tick, and the tick of the newest change that was dropped from the list. */
	uint64_t tick;
	uint64_t forgotten;
};

/** Initialise a table that holds only the root. False if memory ran out. */
[[nodiscard]] bool st_watch_table_init(struct st_watch_table *table, size_t max_changes);
void st_watch_table_release(struct st_watch_table *table);

/** Find an entry of a directory; NULL if there is none. */
struct st_watch_node *st_watch_find(const struct st_watch_table *table,
                                    const struct st_watch_node *dir, struct st_str name);

/** Find or add an entry; NULL if memory ran out. */
struct st_watch_node *st_watch_entry(struct st_watch_table *table, struct st_watch_node *dir,
                                     struct st_str name);

/**
 * Add an entry to a directory without searching for one of that name.
 * st_watch_find() does not find it before st_watch_insert_added(). Several
 * threads may do this at once, each in directories of its own.
 *
 * @others  The entries added before, or NULL: they form a list.
 * @return  The entry, or NULL if memory ran out.
 */
struct st_watch_node *st_watch_add(struct st_watch_node *dir, struct st_str name,
                                   struct st_watch_node *others);

/** Insert a list of added entries into the table; free those whose name exists already. */
void st_watch_insert_added(struct st_watch_table *table, struct st_watch_node *added);

/** Like st_watch_entry() for a whole path. */
struct st_watch_node *st_watch_entry_at(struct st_watch_table *table, struct st_str path);

/** Free a node if nothing needs it any more, and then likewise the directories above it. */
void st_watch_prune(struct st_watch_table *table, struct st_watch_node *node);

/** Make a node a directory, if it is not one yet. False if memory ran out. */
[[nodiscard]] bool st_watch_make_dir(struct st_watch_node *node);

/** Replace the contents of path by the node's path relative to the root. */
void st_watch_path(const struct st_watch_node *node, struct st_buf *path);

/** Iterate over top and all nodes below it, a directory before its entries; NULL at the end. */
struct st_watch_node *st_watch_next(const struct st_watch_node *top, struct st_watch_node *node);

/**
 * Move a file to the front of the list of changes, under the current tick.
 *
 * @born   Whether the file appeared just now.
 * @return false if memory ran out; then the table cannot answer for older ticks.
 */
bool st_watch_changed(struct st_watch_table *table, struct st_watch_node *node, bool born);

/** Drop the oldest changes until `left` remain. */
void st_watch_forget_changes(struct st_watch_table *table, size_t left);

/** A hash of all parts of a stat that a change of the file would change. */
uint64_t st_watch_fingerprint(const struct stat *st);

/** A hash of the inode alone. */
uint64_t st_watch_fingerprint_inode(dev_t dev, ino_t ino);

#endif
