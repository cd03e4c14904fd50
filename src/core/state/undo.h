/** Undo a write, also for a caller that may only remove what it was sent. */
#ifndef STET_CORE_STATE_UNDO_H
#define STET_CORE_STATE_UNDO_H

#include "core/session/session.h"

struct st_undo_how {
	/** The caller need not have seen the lines that the undo removes. */
	bool hash_proves;
	/** The caller drops the answer, so a diff in it does not count as seen. */
	bool unshown;
};

/**
 * As stet_undo().
 *
 * @answer  Receives path, hash and, as its diff, what the undo changed; or the refusal.
 */
[[nodiscard]] int st_undo_write(struct stet_session *session, const char *path,
                                const struct st_undo_how *how, struct stet_answer *answer,
                                struct stet_error *err);

/**
 * Make the missing directories of a file that is to come back.
 *
 * @path   Below the root, as it was without links.
 * @return 0, STET_E_KIND (a file or link has the name of one now), or the codes of st_dir_make().
 */
[[nodiscard]] int st_undo_make_dirs(struct stet_workspace *ws, const char *path,
                                    struct stet_error *err);

#endif
