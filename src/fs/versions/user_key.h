/**
 * A secret of this user, by which stet knows what it wrote itself.
 *
 * 32 random bytes in `stet/key` below $XDG_STATE_HOME or ~/.local/state, made
 * when they are first needed. They prove nothing to others: a file in a
 * tree that carries a mark made with them was made by this user's stet, and
 * cannot have come with a clone or an archive. Where there is no such
 * directory, the key is this process's own: it knows its own work, not that of
 * processes before it.
 */
#ifndef STET_FS_VERSIONS_USER_KEY_H
#define STET_FS_VERSIONS_USER_KEY_H

#include "fs/file/hash.h"

/** How many hex digits a mark has. */
enum { ST_MARK = 16 };

/**
 * The mark of a text: 64 bits that nobody without the key can know.
 *
 * @return 0, STET_E_NOMEM, or STET_E_IO if there are no random numbers to be had.
 */
[[nodiscard]] int st_user_mark(struct st_str text, char mark[ST_MARK + 1], struct stet_error *err);

#endif
