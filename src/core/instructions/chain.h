/**
 * The instructions that apply to a path: one file per directory at most, from
 * the root down to the path's own directory, each followed by what it imports.
 *
 * Every directory on the way is looked at on use, so that a file made a moment
 * ago counts. From the first ignored directory on nothing is loaded.
 */
#ifndef STET_CORE_INSTRUCTIONS_CHAIN_H
#define STET_CORE_INSTRUCTIONS_CHAIN_H

#include "core/instructions/lookup.h"

enum {
	/** How deep imports go, and how many there are at most in one chain. */
	ST_INSTRUCTIONS_IMPORT_DEPTH = 5,
	ST_INSTRUCTIONS_IMPORTS_MAX = 64,
};

/** One file of a chain. */
struct st_instructions_item {
	/** Where it was found, and where its text is: these differ for links. */
	char *path;
	char *real;
	/** The file that imports it; NULL for one of the chain itself. */
	char *importer;
	struct st_instructions_file *file;
	/** How many directories below the root the chain's file is that brought it. */
	size_t level;
	/** How many imports lead to it; 0 for one of the chain itself. */
	unsigned depth;
	/** It holds nothing but imports, whose texts stand for it. */
	bool bridge;
	/** Another checkout of this repository, nearer to the path, has its own in place of it. */
	bool masked;
};

struct st_instructions_chain {
	/** The directory of the path, below the root; "" for the root. */
	struct st_buf dir;
	struct st_instructions_item *items;
	size_t count;
	size_t imports;
	/** What was skipped and why: sentences, each ended by NUL. */
	struct st_buf notices;
};

void st_instructions_chain_release(struct st_instructions_chain *chain);

enum st_instructions_flags {
	/** Everything that applies, given before or not. */
	ST_INSTRUCTIONS_ALL = 1 << 0,
	/** Look into the path's own directory only. */
	ST_INSTRUCTIONS_ALONE = 1 << 1,
	/** The path is that of a file below the root, without links: its directory need not be found. */
	ST_INSTRUCTIONS_OF_FILE = 1 << 2,
	/** All but the root's own and what it imports. */
	ST_INSTRUCTIONS_NESTED = 1 << 3,
	/** What does not fit comes in parts, with the next deliveries, instead of being cut. */
	ST_INSTRUCTIONS_PARTS = 1 << 4,
};

/**
 * Find what applies to a path.
 *
 * @path   As the caller spells it: a file, there or not, or a directory.
 * @flags  Of enum st_instructions_flags; whether it was given before is not asked here.
 * @return 0, or why the path cannot be used: STET_E_INVALID, STET_E_OUTSIDE,
 *         STET_E_ACCESS, STET_E_NOMEM, STET_E_LIMIT, STET_E_IO.
 */
[[nodiscard]] int st_instructions_chain_build(struct st_instructions_setup *setup, const char *path,
                                              unsigned flags, struct st_instructions_chain *chain,
                                              struct stet_error *err);

#endif
