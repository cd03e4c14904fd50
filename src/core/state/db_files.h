/**
 * Checks of the database's files before SQLite opens them.
 *
 * The files in a state directory are not trusted. SQLite plays back any journal
 * it finds, blocks on a FIFO, and writes to a file that has other hard links. So
 * stet renames every journal that it could not have written itself, and replaces
 * files with other hard links by copies.
 */
#ifndef STET_CORE_STATE_DB_FILES_H
#define STET_CORE_STATE_DB_FILES_H

#include <sys/stat.h>

#include "base/error.h"

/** The database's name in the state directory. */
#define ST_STORE_NAME "stet.db"

/** A larger file is not ours: the store limits itself to less (core/state/store.h). */
#define ST_DB_FILE_MAX ((int64_t)1 << 30)

/** Whether it is a regular file of this user without other hard links. */
bool st_db_file_is_own(const struct stat *st);

/**
 * Rename a file that is not ours to NAME.foreign-1, and so on.
 *
 * @aside  Receives the new name.
 * @return 0 or STET_E_ACCESS.
 */
[[nodiscard]] int st_db_set_aside(int dirfd, const char *name, char aside[64],
                                  struct stet_error *err);

/** The result of st_db_files_tidy(). */
struct st_db_tidied {
	/** The new name of the file that it renamed last; empty if it renamed none. */
	char aside[64];
	/** Why, as the rest of a sentence: "names a file to be removed". */
	const char *why;
};

/**
 * Make the files of the database safe to open. The caller must hold the lock of
 * the state directory.
 *
 * @return  0, STET_E_ACCESS (the database is not a file that stet may use, or a
 *          file cannot be renamed), STET_E_NO_SPACE, STET_E_NOMEM, STET_E_LIMIT,
 *          STET_E_IO.
 */
[[nodiscard]] int st_db_files_tidy(int dirfd, struct st_db_tidied *tidied, struct stet_error *err);

/**
 * Find a file that st_db_files_tidy() would rename.
 *
 * @return NULL, or why, as the rest of a sentence that begins with `name`.
 */
const char *st_db_files_find(int dirfd, char name[32]);

#endif
