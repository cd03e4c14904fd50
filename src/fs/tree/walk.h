/**
 * fs/tree finds files: it walks directories and knows what git ignores and
 * tracks. This header walks a tree with several threads.
 *
 * A walk opens each directory once, lists and closes it. The listing tells the
 * type of each entry, so a walk calls no stat. It does not open ignored
 * directories, reports links without following them, and has no order. A
 * directory that appears or disappears meanwhile may be reported or not.
 *
 * Memory grows with the number of directories that wait to be read. Neither
 * the stack nor PATH_MAX limits the depth, and a walk has at most a few dozen
 * descriptors open.
 *
 *     static int on_entry(void *data, const struct st_walk_entry *entry,
 *                         struct stet_error *err) {
 *             ...
 *             return 0;
 *     }
 *     struct st_walk walk = { .on_entry = on_entry, .data = &list };
 *     int code = st_walk_run(&walk, root.fd, err);
 */
#ifndef STET_FS_TREE_WALK_H
#define STET_FS_TREE_WALK_H

#include <stdint.h>

#include "base/error.h"
#include "fs/tree/ignore_file.h"

/** The most threads that a walk uses. */
#define ST_WALK_MAX_THREADS 8

enum st_walk_flags {
	ST_WALK_NO_BUILTIN = ST_IGNORE_NO_BUILTIN,
	ST_WALK_NO_FILES = ST_IGNORE_NO_FILES,
	/** Report ignored files too, but not the contents of ignored directories. */
	ST_WALK_IGNORED_FILES = 1 << 8,
};

enum st_walk_type {
	ST_WALK_FILE,
	ST_WALK_DIR,
	ST_WALK_LINK,
	/** A device, a socket, a pipe. */
	ST_WALK_OTHER,
};

/** An entry of a directory. Everything in it is valid during the callback only. */
struct st_walk_entry {
	/** Relative to the root, NUL-ended; name is its last component. Any bytes but NUL. */
	struct st_str path;
	struct st_str name;
	enum st_walk_type type;
	/** The directory that holds the entry, for openat() and the like. */
	int dir;
	/** The rules of that directory, for st_ignore_match(); st_ignore_keep() keeps them. */
	struct st_ignore *ignore;
	/** From the listing: for a mount point the inode beneath the mount. */
	uint64_t ino;
	/** For a directory: on_entry may set it, and enter receives it. NULL at first. */
	void **mark;
};

/** on_entry returns this for a directory that the walk should not enter. */
#define ST_WALK_SKIP 1

/**
 * How to walk, and the caller's functions. Several threads call them at once
 * unless `threads` is 1. All but on_entry may be NULL, and a negative code from
 * any of them ends the walk.
 */
struct st_walk {
	/** How many threads, including the caller's; 0 for two. */
	unsigned threads;
	/** Of enum st_walk_flags. */
	unsigned flags;
	/** Passed to the functions. */
	void *data;
	/**
	 * Called when a directory (also the root) is open but not yet read: a watch
	 * that is added now misses nothing. mark is the one that on_entry set; NULL
	 * for the root.
	 */
	int (*enter)(void *data, int dir, struct st_str path, void *mark, struct stet_error *err);
	/** Called for each entry. May return ST_WALK_SKIP for a directory. */
	int (*on_entry)(void *data, const struct st_walk_entry *entry, struct stet_error *err);
	/** Called when the directory that this thread entered last is read; rules are its rules. */
	int (*leave)(void *data, struct st_ignore *rules, struct stet_error *err);
	/** Called for each ignored entry. */
	void (*ignored)(void *data, const struct st_walk_entry *entry);
	/**
	 * Called for a directory that cannot be read, or whose rules cannot; the walk
	 * continues without. A caller that needs a complete walk must set it.
	 */
	void (*skipped)(void *data, struct st_str path, const struct stet_error *why);
};

/**
 * Walk a tree. Returns when all threads have finished.
 *
 * @root   The descriptor of the directory to start from; stays open.
 * @return 0, STET_E_NOMEM, STET_E_LIMIT (out of descriptors), STET_E_CANCELLED,
 *         the reason why the root cannot be read, or a callback's code.
 */
[[nodiscard]] int st_walk_run(const struct st_walk *how, int root, struct stet_error *err);

#endif
