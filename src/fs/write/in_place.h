/**
 * Rewrite a file in place, where a commit cannot replace it: hard links, mount
 * points, metadata that this user cannot copy, directories that this user may
 * not write.
 *
 * Readers may see a part of the new bytes, and a crash may leave a part. So a
 * safety copy of the old bytes exists until the new ones are complete
 * (fs/versions/rescued.h).
 */
#ifndef STET_FS_WRITE_IN_PLACE_H
#define STET_FS_WRITE_IN_PLACE_H

#include "fs/write/commit_attempt.h"

/**
 * Rewrite the file, if it is still the expected version.
 *
 * @return 0, ST_ATTEMPT_AGAIN, or a code of st_commit(). If the write failed and
 *         the old bytes could not be restored, the error says so.
 */
[[nodiscard]] int st_in_place(struct st_commit_attempt *attempt, struct stet_error *err);

#endif
