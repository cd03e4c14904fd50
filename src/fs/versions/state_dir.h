/**
 * The state directory: `.stet/` below the root, where stet stores what must
 * outlive a process.
 *
 * It holds copies of files, and stet trusts what it reads from it. So it must
 * be a real directory of this user that no other user can access, and git must
 * not track it. Otherwise these functions refuse it, and the error says why.
 */
#ifndef STET_FS_VERSIONS_STATE_DIR_H
#define STET_FS_VERSIONS_STATE_DIR_H

#include <pthread.h>
#include <stdint.h>

#include "fs/file/hash.h"
#include "fs/path/filesystem.h"
#include "fs/path/root.h"

/** Whether a name is allowed for a state directory: a single name, no spelling of .git. */
bool st_state_is_name(const char *name);

/** Refuse a name that is not allowed. Returns STET_E_INVALID. */
int st_state_fail_name(const char *name, struct stet_error *err);

/**
 * Open the state directory, and make it if it is missing. A new one contains a
 * .gitignore that hides it from git.
 *
 * @name   A single name below the root.
 * @return A descriptor, or STET_E_ACCESS (not trusted, or this user may not
 *         make it), STET_E_NO_SPACE, STET_E_LIMIT, STET_E_NOMEM, STET_E_IO.
 */
[[nodiscard]] int st_state_open(const struct st_root *root, const char *name,
                                struct stet_error *err);

/** Like st_state_open(), but returns STET_E_NOT_FOUND if it is missing. */
[[nodiscard]] int st_state_find(const struct st_root *root, const char *name,
                                struct stet_error *err);

/** A directory inside the state directory, opened on first use. Thread-safe. */
struct st_state_folder {
	const struct st_root *root;
	/** The name of the state directory. Both names are borrowed. */
	const char *state_dir;
	const char *name;
	/** The folder's name in stet 0.1.0; NULL if it was the same. */
	const char *former;
	/** Guards fd, which is -1 until the folder is opened. */
	pthread_mutex_t lock;
	int fd;
};

void st_state_folder_init(struct st_state_folder *folder, const struct st_root *root,
                          const char *state_dir, const char *name);
void st_state_folder_release(struct st_state_folder *folder);

/** Whether the folder exists under one of its names: 1, 0, or -1 if that is unknown. */
int st_state_folder_exists(const struct st_state_folder *folder);

/**
 * Open the folder, and make it if it is missing.
 *
 * @return Its descriptor, valid until st_state_folder_release(), or the codes of st_state_open().
 */
[[nodiscard]] int st_state_folder_open(struct st_state_folder *folder, struct stet_error *err);

/**
 * Lock a file or directory against other processes (flock).
 *
 * @wait_ms  How long to wait for a process that holds the lock.
 * @what     Begins error messages, as in "The state directory".
 * @return   0, STET_E_BUSY, STET_E_IO.
 */
[[nodiscard]] int st_state_lock(int fd, int wait_ms, const char *what, struct stet_error *err);

/**
 * What distinguishes a state directory from every copy of it: its inode, and
 * its birth time in nanoseconds. 0 where the filesystem has no stable value.
 */
void st_state_origin(int fd, int64_t origin[2]);

/** Whether other machines may use the filesystem of this descriptor at the same time. */
bool st_state_is_remote(int fd);

/**
 * Whether the filesystem's blocks are smaller than a page. There the kernel may
 * have to allocate a block when a process writes to a mapped file, and kills
 * the process if the disk is full.
 */
bool st_state_has_small_blocks(int fd);

/*
 * A secret key of this user, by which stet recognises files that it wrote itself.
 *
 * The key is 32 random bytes in `stet/key` below $XDG_STATE_HOME or
 * ~/.local/state, made on first use. A file whose name carries a mark made with
 * the key was written by this user's stet; it cannot have come with a clone or
 * an archive. If there is no such directory, each process makes a key of its
 * own and recognises only its own files.
 */

/** The number of hex digits in a mark. */
enum { ST_MARK = 16 };

/**
 * The mark of a text: 64 bits that cannot be computed without the key.
 *
 * @return 0, STET_E_NOMEM, or STET_E_IO if no random numbers are available.
 */
[[nodiscard]] int st_user_mark(struct st_str text, char mark[ST_MARK + 1], struct stet_error *err);

/** Append the path of `stet` below $XDG_STATE_HOME or ~/.local/state. False if there is no such place. */
bool st_user_state_path(struct st_buf *path);

/**
 * Open a directory in st_user_state_path(), and make it if it is missing.
 *
 * @name   A single name; "." for that place itself.
 * @return A descriptor, or -1 with errno: there is no such place, or another
 *         user could change it (EACCES).
 */
int st_user_state_open(const char *name);

#endif
