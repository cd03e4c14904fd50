/** Giving a session the instructions that apply; the contract is in stet/instructions.h. */
#ifndef STET_CORE_SESSION_DELIVER_H
#define STET_CORE_SESSION_DELIVER_H

#include "core/session/session.h"

/**
 * Give a session what applies to a path and is new to it.
 *
 * @flags  Of enum st_instructions_flags.
 * @max    No more bytes in this delivery; 0 for the workspace's budget alone.
 * @shown  The hash of a text that the same answer shows in full; may be NULL.
 * @out    Receives the list, to be freed.
 * @return 0 or the codes of st_instructions_chain_build().
 */
[[nodiscard]] int st_instructions_deliver(struct stet_session *session, const char *path,
                                          unsigned flags, size_t max,
                                          const struct st_hash *in_answer,
                                          struct stet_instructions **out, struct stet_error *err);

/** The same, with NULL for an empty list where there are no instructions. */
[[nodiscard]] int st_instructions_deliver_new(struct stet_session *session, const char *path,
                                              unsigned flags, size_t max,
                                              const struct st_hash *in_answer,
                                              struct stet_instructions **out,
                                              struct stet_error *err);

#endif
