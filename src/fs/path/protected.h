/**
 * Names that belong to git and to stet: no tool writes, moves or removes
 * anything in `.git` or in a state directory, at any depth.
 *
 * Every component of a path counts, because a nested workspace has a state
 * directory of its own. And a filesystem may accept several spellings of one
 * name: ext4 can fold case, normalise Unicode and ignore invisible characters;
 * FAT ignores dots and spaces at the end and has short names; NTFS and SMB take
 * a backslash for a separator and ignore a stream behind a colon. So these
 * functions treat every spelling that some filesystem accepts as the name.
 */
#ifndef STET_FS_PATH_PROTECTED_H
#define STET_FS_PATH_PROTECTED_H

#include <stdbool.h>

/** The name of the state directory, unless configured otherwise. */
#define ST_STATE_DIR ".stet"

/**
 * Whether a path leads to or through `.git`, `.stet` or the configured state
 * directory. The latter counts at any depth if its name begins with a dot,
 * otherwise only directly below the root: `src/state` may well be a directory
 * of the project.
 *
 * @path       Relative to the root, without links, "." and "..".
 * @state_dir  The configured name.
 */
bool st_path_is_protected(const char *path, const char *state_dir);

/** Whether a single name is a spelling of a state directory's name. */
bool st_name_is_state_dir(const char *name, const char *state_dir);

#endif
