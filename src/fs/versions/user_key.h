/**
 * A secret key of this user, by which stet recognises files that it wrote itself.
 *
 * The key is 32 random bytes in `stet/key` below $XDG_STATE_HOME or
 * ~/.local/state, made on first use. A file whose name carries a mark made with
 * the key was written by this user's stet; it cannot have come with a clone or
 * an archive. If there is no such directory, each process makes a key of its
 * own and recognises only its own files.
 */
#ifndef STET_FS_VERSIONS_USER_KEY_H
#define STET_FS_VERSIONS_USER_KEY_H

#include "fs/file/hash.h"

/** The number of hex digits in a mark. */
enum { ST_MARK = 16 };

/**
 * The mark of a text: 64 bits that cannot be computed without the key.
 *
 * @return 0, STET_E_NOMEM, or STET_E_IO if no random numbers are available.
 */
[[nodiscard]] int st_user_mark(struct st_str text, char mark[ST_MARK + 1], struct stet_error *err);

#endif
