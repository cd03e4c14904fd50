/** Move a file or directory within a root or to another one, never over an existing file. */
#ifndef STET_FS_WRITE_MOVE_H
#define STET_FS_WRITE_MOVE_H

#include "fs/path/root.h"

/** One end of a move: a path in a root. It may not lie in the state directory. */
struct st_move_end {
	const struct st_root *root;
	const char *state_dir;
	struct st_str path;
};

/** The result of a move. Paths are relative to their roots. */
struct st_moved {
	char *from;
	char *to;
	bool is_dir;
	/**
	 * The name of the filesystem, if others may write to it unseen
	 * (fs/path/filesystem.h) and a file that they put there may be lost; else NULL.
	 */
	const char *unproven;
	/** On failure: this is a regular file, and the target is on another filesystem. */
	bool crosses;
};

void st_moved_release(struct st_moved *moved);

/**
 * Move a file or directory by renaming it. Moves a link itself, not its target.
 *
 * @relaxed    Do not wait for the disk.
 * @moved      Receives the paths.
 * @return     0, STET_E_NOT_FOUND, STET_E_EXISTS, STET_E_INVALID (into itself, or
 *             to another filesystem), STET_E_KIND (the root), STET_E_PROTECTED, the codes of
 *             st_root_locate(), STET_E_ACCESS, STET_E_NO_SPACE, STET_E_IO.
 */
[[nodiscard]] int st_move(const struct st_move_end *from, const struct st_move_end *to,
                          bool relaxed, struct st_moved *moved, struct stet_error *err);

#endif
