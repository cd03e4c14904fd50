/**
 * Collect the files and directories below a directory, sorted and bounded.
 *
 * Leaves out the state directory and, unless the caller asks for them, ignored
 * files and directories. The answer tells how many these are and names the
 * first few.
 */
#ifndef STET_TOOLS_FILES_TREE_H
#define STET_TOOLS_FILES_TREE_H

#include "fs/path/dirs.h"
#include "fs/tree/walk.h"
#include "tools/render.h"

/** The most entries to collect, and the most bytes of their paths. */
enum { ST_TREE_MAX = 100000 };
#define ST_TREE_BYTES_MAX ((size_t)16 << 20)

struct st_tree_item {
	/** Below the directory that the caller asked for. */
	char *path;
	bool is_dir;
	/** The rest is for directory_tree: whether it lists the item, how many hidden
	 * items are below it, and the listed directory that contains it. */
	bool listed;
	size_t hidden;
	struct st_tree_item *above;
};

enum st_tree_choice {
	/** Do not collect it; a directory is entered all the same. */
	ST_TREE_NO,
	ST_TREE_YES,
	/** Do not collect it, and do not enter it. */
	ST_TREE_PRUNE,
};

/** Whether to collect an entry, by its path below the directory; NULL for all. */
typedef enum st_tree_choice st_tree_wanted(void *data, struct st_str path, enum st_walk_type type);

/** Called with an entry to collect, and its path below the directory. */
typedef void st_tree_found(void *data, const struct st_walk_entry *entry, struct st_str path);

struct st_tree {
	/** Called with each entry instead of adding it to `items`; may be NULL. */
	st_tree_found *found;
	/** Sorted by path; a directory comes before its contents. */
	struct st_tree_item *items;
	size_t count;
	/** The length of all paths. */
	size_t bytes;
	/** There is more than that. */
	bool cut;
	/** How many entries the ignore rules left out, and the first names. */
	size_t ignored_dirs;
	size_t ignored_files;
	struct st_buf ignored;
	/** How many directories could not be read, and the first error. */
	size_t unreadable;
	struct stet_error why;
};

void st_tree_release(struct st_tree *tree);

/**
 * Collect the entries that the call's arguments excludePatterns and
 * includeIgnored ask for.
 *
 * @path   The directory; NULL for the argument path.
 * @dir    Receives the directory.
 * @tree   May have `found`.
 * @return 0, STET_E_INVALID (a pattern), or the error of reading the directory.
 */
[[nodiscard]] int st_tree_collect(struct st_call *call, const char *path, st_tree_wanted *wanted,
                                  void *data, struct st_dir *dir, struct st_tree *tree,
                                  struct stet_error *err);

/** Add to data and st_call_footer() what was left out. */
void st_tree_render_omissions(struct st_call *call, const struct st_tree *tree);

#define ST_PARAM_EXCLUDE \
	{ \
		.name = "excludePatterns", .aliases = "exclude_patterns", .type = ST_PARAM_STRINGS, \
		.description = "Globs to leave out." \
	}
#define ST_PARAM_IGNORED \
	{ \
		.name = "includeIgnored", .aliases = "include_ignored", .type = ST_PARAM_BOOLEAN, \
		.description = "Ignored files too." \
	}

#endif
