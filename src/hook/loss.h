/**
 * Whether a tool's write lost changes of others.
 *
 * The lines of four texts are counted: those that the session had seen, those
 * that the tool makes of them, the version that the tool replaced, and those
 * that the file has now. The fourth must have each change of others between the
 * first and the third. The places of lines do not count: others may go on
 * writing.
 */
#ifndef STET_HOOK_LOSS_H
#define STET_HOOK_LOSS_H

#include "base/str.h"

struct st_hook_texts {
	struct st_str seen, made, replaced, now;
};

/** Whether `replaced` has the tool's change already: then it is not what the tool replaced. */
bool st_hook_has_change(const struct st_hook_texts *texts);

/** Whether changes of others in `replaced` are missing from `now`. */
bool st_hook_loses(const struct st_hook_texts *texts);

#endif
