/** A run of writes, undone or redone; see core/state/run.h. */
#ifndef STET_TOOLS_STATE_UNDO_RUN_H
#define STET_TOOLS_STATE_UNDO_RUN_H

#include "tools/tool.h"

/**
 * Undo the writes that the arguments of, story, since, id and path name; with
 * redo bring them back, with dryRun only show what would change.
 *
 * A session that did not make all of these writes is refused once, with the
 * preview.
 *
 * @return 0; STET_E_CONFLICT with the refusal; STET_E_NOT_FOUND, STET_E_INVALID;
 *         or as st_run_find().
 */
[[nodiscard]] int st_undo_run(struct st_call *call, struct stet_error *err);

/** Whether the last write, which a call without arguments undoes, is one of a change set. */
bool st_undo_is_of_set(struct st_call *call);

#endif
