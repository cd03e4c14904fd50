/**
 * Which files may be sent to a model as instructions.
 *
 * A repository says what is sent: by its AGENTS.md, by links, by imports. So
 * nothing is sent that its user would not expect in a prompt: no file that
 * others can write, none that came with code of others, and by import only
 * Markdown and text that git does not ignore. A `.env` or a key is neither.
 */
#ifndef STET_CORE_AGENTS_TRUST_H
#define STET_CORE_AGENTS_TRUST_H

#include "core/agents_look.h"

/**
 * Judge a regular file that exists.
 *
 * @place     Where it really is.
 * @imported  Whether another file, or a link, named it: its own name does not
 *            make it an instruction file.
 * @why       Receives the end of a sentence that begins with the file's name,
 *            if it may not be sent.
 * @return    1 if it may be sent, 0 if not, or STET_E_NOMEM.
 */
[[nodiscard]] int st_agents_trusted(const struct st_agents_setup *setup, const struct st_root *root,
                                    const struct st_place *place, bool imported,
                                    struct st_buf *why, struct stet_error *err);

#endif
