/**
 * A file in another place: copied, or moved from one workspace to another.
 *
 * The bytes are read once, and the new file is made as every file is
 * (fs/write/commit.h): it appears whole, and never over something that is there. What
 * the session saw of the file it has seen of the copy.
 */
#ifndef STET_CORE_SESSION_TRANSFER_H
#define STET_CORE_SESSION_TRANSFER_H

#include "core/session/session.h"

/** Both paths below their roots, links resolved, and the version. */
struct st_transferred {
	char *from;
	char *to;
	struct st_hash hash;
	/** As in st_committed, of the removal; NULL of a copy. */
	const char *unproven;
};

void st_transferred_release(struct st_transferred *done);

/**
 * Copy a regular file with its mode; a link is followed.
 *
 * @from, @to  The sessions of the two workspaces; may be the same.
 * @return     0, STET_E_EXISTS, STET_E_NOT_FOUND, STET_E_KIND, STET_E_PROTECTED, the
 *             codes of st_file_load() and st_commit().
 */
[[nodiscard]] int st_transfer_copy(struct stet_session *from, const char *source,
                                   struct stet_session *to, const char *destination,
                                   struct st_transferred *done, struct stet_error *err);

/**
 * Move a regular file where it cannot be renamed: copy it, then remove exactly
 * the version that was copied. If that is gone or another by then, the copy
 * is taken back and the source stays.
 *
 * @return As st_transfer_copy(), or STET_E_BUSY.
 */
[[nodiscard]] int st_transfer_move(struct stet_session *from, const char *source,
                                   struct stet_session *to, const char *destination,
                                   struct st_transferred *done, struct stet_error *err);

/** The file has moved by a rename from one workspace to another: what was seen of it goes along. */
void st_transfer_follow(struct stet_session *from, const char *source, struct stet_session *to,
                        const char *destination);

#endif
