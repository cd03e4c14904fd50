/** Giving a session the instructions that apply; the contract is in stet/agents.h. */
#ifndef STET_CORE_AGENTS_H
#define STET_CORE_AGENTS_H

#include "core/session.h"

/**
 * Give a session what applies to a path and is new to it.
 *
 * @flags  Of enum st_agents_flags.
 * @max    No more bytes in this delivery; 0 for the workspace's budget alone.
 * @shown  The hash of a text that the same answer shows in full; may be NULL.
 * @out    Receives the list, to be freed.
 * @return 0 or the codes of st_agents_chain_build().
 */
[[nodiscard]] int st_agents_deliver(struct stet_session *session, const char *path, unsigned flags,
                                    size_t max, const struct st_hash *shown,
                                    struct stet_agents **out, struct stet_error *err);

/** The same, with NULL for an empty list where there are no instructions. */
[[nodiscard]] int st_agents_deliver_new(struct stet_session *session, const char *path,
                                        unsigned flags, size_t max, const struct st_hash *shown,
                                        struct stet_agents **out, struct stet_error *err);

#endif
