/** Open directories below another directory without following symbolic links. */
#ifndef STET_FS_PATH_RELATIVE_PATH_H
#define STET_FS_PATH_RELATIVE_PATH_H

/**
 * Open a directory for reading.
 *
 * @path   Relative to base, shorter than PATH_MAX, without "..". The function
 *         writes NULs into it and restores it before it returns.
 * @return A descriptor, or -1 with errno.
 */
int st_open_relative(int base, char *path);

/** Like st_open_relative() for a path of any length; "" is the base itself. */
int st_open_far_relative(int base, char *path);

#endif
