/** Instructions (AGENTS.md) that go with an answer. */
#ifndef STET_TOOLS_INSTRUCTIONS_H
#define STET_TOOLS_INSTRUCTIONS_H

#include "tools/render.h"

/**
 * Add the instructions that newly apply to a file. Where nothing is remembered
 * from call to call, all that apply are listed instead, by path and hash.
 *
 * @path   Below the root, without links.
 * @shown  The hash of a text that the answer shows anyway; may be NULL.
 * @max    No more bytes, and no more than the answer has room for; what is left
 *         comes with the next answers.
 *
 * Without memory they come with a later answer; what else goes wrong is a
 * remark. The answer itself does not depend on them.
 */
void st_call_instruct(struct st_call *call, const char *path, const struct st_hash *in_answer,
                      size_t max);

/** Go on with instructions that were too long for the answer before. */
void st_call_instruct_rest(struct st_call *call);

/**
 * The root's instructions come with an agent's first answer, whatever that is
 * about. If they cannot, they come with the next.
 */
void st_call_greet(struct st_call *call);

/**
 * Append the instructions of the roots, for a client that gives them to its
 * model at the start and keeps them there: they count as given, for good.
 */
void st_client_instruct(struct stet_client *agent, struct st_buf *out);

#endif
