/** Giving a file or directory another name below the root, never over something that is there. */
#ifndef STET_FS_MOVE_H
#define STET_FS_MOVE_H

#include "fs/root.h"

/** What was moved where, as paths below the root. */
struct st_moved {
	char *from;
	char *to;
	bool is_dir;
};

void st_moved_release(struct st_moved *moved);

/**
 * Move. A link is moved itself. Nothing is copied.
 *
 * @state_dir  Neither path may lie in it, or in .git.
 * @relaxed    Do not wait for the disk.
 * @return     0, STET_E_NOT_FOUND, STET_E_EXISTS, STET_E_INVALID (into itself, or to
 *             another filesystem), STET_E_KIND (the root), STET_E_PROTECTED, the codes of
 *             st_root_locate(), STET_E_ACCESS, STET_E_NO_SPACE, STET_E_IO.
 */
[[nodiscard]] int st_move(const struct st_root *root, struct st_str from, struct st_str to,
                          const char *state_dir, bool relaxed, struct st_moved *moved,
                          struct stet_error *err);

#endif
