/**
 * A walk over a tree, by several threads.
 *
 * Every directory is opened once, listed, and closed; what an entry is comes
 * with the listing, so nothing is stat-ed. Ignored directories are not opened.
 * Links are reported, never followed. The order is no order. Directories that
 * come and go meanwhile are seen or not, and nothing else happens: a walk says
 * what was there while it passed.
 *
 * Memory is what the directories still to be read need, depth is limited by
 * neither the stack nor PATH_MAX, and there are never more than a few dozen
 * descriptors open.
 *
 *     static int on_entry(void *data, const struct st_walk_entry *entry) {
 *             ...
 *             return 0;
 *     }
 *     struct st_walk walk = { .visit = on_entry, .data = &list };
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
	/** As ST_IGNORE_NO_BUILTIN and ST_IGNORE_NO_FILES. */
	ST_WALK_NO_BUILTIN = ST_IGNORE_NO_BUILTIN,
	ST_WALK_NO_FILES = ST_IGNORE_NO_FILES,
	/** Visit ignored files too; what is in ignored directories is still left out. */
	ST_WALK_IGNORED_FILES = 1 << 8,
};

enum st_walk_type {
	ST_WALK_FILE,
	ST_WALK_DIR,
	ST_WALK_LINK,
	/** A device, a socket, a pipe. */
	ST_WALK_OTHER,
};

/** What a walk came across; all of it is valid during the call only. */
struct st_walk_entry {
	/** Relative to the root; NUL-ended, as is its last component. Any bytes but NUL. */
	struct st_str path;
	struct st_str name;
	enum st_walk_type type;
	/** The directory that holds it, for openat() and its like. */
	int dir;
	/** The rules that hold in that directory, for st_ignore_match(); kept with st_ignore_keep(). */
	struct st_ignore *ignore;
	/** As the listing has it: where something is mounted, that of what is beneath. */
	uint64_t ino;
	/** What is left here for a directory is handed to enter; NULL at first. */
	void **mark;
};

/** What visit returns for a directory that is not to be entered. */
#define ST_WALK_SKIP 1

/**
 * How to walk, and what to call. The functions are called from several threads
 * at once unless `threads` is 1.
 */
struct st_walk {
	/** How many threads, the caller's among them; 0 for two. */
	unsigned threads;
	/** Of enum st_walk_flags. */
	unsigned flags;
	/** Handed to the functions. */
	void *data;
	/**
	 * A directory, the root included, is open and will be read next: a watch
	 * that is set now misses nothing. May be NULL. A negative code ends the walk.
	 * The mark is what visit left for it; NULL for the root.
	 */
	int (*enter)(void *data, int dir, struct st_str path, void *mark, struct stet_error *err);
	/** An entry. A negative code ends the walk; ST_WALK_SKIP leaves a directory out. */
	int (*on_entry)(void *data, const struct st_walk_entry *entry, struct stet_error *err);
	/**
	 * The directory that this thread entered last is read. May be NULL. A
	 * negative code ends the walk. The rules are those that hold in it.
	 */
	int (*leave)(void *data, struct st_ignore *rules, struct stet_error *err);
	/** An entry that the rules leave out. May be NULL. */
	void (*ignored)(void *data, const struct st_walk_entry *entry);
	/**
	 * A directory cannot be read, or its rules cannot, and the walk goes on
	 * without. May be NULL, though whoever counts on completeness should know.
	 */
	void (*skipped)(void *data, struct st_str path, const struct stet_error *why);
};

/**
 * Walk.
 *
 * @root   The descriptor of the directory to start from; stays open.
 * @return 0, STET_E_NOMEM, STET_E_LIMIT (out of descriptors), a code for the
 *         root itself that cannot be read, or what enter or visit returned.
 */
[[nodiscard]] int st_walk_run(const struct st_walk *how, int root, struct stet_error *err);

#endif
