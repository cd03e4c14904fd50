/**
 * core/instructions finds the AGENTS.md files of a workspace and reads them.
 * Which of them a session has received is core/session's business.
 *
 * A chain holds the instructions that apply to a path: at most one file per
 * directory, from the root down to the path's own directory, each followed by
 * the files it imports. st_instructions_chain_build() checks every directory
 * each time, so it finds a file created a moment ago. It stops at the first
 * ignored directory.
 */
#ifndef STET_CORE_INSTRUCTIONS_CHAIN_H
#define STET_CORE_INSTRUCTIONS_CHAIN_H

#include "core/instructions/lookup.h"

enum {
	/** The most levels of imports, and the most imports in one chain. */
	ST_INSTRUCTIONS_IMPORT_DEPTH = 5,
	ST_INSTRUCTIONS_IMPORTS_MAX = 64,
	/** How many imports of one file are looked for, be there such files or not. */
	ST_INSTRUCTIONS_NAMED_MAX = 1000,
};

/** One file of a chain. */
struct st_instructions_item {
	/** Where it was found, and the file that holds its text: these differ for links. */
	char *path;
	char *real;
	/** The file that imports it; NULL for a directory's own file. */
	char *importer;
	struct st_instructions_file *file;
	/** How many directories below the root: its own directory, or that of the file that imports it. */
	size_t level;
	/** How many imports lead to it; 0 for a directory's own file. */
	unsigned depth;
	/** It contains only imports. Sessions receive the imported files instead. */
	bool bridge;
	/** The path is in a worktree of this repository, whose own file replaces this one. */
	bool masked;
};

struct st_instructions_chain {
	/** The directory of the path, below the root; "" for the root. */
	struct st_buf dir;
	struct st_instructions_item *items;
	size_t count;
	size_t imports;
	/** Which files were skipped and why: sentences, each NUL-terminated. */
	struct st_buf notices;
};

void st_instructions_chain_release(struct st_instructions_chain *chain);

enum st_instructions_flags {
	/** Everything that applies, delivered before or not. */
	ST_INSTRUCTIONS_ALL = 1 << 0,
	/** Only the file of the path's own directory. */
	ST_INSTRUCTIONS_ALONE = 1 << 1,
	/** The path is a file's, relative to the root and with links resolved: skip locating its directory. */
	ST_INSTRUCTIONS_OF_FILE = 1 << 2,
	/** All but the root's own file and its imports. */
	ST_INSTRUCTIONS_NESTED = 1 << 3,
	/** Deliver a text that does not fit in parts, over several deliveries, instead of cutting it. */
	ST_INSTRUCTIONS_PARTS = 1 << 4,
};

/**
 * Find the instructions that apply to a path.
 *
 * @path   As the caller spells it: a directory, or a file, which need not exist.
 * @flags  Of enum st_instructions_flags. Does not check what was delivered before.
 * @return 0, or why the path cannot be used: STET_E_INVALID, STET_E_OUTSIDE,
 *         STET_E_ACCESS, STET_E_NOMEM, STET_E_LIMIT, STET_E_IO.
 */
[[nodiscard]] int st_instructions_chain_build(struct st_instructions_setup *setup, const char *path,
                                              unsigned flags, struct st_instructions_chain *chain,
                                              struct stet_error *err);

#endif
