/** Opening directories below another one without following a link. */
#ifndef STET_FS_PATH_RELATIVE_PATH_H
#define STET_FS_PATH_RELATIVE_PATH_H

/**
 * Open a directory for reading.
 *
 * @path   Relative to base, shorter than PATH_MAX, without "..". Written to
 *         meanwhile, and restored.
 * @return A descriptor, or -1 with errno.
 */
int st_open_relative(int base, char *path);

/** As st_open_relative() for a path of any length; "" is the base itself. */
int st_open_far_relative(int base, char *path);

#endif
