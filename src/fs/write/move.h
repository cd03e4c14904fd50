/** Giving a file or directory another name, below its root or another, never over something that is there. */
#ifndef STET_FS_WRITE_MOVE_H
#define STET_FS_WRITE_MOVE_H

#include "fs/path/root.h"

/** A root to move from or to, and its state directory, which no path may lie in. */
struct st_move_end {
	const struct st_root *root;
	const char *state_dir;
	struct st_str path;
};

/** What was moved where, as paths below their roots. */
struct st_moved {
	char *from;
	char *to;
	bool is_dir;
	/** The filesystem, if a file that others put there below the mount (fs/path/trust.h) may be lost; else NULL. */
	const char *unproven;
	/** On failure: they are on different filesystems, and what is to be moved is a regular file. */
	bool crosses;
};

void st_moved_release(struct st_moved *moved);

/**
 * Move. A link is moved itself. Nothing is copied.
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
