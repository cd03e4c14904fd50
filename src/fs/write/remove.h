/**
 * Remove one version of a file, and no other version.
 *
 * As in a commit (fs/write/commit.h), the check happens with the removal: rename
 * the file to a temporary name, verify it, and rename it back if it is not the
 * expected version. Late writes to the removed file are rescued and reported.
 */
#ifndef STET_FS_WRITE_REMOVE_H
#define STET_FS_WRITE_REMOVE_H

#include "fs/write/commit.h"

/**
 * Remove a regular file.
 *
 * @commit  The path, which must not be a link, and the expected version, which
 *          must not be NULL; bytes are ignored.
 * @done    Receives the path, and in current the removed version, or on
 *          STET_E_CONFLICT the version that is there.
 * @return  Like st_commit().
 */
[[nodiscard]] int st_remove(const struct st_root *root, struct st_write_context *writes,
                            const struct st_commit *commit, struct st_committed *done,
                            struct stet_error *err);

/**
 * Remove a link, an empty directory, a pipe, a socket or a device.
 *
 * @return 0, STET_E_NOT_FOUND, STET_E_KIND (a regular file, or a directory that
 *         is not empty), STET_E_PROTECTED, STET_E_ACCESS, STET_E_IO.
 */
[[nodiscard]] int st_remove_plain(const struct st_place *place, const char *state_dir,
                                  struct stet_error *err);

#endif
