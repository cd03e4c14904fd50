/**
 * The files of a database, looked at before SQLite sees them.
 *
 * What lies in a state directory may have come from anywhere. SQLite plays
 * back whatever journal it finds, waits for a FIFO, and writes to a file through
 * any of its names. So what is not a journal that stet could have left is set
 * aside, and files with another hard link are replaced by copies.
 */
#ifndef STET_CORE_STATE_DB_FILES_H
#define STET_CORE_STATE_DB_FILES_H

#include <sys/stat.h>

#include "base/error.h"

/** The database's name in the state directory. */
#define ST_STORE_NAME "stet.db"

/** More than the store ever makes of it (core/state/store.h), so that such a file is not ours. */
#define ST_DB_FILE_MAX ((int64_t)1 << 30)

/** Whether it is a regular file of this user with no other name. */
bool st_db_file_is_own(const struct stat *st);

/**
 * Rename what is not ours to NAME.foreign-1, and so on, out of SQLite's way.
 *
 * @aside  Receives the new name.
 * @return 0 or STET_E_ACCESS.
 */
[[nodiscard]] int st_db_set_aside(int dirfd, const char *name, char aside[64],
                                  struct stet_error *err);

/** What st_db_files_tidy() did. */
struct st_db_tidied {
	/** The name under which something was set aside; empty if nothing was. */
	char aside[64];
	/** Why, as the rest of a sentence: "names a file to be removed". */
	const char *why;
};

/**
 * Make the files of the database safe to open. The caller holds the lock of
 * the state directory.
 *
 * @tidied  Receives the last file that was set aside.
 * @return  0, STET_E_ACCESS (the database itself is no file to be used, or
 *          something cannot be set aside), STET_E_NO_SPACE, STET_E_NOMEM,
 *          STET_E_LIMIT, STET_E_IO.
 */
[[nodiscard]] int st_db_files_tidy(int dirfd, struct st_db_tidied *tidied, struct stet_error *err);

/**
 * Look without touching: why what lies beside the database would be set aside.
 *
 * @return NULL, or the rest of a sentence; `name` then holds the name of the file.
 */
const char *st_db_files_find(int dirfd, char name[32]);

#endif
