/**
 * One question to git's index: is anything below this directory tracked?
 */
#ifndef STET_FS_GITINDEX_H
#define STET_FS_GITINDEX_H

#include "fs/root.h"

/**
 * Whether the index of the repository whose top is the root lists a path
 * below a directory.
 *
 * @dir    A name directly below the root.
 * @return true if it does, or if there is an index that cannot be understood;
 *         false if it does not or there is none.
 */
bool st_gitindex_has(const struct st_root *root, const char *dir);

#endif
