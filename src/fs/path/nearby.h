/**
 * "Did you mean ...?" for a path that does not exist.
 *
 * One component of the path may be misspelt. A suggestion always exists.
 * Finding one lists a directory: call this for paths that a user or model
 * wrote, not for paths that the program tries.
 */
#ifndef STET_FS_PATH_NEARBY_H
#define STET_FS_PATH_NEARBY_H

#include "fs/path/root.h"

/**
 * Add a suggestion to the message of an error STET_E_NOT_FOUND. The message
 * stays as it is if no name is similar.
 *
 * @path       As the caller got it.
 * @state_dir  The name of the state directory: neither its files nor those
 *             of .git are suggested.
 * @err        If NULL, the function does nothing.
 */
void st_nearby_suggest(const struct st_root *root, const char *path, const char *state_dir,
                       struct stet_error *err);

#endif
