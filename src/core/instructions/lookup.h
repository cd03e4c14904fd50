/**
 * How a workspace looks up the instruction file of a directory.
 *
 * Each directory has at most one: the first usable one of AGENTS.override.md,
 * AGENTS.md, agents.md and the configured names. stet follows a link that stays
 * below the root. It also follows a file that contains only the name of another
 * file: git writes links that way when it checks out on Windows.
 */
#ifndef STET_CORE_INSTRUCTIONS_LOOKUP_H
#define STET_CORE_INSTRUCTIONS_LOOKUP_H

#include <stdatomic.h>

#include "core/instructions/cache.h"

enum { ST_INSTRUCTIONS_NAMES_BUILTIN = 3, ST_INSTRUCTIONS_NAMES_MAX = 16 };

/** How a workspace loads instructions. */
struct st_instructions_setup {
	/** Borrowed. */
	const struct st_root *root;
	struct st_instructions_cache cache;
	/** The name of the state directory, borrowed: files below it are never instructions. */
	const char *state_dir;
	/** By rank, the preferred first: the built-in names, then the configured ones. */
	char *names[ST_INSTRUCTIONS_NAMES_MAX];
	size_t name_count;
	/** The most bytes of one delivery, and of one file over all deliveries. */
	_Atomic size_t budget;
	/** Whether answers about a file include the instructions that apply to it. */
	_Atomic bool deliver;
	/** Leave out the root's own file, because the client loads it itself. */
	_Atomic bool nested_only;
	/** Whether to skip .git, node_modules and dist, and whatever .gitignore excludes. */
	_Atomic bool ignore_builtin;
	_Atomic bool ignore_files;
};

/** Fill a setup with the defaults. Returns 0 or STET_E_NOMEM; release it in either case. */
[[nodiscard]] int st_instructions_setup_init(struct st_instructions_setup *setup,
                                             const struct st_root *root, struct stet_error *err);
void st_instructions_setup_release(struct st_instructions_setup *setup);

/** The index of a name in setup->names; name_count if it is not one of them. */
size_t st_instructions_rank(const struct st_instructions_setup *setup, struct st_str name);

/** The flags to pass to st_ignore_path(). */
unsigned st_instructions_ignore_flags(const struct st_instructions_setup *setup);

/** An instruction file as it was found. */
struct st_instructions_found {
	/** The file that holds its text: the path below the root, links resolved. */
	char *real;
	struct st_instructions_file *file;
};

void st_instructions_found_release(struct st_instructions_found *found);

enum st_instructions_lookup {
	/** There is no such file, or the link is broken. */
	ST_INSTRUCTIONS_NONE,
	ST_INSTRUCTIONS_USABLE,
	/** The file exists, but stet does not use it; `why` has the reason. */
	ST_INSTRUCTIONS_SKIPPED,
	/** The file contains only white space. */
	ST_INSTRUCTIONS_EMPTY,
};

/**
 * Look up one instruction file.
 *
 * @path   Below the root; links are followed.
 * @imported  Another file imports it: it must be Markdown or text, and not ignored by git.
 * @found  Receives the text if it is usable; to be released.
 * @why    If it is skipped or empty, receives the rest of a sentence that begins
 *         with the file's name.
 * @return An st_instructions_lookup, or STET_E_NOMEM, STET_E_LIMIT.
 */
[[nodiscard]] int st_instructions_lookup(struct st_instructions_setup *setup, struct st_str path,
                                         bool imported, struct st_instructions_found *found,
                                         struct st_buf *why, struct stet_error *err);

/** Resolve a path that is relative to the directory of `file`; `out` receives it relative to the root. */
void st_instructions_beside(struct st_buf *out, const char *file, struct st_str relative);

#endif
