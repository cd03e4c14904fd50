/**
 * Names that belong to git and to stet: no tool writes, moves or removes
 * anything in `.git` or in a state directory, at any depth.
 *
 * A nested workspace has a state directory of its own, so that the first
 * component of a path is not enough. And a filesystem may know one directory by
 * several names: ext4 can fold case, normalise and drop invisible characters,
 * FAT drops dots and spaces at the end and has short names. So every spelling
 * counts that some filesystem takes for the name.
 */
#ifndef STET_FS_PATH_PROTECTED_H
#define STET_FS_PATH_PROTECTED_H

#include <stdbool.h>

/** The name of the state directory, unless configured otherwise. */
#define ST_STATE_DIR ".stet"

/**
 * Whether a path below the root leads to or through `.git`, `.stet` or the
 * configured state directory. The latter counts at any depth if its name
 * begins with a dot, otherwise only directly below the root, since `src/state`
 * may well be a directory of the project.
 *
 * @path       A place's path: no links, no "." or "..".
 * @state_dir  The configured name.
 */
bool st_path_is_protected(const char *path, const char *state_dir);

/** Whether a single name is one of the state directory, in any spelling. */
bool st_name_is_state_dir(const char *name, const char *state_dir);

#endif
