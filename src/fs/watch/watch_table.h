/**
 * The watcher's table: every file it has reported, what stat said then, and
 * the order in which they changed.
 *
 * Nodes hang below their directory and are found by name, so that a directory
 * can be moved or dropped as a whole and paths take no memory of their own. A
 * node outlives its file while somebody still has to be told: as a *pending*
 * one that will be looked at (fs/watch/watch_debounce.h), or as a *tombstone* in the
 * list of changes.
 *
 * The list of changes is newest first. Every batch of changes has a tick; "what
 * changed since" is the front of the list down to the first older tick. Its
 * length is bounded: what falls off the end raises `aged`, and nothing can be
 * said about clocks before that.
 */
#ifndef STET_FS_WATCH_WATCH_TABLE_H
#define STET_FS_WATCH_WATCH_TABLE_H

#include <stdint.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "fs/tree/ignore.h"

struct st_pending;

/** A file's place in the list of changes. */
struct st_watch_change {
	struct st_watch_node *node;
	struct st_watch_change *newer;
	struct st_watch_change *older;
	uint64_t tick;
	/** The tick in which the file appeared; 0 if it was there at the start. */
	uint64_t born;
};

/** What only directories have. */
struct st_watch_dir {
	struct st_watch_node *node;
	/** Its entries, in no order. */
	struct st_watch_node *first;
	/** The rules that hold in it; owned. */
	struct st_ignore *ignore;
	/** Its watch, -1 for none. */
	int wd;
	/** It is there, as far as is known; else only nodes below keep it. */
	bool present;
	/** Looked at from time to time, since no events come from it. */
	bool polled;
	/** Waiting to be read, and then with all directories below. */
	bool queued;
	bool deep;
	struct st_watch_dir *next_queued;
};

struct st_watch_node {
	/** NULL for the root. */
	struct st_watch_node *parent;
	struct st_watch_node *next;
	struct st_watch_node *prev;
	/** The next one of the same hash. */
	struct st_watch_node *chain;
	/** NULL unless something is or was a directory here. */
	struct st_watch_dir *dir;
	/** NULL if it never changed, or so long ago that it fell off the list. */
	struct st_watch_change *change;
	/** NULL if nothing is to be looked at. */
	struct st_pending *pending;
	/** The fingerprint of the stat that was reported; if unseen, of the inode alone. */
	uint64_t print;
	/** The first bytes of the content's hash; 0 if it is not known. */
	uint64_t digest;
	/** The pass that saw it last. */
	uint32_t pass;
	/** Files in use at or below it, where only those are watched. */
	uint32_t users;
	/** Of its name and its directory. */
	uint32_t hash;
	/** There is a file, as far as was reported. */
	bool present;
	/** It was listed at the start and not looked at since. */
	bool unseen;
	/** Its stat proves nothing: it was taken too soon after a change. */
	bool racy;
	uint8_t name_len;
	char name[];
};

struct st_watch_table {
	struct st_watch_node *root;
	struct st_watch_node **buckets;
	size_t bucket_count;
	size_t count;
	/** How many nodes were freed so far: while it stands still, pointers stay good. */
	size_t freed;
	/** How many files are present. */
	size_t files;
	struct st_watch_change *newest;
	struct st_watch_change *oldest;
	size_t changes;
	size_t max_changes;
	/** The current batch, and the newest one that fell off the list. */
	uint64_t tick;
	uint64_t aged;
};

/** Fill a table that has a root and nothing else. False without memory. */
[[nodiscard]] bool st_watch_table_init(struct st_watch_table *table, size_t max_changes);
void st_watch_table_release(struct st_watch_table *table);

/** The entry of a directory by its name; NULL if there is none. */
struct st_watch_node *st_watch_find(const struct st_watch_table *table,
                                    const struct st_watch_node *dir, struct st_str name);

/** As st_watch_find(), and it is made if there is none; NULL without memory. */
struct st_watch_node *st_watch_entry(struct st_watch_table *table, struct st_watch_node *dir,
                                     struct st_str name);

/**
 * Add an entry to a directory, without asking whether there is one of that
 * name, and so that it is not found yet. While a table is filled by several
 * threads, each does this in directories of its own, and no other.
 *
 * @others  What was added before, or NULL; st_watch_enlist() takes them all.
 * @return  The entry, or NULL without memory.
 */
struct st_watch_node *st_watch_add(struct st_watch_node *dir, struct st_str name,
                                   struct st_watch_node *others);

/** Let entries that were added be found; those of a name that is there already are freed. */
void st_watch_enlist(struct st_watch_table *table, struct st_watch_node *added);

/** As st_watch_entry() for a whole path. */
struct st_watch_node *st_watch_at(struct st_watch_table *table, struct st_str path);

/** Free a node that nothing needs any more, and the directories above that it alone kept. */
void st_watch_prune(struct st_watch_table *table, struct st_watch_node *node);

/** Make a node one of a directory, if it is not yet. False without memory. */
[[nodiscard]] bool st_watch_make_dir(struct st_watch_node *node);

/** Put a node's path, relative to the root, in place of what the buffer held. */
void st_watch_path(const struct st_watch_node *node, struct st_buf *path);

/** The next node below top, top first, a directory before what is in it; NULL at the end. */
struct st_watch_node *st_watch_next(const struct st_watch_node *top, struct st_watch_node *node);

/**
 * Move a file to the front of the list of changes, under the current tick.
 *
 * @born   Whether it appeared just now.
 * @return false without memory; then older clocks can no longer be answered.
 */
bool st_watch_changed(struct st_watch_table *table, struct st_watch_node *node, bool born);

/** Forget the oldest changes until so many are left. */
void st_watch_age(struct st_watch_table *table, size_t left);

/** A number that differs when anything of a stat differs that a change would move. */
uint64_t st_watch_print(const struct stat *st);

/** A number for an inode, whatever has become of it. */
uint64_t st_watch_print_inode(dev_t dev, ino_t ino);

#endif
