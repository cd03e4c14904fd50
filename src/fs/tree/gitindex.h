/**
 * One question to git's index: is anything below this directory tracked?
 */
#ifndef STET_FS_TREE_GITINDEX_H
#define STET_FS_TREE_GITINDEX_H

#include "fs/path/root.h"

/**
 * Whether a repository lists a path below a directory of the root in its
 * index: the one whose top is the root, or one that the root lies in.
 *
 * @dir    A name directly below the root.
 * @return 1 if one does; 0 if none does, or there is no index; STET_E_INVALID
 *         (an index of an unknown kind, or damaged), STET_E_TOO_BIG,
 *         STET_E_ACCESS, STET_E_NOMEM, STET_E_LIMIT, STET_E_IO.
 */
[[nodiscard]] int st_gitindex_has(const struct st_root *root, const char *dir,
                                  struct stet_error *err);

#endif
