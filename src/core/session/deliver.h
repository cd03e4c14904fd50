/** Deliver to a session the instructions that apply to a path, as stet/instructions.h describes. */
#ifndef STET_CORE_SESSION_DELIVER_H
#define STET_CORE_SESSION_DELIVER_H

#include "core/session/session.h"

/**
 * Deliver the instructions that apply to a path and that the session has not
 * received yet.
 *
 * @flags  Of enum st_instructions_flags.
 * @max    The most bytes of this delivery; 0 for the workspace's budget alone.
 * @in_answer  The hash of a text that the same answer contains in full; may be NULL.
 * @out    Receives the list, to be freed.
 * @return 0 or the codes of st_instructions_chain_build().
 */
[[nodiscard]] int st_instructions_deliver(struct stet_session *session, const char *path,
                                          unsigned flags, size_t max,
                                          const struct st_hash *in_answer,
                                          struct stet_instructions **out, struct stet_error *err);

/** The same, but the list may be NULL if it would be empty. */
[[nodiscard]] int st_instructions_deliver_new(struct stet_session *session, const char *path,
                                              unsigned flags, size_t max,
                                              const struct st_hash *in_answer,
                                              struct stet_instructions **out,
                                              struct stet_error *err);

#endif
