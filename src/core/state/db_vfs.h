/**
 * An SQLite VFS that can reach only one database in one directory.
 *
 * SQLite obeys its journal, and a journal may name another file to be removed (a
 * super-journal). So stet opens the database through its own VFS. That knows only
 * four names, `stet.db` and the files SQLite puts beside it, in a directory given
 * by its descriptor, even if the directory is renamed. It opens them only if they
 * are regular files of this user with one hard link.
 *
 * Only this header includes SQLite's.
 */
#ifndef STET_CORE_STATE_DB_VFS_H
#define STET_CORE_STATE_DB_VFS_H

#include <sqlite3.h>

/** The size of a path in this VFS. */
enum { ST_DB_PATH_SIZE = 64 };

/**
 * Register the VFS with SQLite, once.
 *
 * @return Its name for sqlite3_open_v2(); NULL if that failed.
 */
const char *st_db_vfs(void);

/**
 * Get the path of a directory's database. All connections of a process to one
 * directory must use the same path, and so the same descriptor: SQLite shares
 * files between them, and removes these by the path of the first connection.
 *
 * @return 0, or -1 with errno.
 */
[[nodiscard]] int st_db_vfs_acquire(int dirfd, char path[ST_DB_PATH_SIZE]);

/** Release a path after the connection is closed. */
void st_db_vfs_release(const char *path);

#endif
