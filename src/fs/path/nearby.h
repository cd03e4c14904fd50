/**
 * What a path that leads nowhere was probably meant to be.
 *
 * One name in it may be misspelt, that of the file or of a directory on the
 * way; what is suggested is there. Looking for it lists a directory, so this
 * is for paths that somebody typed, not for those that are tried.
 */
#ifndef STET_FS_PATH_NEARBY_H
#define STET_FS_PATH_NEARBY_H

#include "fs/path/root.h"

/**
 * Put a suggestion into the message of a failure with STET_E_NOT_FOUND; without
 * one the message stays what it is.
 *
 * @path       As it was given.
 * @state_dir  Of this directory nothing is suggested, nor of .git.
 * @err        May be NULL, which is nothing to do.
 */
void st_nearby_suggest(const struct st_root *root, const char *path, const char *state_dir,
                       struct stet_error *err);

#endif
