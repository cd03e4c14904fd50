/** Attach instructions (AGENTS.md) to answers. */
#ifndef STET_TOOLS_INSTRUCTIONS_H
#define STET_TOOLS_INSTRUCTIONS_H

#include "tools/render.h"

/**
 * Attach the instructions that newly apply to a file. A stateless client, whose
 * earlier answers stet does not know, gets a list of their paths and hashes.
 *
 * @path       Below the root, without links.
 * @in_answer  The hash of a file that the answer shows in full anyway; may be NULL.
 * @max        The most bytes to attach, if the answer has room for them. The
 *             rest comes with the next answers.
 *
 * Never fails: if memory runs out, a later answer attaches them; other errors
 * become a remark.
 */
void st_call_instruct(struct st_call *call, const char *path, const struct st_hash *in_answer,
                      size_t max);

/** Attach the rest of instructions that were too long for an earlier answer. */
void st_call_instruct_rest(struct st_call *call);

/**
 * Attach the root's instructions to a session's first answer, whatever the call
 * is about; if they do not fit, to the next.
 */
void st_call_instruct_roots(struct st_call *call);

/**
 * Append the instructions of all roots, for clients that show them to their
 * model from the start. They count as delivered for good.
 */
void st_client_instruct(struct stet_client *client, struct st_buf *out);

#endif
