/**
 * One attempt to replace or remove a file: what commit.c, in_place.c and
 * remove.c share.
 *
 * An attempt knows the place, the file to replace, the temporary file and the
 * directory's lock. Each step returns 0, a negative code with the error filled
 * in, or one of the values below.
 */
#ifndef STET_FS_WRITE_COMMIT_ATTEMPT_H
#define STET_FS_WRITE_COMMIT_ATTEMPT_H

#include "fs/write/commit.h"
#include "fs/write/temp.h"

enum {
	/** Another process interfered: start over. */
	ST_ATTEMPT_AGAIN = 1,
	/** The file can only be rewritten in place. */
	ST_ATTEMPT_IN_PLACE = 2,
};

/** How long to wait for other processes, and how often to start over. */
enum { ST_ATTEMPT_WAIT_MS = 1000, ST_ATTEMPT_TRIES_MAX = 100 };

struct st_commit_attempt {
	const struct st_commit *commit;
	const struct st_root *root;
	struct st_write_context *writes;
	struct st_committed *done;
	struct st_place place;
	/** When to stop waiting for other processes. */
	int64_t deadline_ms;
	/** The file to replace: open, and leased if the kernel grants a lease. */
	int fd;
	bool leased;
	/** The filesystem is not trusted (fs/path/filesystem.h): no leases; reads bypass the cache. */
	bool shared;
	/** The filesystem has no exchange. */
	bool by_links;
	/** The file's bytes, in done->current, and its stamp. */
	struct st_str old;
	struct st_stamp stamp;
	struct st_temp temp;
	/** We hold the directory's lock. */
	bool locked;
	/** The directory has no leftovers of crashed commits. */
	bool clean;
};

void st_attempt_release(struct st_commit_attempt *attempt);

/** The largest file that may be read. */
size_t st_attempt_max(const struct st_commit_attempt *attempt);

/** Fail because other processes were in the way; `what` says how. Returns STET_E_BUSY. */
int st_attempt_busy(const struct st_commit_attempt *attempt, const char *what,
                    struct stet_error *err);

/** Pause. Returns ST_ATTEMPT_AGAIN, STET_E_BUSY after the deadline, or STET_E_CANCELLED. */
[[nodiscard]] int st_attempt_wait(struct st_commit_attempt *attempt, const char *what,
                                  struct stet_error *err);

/**
 * Lock the directory, which serialises the commits of all stet processes.
 *
 * @return 0 (also where the filesystem has no locks), STET_E_BUSY or STET_E_CANCELLED.
 */
[[nodiscard]] int st_attempt_lock(struct st_commit_attempt *attempt, struct stet_error *err);
void st_attempt_unlock(struct st_commit_attempt *attempt);

/** Fail because the file is not the expected version. Returns STET_E_CONFLICT. */
int st_attempt_conflict(struct st_commit_attempt *attempt, struct stet_error *err);

/** Drop the lease on the file, and close it. */
void st_attempt_close(struct st_commit_attempt *attempt);

/** Open the file. Returns 0, STET_E_CONFLICT if it is gone, or the codes of st_file_open(). */
[[nodiscard]] int st_attempt_open(struct st_commit_attempt *attempt, struct stet_error *err);

/** Take a read lease, if the kernel grants one. Returns 0, STET_E_BUSY or STET_E_CANCELLED. */
[[nodiscard]] int st_attempt_lease(struct st_commit_attempt *attempt, struct stet_error *err);

/**
 * Whether a name in the directory leads to the file that we read, with the same
 * bytes. On an untrusted filesystem this opens the file again, and the new
 * descriptor replaces attempt->fd.
 */
bool st_attempt_is_verified(struct st_commit_attempt *attempt, const char *name);

/** Whether the file of this name in the directory holds these bytes; bypasses the cache. */
bool st_attempt_has_bytes(const struct st_commit_attempt *attempt, const char *name,
                          struct st_str bytes);

/** Hash the file of this name in the directory; bypasses the cache. Returns 0, or -1 with errno. */
[[nodiscard]] int st_attempt_hash(const struct st_commit_attempt *attempt, const char *name,
                                  struct st_hash *hash);

/** Rename within the directory, never over another file. Returns 0, or -1 with errno. */
[[nodiscard]] int st_attempt_rename_new(const struct st_commit_attempt *attempt, const char *from,
                                        const char *to);

/**
 * Read the open file into done->current.
 *
 * @finished  Receives whether the file already holds the new bytes.
 * @return    0 if the file is the expected version or is finished,
 *            STET_E_CONFLICT, or the codes of st_file_read().
 */
[[nodiscard]] int st_attempt_compare(struct st_commit_attempt *attempt, bool *finished,
                                     struct stet_error *err);

/** The stamp of the file of this name in the directory; all zero if there is none. */
struct st_stamp st_attempt_stamp_at(const struct st_commit_attempt *attempt, const char *name);

/** Whether the target's name leads to the file of this stamp. */
bool st_attempt_is_named(const struct st_commit_attempt *attempt, const struct st_stamp *stamp);

/**
 * Take the stamp of the new version, which is racy if another process may have
 * written to it since its bytes were complete.
 *
 * @complete  The stamp when they were; NULL if no other process could write.
 */
void st_attempt_stamp_new(struct st_commit_attempt *attempt, int fd,
                          const struct st_stamp *complete);

#endif
