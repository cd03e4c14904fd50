/**
 * Looking for the instruction file of one directory.
 *
 * The first of AGENTS.override.md, AGENTS.md, agents.md and the configured
 * names that can be used counts; at most one per directory. A link is followed
 * while it stays below the root; so is a file whose whole content is the name
 * of another one, which is what a link becomes in a checkout on Windows.
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
	/** The name of the state directory, borrowed: nothing below it is an instruction. */
	const char *state_dir;
	/** In order of preference: the built-in ones, then the configured. */
	char *names[ST_INSTRUCTIONS_NAMES_MAX];
	size_t name_count;
	/** The most bytes of one delivery, and of one file at all. */
	_Atomic size_t budget;
	/** Whether answers about a file bring the instructions that apply to it. */
	_Atomic bool deliver;
	/** Leave out the root's own, which the client loads itself. */
	_Atomic bool nested_only;
	/** Whether to leave out .git, node_modules and dist, and what .gitignore excludes. */
	_Atomic bool ignore_builtin;
	_Atomic bool ignore_files;
};

/** Returns 0 or STET_E_NOMEM; release it in either case. */
[[nodiscard]] int st_instructions_setup_init(struct st_instructions_setup *setup,
                                             const struct st_root *root, struct stet_error *err);
void st_instructions_setup_release(struct st_instructions_setup *setup);

/** Which of the names this is, in order of preference; name_count if it is none of them. */
size_t st_instructions_rank(const struct st_instructions_setup *setup, struct st_str name);

/** The flags of st_ignore_path() for a setup. */
unsigned st_instructions_ignore_flags(const struct st_instructions_setup *setup);

/** An instruction file as it was found. */
struct st_instructions_found {
	/** Where its text is: the path below the root, links resolved. */
	char *real;
	struct st_instructions_file *file;
};

void st_instructions_found_release(struct st_instructions_found *found);

enum st_instructions_look {
	/** There is no such file, or the link leads to none. */
	ST_INSTRUCTIONS_NONE,
	ST_INSTRUCTIONS_USABLE,
	/** There is something, but it is not used; the reason says why. */
	ST_INSTRUCTIONS_SKIPPED,
	/** It holds nothing but blanks. */
	ST_INSTRUCTIONS_EMPTY,
};

/**
 * Look at one path.
 *
 * @path   Below the root; links are followed.
 * @imported  Whether another file names it: then it has to be Markdown or text that git does not ignore.
 * @found  Receives the text if it is usable; to be released.
 * @why    Receives the end of a sentence that begins with the file's name, if
 *         it is skipped or empty.
 * @return An st_instructions_look, or STET_E_NOMEM, STET_E_LIMIT.
 */
[[nodiscard]] int st_instructions_look(struct st_instructions_setup *setup, struct st_str path,
                                       bool imported, struct st_instructions_found *found,
                                       struct st_buf *why, struct stet_error *err);

/** Put a relative path into out as seen from the directory of a file below the root. */
void st_instructions_beside(struct st_buf *out, const char *file, struct st_str relative);

#endif
