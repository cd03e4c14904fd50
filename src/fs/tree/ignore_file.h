/**
 * Ignore rules from their files: .gitignore in every directory, and
 * .git/info/exclude.
 *
 * As with git, a .gitignore that is a link is not read. Files above the root
 * and the user's own configuration are not asked: two sessions on one root see
 * the same tree.
 */
#ifndef STET_FS_TREE_IGNORE_FILE_H
#define STET_FS_TREE_IGNORE_FILE_H

#include "base/error.h"
#include "fs/tree/ignore.h"

/** The largest file of rules that is read. */
#define ST_IGNORE_FILE_MAX ((size_t)1 << 20)

/** What to leave out of account; both may be given. */
enum st_ignore_flags {
	/** Do not leave out .git, node_modules and dist. */
	ST_IGNORE_NO_BUILTIN = 1 << 0,
	/** Do not read .gitignore and .git/info/exclude. */
	ST_IGNORE_NO_FILES = 1 << 1,
};

/**
 * Load the .gitignore of one directory.
 *
 * @parent  The node above; may be NULL.
 * @dir     The directory's descriptor.
 * @path    Its path relative to the root; "" for the root.
 * @node    Receives the new node, or the parent with one more owner if there
 *          is no file or it cannot be read. NULL only for want of both.
 * @return  0 (also if there is no file), or why it was not read: STET_E_TOO_BIG,
 *          STET_E_ACCESS, STET_E_NOMEM, STET_E_LIMIT, STET_E_IO.
 */
[[nodiscard]] int st_ignore_load(struct st_ignore *parent, int dir, struct st_str path,
                                 struct st_ignore **node, struct stet_error *err);

/**
 * Load .git/info/exclude of the repository whose top is the root, be it a
 * linked worktree or a submodule too. Arguments and codes as above.
 */
[[nodiscard]] int st_ignore_load_exclude(int root, struct st_ignore **node, struct stet_error *err);

/**
 * Whether a single path is ignored, itself or a directory above it, without a
 * walk. The path need not exist; links on the way are not followed.
 *
 * @root    The root's descriptor.
 * @path    Relative to the root, without "." and "..".
 * @flags   Of enum st_ignore_flags.
 * @return  1 or 0; or a code as above, if the rules could not be read.
 */
[[nodiscard]] int st_ignore_path(int root, struct st_str path, bool is_dir, unsigned flags,
                                 struct stet_error *err);

#endif
