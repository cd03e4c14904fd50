/**
 * A change that was judged and made in memory, but not written: the first half
 * of st_change_apply(), for changes that are written together
 * (core/session/change_set.h).
 *
 *     st_auto(st_prepared) prepared = ST_PREPARED_INIT;
 *     st_auto(st_committed) done = ST_COMMITTED_INIT;
 *
 *     int code = st_prepare(session, &change, answer, &prepared, err);
 *     if (code == 0)
 *             code = st_prepared_write(&prepared, &done, err);
 *     if (code == 0)
 *             st_prepared_remember(&prepared, &done);
 */
#ifndef STET_CORE_SESSION_PREPARED_H
#define STET_CORE_SESSION_PREPARED_H

#include "core/session/refusal.h"
#include "fs/write/commit.h"

/** Points into itself: it must not be copied. */
struct st_prepared {
	struct st_place place;
	struct st_file file;
	struct st_buf new;
	/** The change, and the file and the new contents above. */
	struct st_change_attempt attempt;
};

#define ST_PREPARED_INIT \
	{ .place = ST_PLACE_INIT, .file = ST_FILE_INIT, .new = ST_BUF_INIT }

void st_prepared_release(struct st_prepared *prepared);

/**
 * Find the file, judge the change, make the new contents and check them.
 *
 * @prepared  Initialised; borrows the change and the answer.
 * @return    0, STET_E_CONFLICT with the refusal in the answer, or the codes of
 *            make and st_file_load().
 */
[[nodiscard]] int st_prepare(struct stet_session *session, const struct st_change *change,
                             struct stet_answer *answer, struct st_prepared *prepared,
                             struct stet_error *err);

/** Fill in the answer of a dry run. Returns 0 or STET_E_NOMEM. */
[[nodiscard]] int st_prepared_show(const struct st_prepared *prepared, struct stet_error *err);

/** Replace, create or remove the file; the session does not know of it yet. Returns like st_commit(). */
[[nodiscard]] int st_prepared_write(const struct st_prepared *prepared, struct st_committed *done,
                                    struct stet_error *err);

/** Record what the session has seen now, report the event, and fill in the answer. Takes done->path. */
void st_prepared_remember(const struct st_prepared *prepared, struct st_committed *done);

#endif
