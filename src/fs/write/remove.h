/**
 * The safe removal: a version of a file goes, and no other version.
 *
 * As with a commit (fs/write/commit.h) the check is made at the removal: the file is
 * given another name, then looked at, and if it is not the version that was
 * expected it gets its name back. Readers find the file or none. What
 * somebody still writes to it afterwards is kept and reported.
 */
#ifndef STET_FS_WRITE_REMOVE_H
#define STET_FS_WRITE_REMOVE_H

#include "fs/write/commit.h"

/**
 * Remove a regular file.
 *
 * @commit  Its path, which must not be a link's, and the expected version; bytes are not looked at.
 * @done    Receives path and, in current, what was removed or on STET_E_CONFLICT what is there.
 * @return  As st_commit().
 */
[[nodiscard]] int st_remove(const struct st_root *root, struct st_write_context *writes,
                            const struct st_commit *commit, struct st_committed *done,
                            struct stet_error *err);

/**
 * Remove what holds no bytes of its own: a link, an empty directory, a pipe.
 *
 * @return 0, STET_E_NOT_FOUND, STET_E_KIND (a regular file, or a directory that
 *         is not empty), STET_E_PROTECTED, STET_E_ACCESS, STET_E_IO.
 */
[[nodiscard]] int st_remove_plain(const struct st_place *place, const char *state_dir,
                                  struct stet_error *err);

#endif
