/**
 * Find the git directory of a working tree: `.git`, or, in worktrees and
 * submodules, the directory that the file `.git` names.
 */
#ifndef STET_FS_TREE_GITDIR_H
#define STET_FS_TREE_GITDIR_H

/**
 * Open the git directory of a working tree.
 *
 * @top    The descriptor of the working tree's top directory.
 * @return An O_PATH descriptor, or -1 with errno; ENOENT if top is not the top
 *         of a working tree.
 */
int st_gitdir_open(int top);

/**
 * Open the common git directory, which all worktrees of a repository share.
 *
 * @gitdir  From st_gitdir_open(); the function closes it or returns it.
 * @return  Like st_gitdir_open().
 */
int st_gitdir_common(int gitdir);

#endif
