/**
 * SQLite's way to the disk, narrowed to one database in one directory.
 *
 * SQLite does what a journal says, and a journal may name a file to be removed
 * (a super-journal). So the database is opened through a VFS of ours that knows
 * four names, `stet.db` and what SQLite puts beside it, in a directory that is
 * given by its descriptor: nothing else exists for it, whatever a file says, and
 * whatever is renamed meanwhile. Each of the four has to be a regular file of
 * this user with one link, or it is not opened.
 *
 * The only header that includes SQLite's.
 */
#ifndef STET_CORE_STATE_DB_VFS_H
#define STET_CORE_STATE_DB_VFS_H

#include <sqlite3.h>

/** The path by which the VFS knows the database of a directory. */
enum { ST_DB_PATH_SIZE = 64 };

/**
 * Make the VFS known to SQLite, once.
 *
 * @return Its name for sqlite3_open_v2(); NULL if SQLite has no memory.
 */
const char *st_db_vfs(void);

/**
 * Take the path of a directory's database. All connections of a process to
 * one directory have the same path, by the same descriptor: SQLite shares
 * between them what it opened by the path of the first, and removes it by that
 * path after the last.
 *
 * @return 0, or -1 with errno.
 */
[[nodiscard]] int st_db_vfs_take(int dirfd, char path[ST_DB_PATH_SIZE]);

/** Give a path back that was taken, when the connection is closed. */
void st_db_vfs_give_back(const char *path);

#endif
