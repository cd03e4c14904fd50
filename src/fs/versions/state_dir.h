/**
 * The state directory: `.stet/` below the root, where stet keeps what must
 * outlive a process.
 *
 * It holds copies of files and is read back with trust, so it has to be a
 * real directory of this user that nobody else may enter, and must not have
 * come with the repository. Otherwise it is not used, and the error says why.
 */
#ifndef STET_FS_VERSIONS_STATE_DIR_H
#define STET_FS_VERSIONS_STATE_DIR_H

#include <pthread.h>
#include <stdint.h>

#include "fs/path/protected.h"
#include "fs/path/root.h"

/** Whether a text can be the name of a state directory: one name, and no spelling of .git. */
bool st_state_is_name(const char *name);

/** Refuse one that cannot. Returns STET_E_INVALID. */
int st_state_fail_name(const char *name, struct stet_error *err);

/**
 * Open the state directory, making it if it is missing.
 *
 * A new one ignores itself for git.
 *
 * @name   A single name below the root.
 * @return A descriptor, or STET_E_ACCESS (not to be trusted, or not to be
 *         made), STET_E_NO_SPACE, STET_E_LIMIT, STET_E_NOMEM, STET_E_IO.
 */
[[nodiscard]] int st_state_open(const struct st_root *root, const char *name,
                                struct stet_error *err);

/** As st_state_open(), but STET_E_NOT_FOUND if it is missing. */
[[nodiscard]] int st_state_find(const struct st_root *root, const char *name,
                                struct stet_error *err);

/** A directory inside the state directory, opened when it is first needed. Safe to use from several threads. */
struct st_state_folder {
	const struct st_root *root;
	/** The state directory's name; both names are borrowed. */
	const char *state_dir;
	const char *name;
	/** Its name in stet 0.1.0; NULL if that was the same. */
	const char *former;
	/** Guards what is below; fd is -1 before the folder is opened. */
	pthread_mutex_t lock;
	int fd;
};

void st_state_folder_init(struct st_state_folder *folder, const struct st_root *root,
                          const char *state_dir, const char *name);
void st_state_folder_release(struct st_state_folder *folder);

/** Whether it is there, under one of its names: 1, 0, or -1 if that cannot be told. Makes nothing. */
int st_state_folder_exists(const struct st_state_folder *folder);

/**
 * Open it, making it if it is missing.
 *
 * @return Its descriptor, good until st_state_folder_release(); or the codes of st_state_open().
 */
[[nodiscard]] int st_state_folder_open(struct st_state_folder *folder, struct stet_error *err);

/**
 * Lock a file or directory of the state against other processes.
 *
 * @wait_ms  How long to wait for one that has it.
 * @what     It, for messages: "The state directory".
 * @return   0, STET_E_BUSY, STET_E_IO.
 */
[[nodiscard]] int st_state_lock(int fd, int wait_ms, const char *what, struct stet_error *err);

/**
 * What tells a state directory from every copy of it: its inode and when it
 * was born, in nanoseconds; zeros where a filesystem has nothing of the kind
 * that lasts.
 */
void st_state_origin(int fd, int64_t origin[2]);

/** Whether a descriptor is of a filesystem that other machines may use at the same time. */
bool st_state_is_remote(int fd);

/**
 * Whether what is mapped of a file of that filesystem may have to be given a
 * place on the disk block by block: on a full one, to touch it ends the process.
 */
bool st_state_has_small_blocks(int fd);

#endif
