/** Deleting a directory with everything in it. */
#ifndef STET_TOOLS_FILES_DELETE_TREE_H
#define STET_TOOLS_FILES_DELETE_TREE_H

#include "fs/path/root.h"
#include "tools/tool.h"

/**
 * Delete a directory whose every file was seen in full, as one file has to be.
 *
 * All files are checked before the first goes. Each is then removed as
 * delete_file removes one: no other version than the one that was seen, and
 * undo brings it back.
 *
 * @place  The directory.
 * @count  Receives how many files were deleted.
 * @return 0; STET_E_CONFLICT with call->failure (a file was not read, or changed),
 *         STET_E_PROTECTED, STET_E_LIMIT (too many files), and the codes of st_change_apply().
 */
[[nodiscard]] int st_delete_tree(struct st_call *call, const struct st_place *place, size_t *count,
                                 struct stet_error *err);

#endif
