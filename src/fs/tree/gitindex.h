/**
 * Ask git's index whether it tracks a file below a directory.
 */
#ifndef STET_FS_TREE_GITINDEX_H
#define STET_FS_TREE_GITINDEX_H

#include "fs/path/root.h"

/**
 * Whether a repository tracks a file below a directory of the root. The
 * function asks the repository of the root and all repositories around it.
 *
 * @dir    A name directly below the root.
 * @return 1 if one does; 0 if none does, or has an index; STET_E_INVALID
 *         (an index of an unknown kind, or damaged), STET_E_TOO_BIG,
 *         STET_E_ACCESS, STET_E_NOMEM, STET_E_LIMIT, STET_E_IO.
 */
[[nodiscard]] int st_gitindex_has(const struct st_root *root, const char *dir,
                                  struct stet_error *err);

#endif
