/**
 * Rewriting a file in place: for hard links, for metadata that a new file
 * cannot be given, for a directory that cannot be written, for mount points.
 *
 * Readers can see half of it, and so does a crash of the machine; the old
 * bytes are kept beside until the new ones are complete (fs/versions/rescued.h).
 */
#ifndef STET_FS_WRITE_IN_PLACE_H
#define STET_FS_WRITE_IN_PLACE_H

#include "fs/write/commit_attempt.h"

/**
 * Rewrite the file, if it is still the expected version.
 *
 * @return 0, ST_ATTEMPT_AGAIN, or a code as st_commit() has them. If what the file
 *         held could not be put back after a failure, the error says so.
 */
[[nodiscard]] int st_in_place(struct st_commit_attempt *attempt, struct stet_error *err);

#endif
