/**
 * A change set: changes of several files (core/session/change.h) that are made
 * together or not at all.
 *
 * First every change is judged and made in memory, as a single change would be.
 * If one is refused or fails, no file is touched, and every outcome says what is
 * wrong with its file. Then each file is replaced by the safe commit. If another
 * process gets in between, what was written is taken back, each file only if it
 * still is what we wrote, and the whole set is judged again. A journal
 * (fs/write/journal.h) does the same if this process dies.
 *
 *     struct st_change changes[2] = {
 *             {.path = "a.c", .kind = ST_CHANGE_ANCHORED, .make = make, .context = &hunks},
 *             {.path = "old.c", .kind = ST_CHANGE_WHOLE, .remove = true},
 *     };
 *     struct st_change_outcome outcomes[2] = {0};
 *
 *     int code = st_change_set_apply(session, changes, 2, outcomes, err);
 *     for (size_t i = 0; i < 2; i++)
 *             render(&outcomes[i]);
 *     st_change_outcomes_release(outcomes, 2);
 *
 * A rename is a removal and a creation: two changes, in either order. No two
 * changes may lead to the same file. A change that creates a file (ST_CHANGE_WHOLE)
 * with `makes_dirs` makes its missing directories. `make` may be called several times.
 *
 * A set is a dry run if its first change is. In the log, the writes of a set
 * have the same session and the same time, which makes them one entry.
 */
#ifndef STET_CORE_SESSION_CHANGE_SET_H
#define STET_CORE_SESSION_CHANGE_SET_H

#include "core/session/change.h"

/** The most changes in a set. */
enum { ST_CHANGE_SET_MAX = 1000 };

/** The outcome of one change. Zeroed, it is empty. */
struct st_change_outcome {
	/** 0, STET_E_CONFLICT with the refusal in the answer, or another code of st_change_apply(). */
	int code;
	/** The message of that code. */
	struct stet_error why;
	/** As st_change_apply() fills it in; never NULL unless memory is short. */
	struct stet_answer *answer;
};

void st_change_outcomes_release(struct st_change_outcome *outcomes, size_t count);

/**
 * Apply a change set.
 *
 * @outcomes  One for each change, zeroed; filled in also after a failure. If all
 *            their codes are 0 and the set failed, the error says why.
 * @return    0; STET_E_CONFLICT if a change was refused; STET_E_INVALID (no
 *            change, too many, or two of the same file); the code of the first
 *            change that failed; STET_E_BUSY if others kept changing the files;
 *            the codes of st_journal_begin(). The message names the files.
 *            After an error nothing is changed, except what the message names.
 */
[[nodiscard]] int st_change_set_apply(struct stet_session *session, const struct st_change *changes,
                                      size_t count, struct st_change_outcome *outcomes,
                                      struct stet_error *err);

/**
 * Make a file executable or not. A filesystem may have no modes, and a file another
 * owner: then a notice says so. A file that is gone by now, or a link, is left alone.
 *
 * @path   Below the root, links resolved.
 * @return 0, STET_E_IO, or the codes of st_file_open().
 */
[[nodiscard]] int st_change_set_mode(struct st_write_context *writes, const char *path,
                                     enum st_change_mode mode, struct stet_error *err);

#endif
