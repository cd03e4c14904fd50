/**
 * What is below a directory, for an answer: collected, sorted and bounded.
 *
 * Ignored files and directories, the state directory among them, are left out
 * unless asked for; how many were, and the first of their names, is told.
 */
#ifndef STET_TOOLS_FILES_TREE_H
#define STET_TOOLS_FILES_TREE_H

#include "fs/path/dirs.h"
#include "fs/tree/walk.h"
#include "tools/render.h"

/** No more is collected. */
enum { ST_TREE_MAX = 100000 };
#define ST_TREE_BYTES_MAX ((size_t)16 << 20)

struct st_tree_item {
	/** Below the directory that was asked for. */
	char *path;
	bool is_dir;
	/** Free for the tool that shows it. */
	bool listed;
	size_t hidden;
	struct st_tree_item *above;
};

struct st_tree {
	/** By path; a directory stands before what is in it. */
	struct st_tree_item *items;
	size_t count;
	/** How long all paths are. */
	size_t bytes;
	/** More than ST_TREE_MAX, or ST_TREE_BYTES_MAX. */
	bool cut;
	/** What the rules left out, and the first names. */
	size_t ignored_dirs;
	size_t ignored_files;
	struct st_buf ignored;
	/** Directories that could not be read, and why the first could not. */
	size_t unreadable;
	struct stet_error why;
};

void st_tree_release(struct st_tree *tree);

/** Whether an item is wanted; NULL for all. Directories are entered in any case. */
typedef bool st_tree_wanted(void *data, struct st_str path, bool is_dir);

/**
 * Collect. The directory, what to exclude (excludePatterns) and whether
 * ignored things are wanted (includeIgnored) are arguments of the call.
 *
 * @dir    Receives the directory.
 * @return 0, STET_E_INVALID (a pattern), or why the directory cannot be read.
 */
[[nodiscard]] int st_tree_collect(struct st_call *call, st_tree_wanted *wanted, void *data,
                                  struct st_dir *dir, struct st_tree *tree, struct stet_error *err);

/** Say in data, and below the list (st_call_footer()), what was left out. */
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
