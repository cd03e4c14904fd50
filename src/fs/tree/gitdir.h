/**
 * Where git keeps what it knows of a working tree: `.git`, or, in worktrees and
 * submodules, the directory that the file `.git` names.
 */
#ifndef STET_FS_TREE_GITDIR_H
#define STET_FS_TREE_GITDIR_H

/**
 * Open the git directory of the working tree whose top this directory is.
 *
 * @return A descriptor for passing through, or -1 with errno; ENOENT if it is
 *         not the top of one.
 */
int st_gitdir_open(int top);

/**
 * Open the directory that all worktrees share: the one that a git directory
 * names as such, or that itself.
 *
 * @gitdir  From st_gitdir_open(); is closed.
 * @return  As st_gitdir_open().
 */
int st_gitdir_common(int gitdir);

#endif
