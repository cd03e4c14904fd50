/**
 * Lines that a change removes although the caller neither named their text nor
 * was sent them: text_patch names line numbers, undo names nothing at all.
 */
#ifndef STET_CORE_SESSION_UNSENT_H
#define STET_CORE_SESSION_UNSENT_H

#include "core/session/refusal.h"
#include "text/diff/diff.h"

/**
 * Name the lines that a change from `old` to `new` removes unsent, as "3-5, 9".
 *
 * @seen   What the session has seen of `old`; NULL for nothing.
 * @return How many they are.
 */
size_t st_unsent_find(const struct st_change *change, const struct st_seen *seen, struct st_str old,
                      struct st_str new, struct st_buf *names);

/** The same question about the current version, for which the new contents were made. */
struct st_verdict st_unsent_judge(const struct st_change_attempt *attempt);

/**
 * Show the removed lines as a diff and count them as seen, so that the same call
 * succeeds next time. Lines that do not fit into the answer are named instead.
 */
[[nodiscard]] int st_unsent_show(const struct st_change_attempt *attempt, struct stet_error *err);

#endif
