/**
 * Load ignore rules from .gitignore files and .git/info/exclude.
 *
 * Like git, this ignores a .gitignore that is a symbolic link. It does not
 * read files above the root, nor the user's own configuration: all sessions on
 * one root see the same tree.
 */
#ifndef STET_FS_TREE_IGNORE_FILE_H
#define STET_FS_TREE_IGNORE_FILE_H

#include "base/error.h"
#include "fs/tree/ignore.h"

/** The largest rules file that is read. */
#define ST_IGNORE_FILE_MAX ((size_t)1 << 20)

/** Rules to switch off. */
enum st_ignore_flags {
	/** Do not ignore .git, node_modules and dist. */
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
 * @node    Receives the new node; or, if the file does not exist or cannot be
 *          read, the parent with one more reference (NULL without a parent).
 * @return  0 (also if there is no file), or the reason why the file was not
 *          read: STET_E_TOO_BIG, STET_E_ACCESS, STET_E_NOMEM, STET_E_LIMIT,
 *          STET_E_IO.
 */
[[nodiscard]] int st_ignore_load(struct st_ignore *parent, int dir, struct st_str path,
                                 struct st_ignore **node, struct stet_error *err);

/**
 * Load .git/info/exclude of the repository whose top is the root; also of a
 * linked worktree or a submodule. Arguments and codes as above.
 */
[[nodiscard]] int st_ignore_load_exclude(int root, struct st_ignore **node, struct stet_error *err);

/**
 * Whether the rules ignore a path or one of its parent directories. The path
 * need not exist; links are not followed.
 *
 * @root    The root's descriptor.
 * @path    Relative to the root, without "." and "..".
 * @flags   Of enum st_ignore_flags.
 * @return  1 or 0, or a code as above if the rules could not be read.
 */
[[nodiscard]] int st_ignore_path(int root, struct st_str path, bool is_dir, unsigned flags,
                                 struct stet_error *err);

#endif
