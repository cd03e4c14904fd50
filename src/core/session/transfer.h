/**
 * Copy a file, or move it from one workspace to another.
 *
 * The new file is created by fs/write/commit.h: it appears whole, and never
 * replaces an existing file. The lines that the session has seen of the
 * original count as seen in the copy.
 */
#ifndef STET_CORE_SESSION_TRANSFER_H
#define STET_CORE_SESSION_TRANSFER_H

#include "core/session/session.h"

/** The result: both paths below their roots, links resolved, and the version. */
struct st_transferred {
	char *from;
	char *to;
	struct st_hash hash;
	/** As in st_committed, for the removal; NULL for a copy. */
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
 * Move a regular file where rename() cannot: copy it, then remove exactly the
 * version that was copied. If the source has changed by then, remove the copy.
 *
 * @return As st_transfer_copy(), or STET_E_BUSY.
 */
[[nodiscard]] int st_transfer_move(struct stet_session *from, const char *source,
                                   struct stet_session *to, const char *destination,
                                   struct st_transferred *done, struct stet_error *err);

/** Move the session's record of a file that was renamed from one workspace to another. */
void st_transfer_follow(struct stet_session *from, const char *source, struct stet_session *to,
                        const char *destination);

#endif
