/** Delete a directory with everything in it. */
#ifndef STET_TOOLS_FILES_DELETE_TREE_H
#define STET_TOOLS_FILES_DELETE_TREE_H

#include "fs/path/root.h"
#include "tools/tool.h"

/**
 * Delete a directory if the session has seen the current version of every file
 * in full, which deleting a single file requires too.
 *
 * Checks all files before it deletes the first. It deletes each as delete_file
 * does: only the version that was seen, and undo restores it.
 *
 * @place  The directory.
 * @count  Receives the number of deleted files.
 * @return 0; STET_E_CONFLICT with call->failure (a file was not read, or changed),
 *         STET_E_PROTECTED, STET_E_LIMIT (too many files), and the codes of st_change_apply().
 */
[[nodiscard]] int st_delete_tree(struct st_call *call, const struct st_place *place, size_t *count,
                                 struct stet_error *err);

#endif
