/**
 * One commit in the making: what fs/write/commit.c and the ways of writing share.
 *
 * A job knows the place, the file that is to be replaced, the temporary file
 * and the directory's lock. Each step answers 0, a negative code with the
 * error filled, or one of the words below.
 */
#ifndef STET_FS_WRITE_COMMIT_ATTEMPT_H
#define STET_FS_WRITE_COMMIT_ATTEMPT_H

#include "fs/write/commit.h"
#include "fs/write/temp.h"

/** What a step may answer besides 0 and a code. */
enum {
	/** Somebody interfered: start over. */
	ST_ATTEMPT_AGAIN = 1,
	/** The file can only be rewritten in place. */
	ST_ATTEMPT_IN_PLACE = 2,
};

/** How long others are waited for, and how often their interference is met with another try. */
enum { ST_ATTEMPT_WAIT_MS = 1000, ST_ATTEMPT_TRIES_MAX = 100 };

struct st_commit_attempt {
	const struct st_commit *commit;
	const struct st_root *root;
	struct st_write_context *writes;
	struct st_committed *done;
	struct st_place place;
	/** Others are waited for until then. */
	int64_t deadline_ms;
	/** The file to replace: open, and leased if that is to be had. */
	int fd;
	bool leased;
	/** Its filesystem is not trusted (fs/path/trust.h): no leases, and bytes are read past the cache. */
	bool shared;
	/** There is no exchange here. */
	bool by_links;
	/** Its bytes, in done->current, and its stamp. */
	struct st_str old;
	struct st_stamp stamp;
	struct st_temp temp;
	bool locked;
	/** No leftover of another commit is in the directory. */
	bool clean;
};

/** Give everything back. */
void st_attempt_release(struct st_commit_attempt *attempt);

/** The largest file that may be read. */
size_t st_attempt_max(const struct st_commit_attempt *attempt);

/** Refuse, since others were in the way. Returns STET_E_BUSY. */
int st_attempt_busy(const struct st_commit_attempt *attempt, const char *what,
                    struct stet_error *err);

/** ST_ATTEMPT_AGAIN after a pause, or the refusal when the time is up. */
[[nodiscard]] int st_attempt_wait(struct st_commit_attempt *attempt, const char *what,
                                  struct stet_error *err);

/**
 * Take the directory's lock: processes that commit through stet take turns.
 *
 * @return 0, also where there are no locks, or STET_E_BUSY.
 */
[[nodiscard]] int st_attempt_lock(struct st_commit_attempt *attempt, struct stet_error *err);
void st_attempt_unlock(struct st_commit_attempt *attempt);

/** Say what is in the way of the version that was expected. Returns STET_E_CONFLICT. */
int st_attempt_conflict(struct st_commit_attempt *attempt, struct stet_error *err);

/** Give up the file that is open, and the lease on it. */
void st_attempt_let_go(struct st_commit_attempt *attempt);

/** Open the file. Returns 0, STET_E_CONFLICT if it is gone, or the codes of st_file_open(). */
[[nodiscard]] int st_attempt_open(struct st_commit_attempt *attempt, struct stet_error *err);

/** Take a read lease on it, if one is to be had. Returns 0, STET_E_BUSY or STET_E_CANCELLED. */
[[nodiscard]] int st_attempt_lease(struct st_commit_attempt *attempt, struct stet_error *err);

/**
 * Whether what a name in the directory leads to is the file that was read,
 * with the bytes that were read. Where nothing else is trusted it is opened
 * anew for that, and stays open if it is.
 */
bool st_attempt_is_verified(struct st_commit_attempt *attempt, const char *name);

/** Whether a name in the directory leads to these bytes now, read past the cache. */
bool st_attempt_reads(const struct st_commit_attempt *attempt, const char *name,
                      struct st_str bytes);

/** The hash of what a name in the directory leads to now, read past the cache. 0, or -1 with errno. */
[[nodiscard]] int st_attempt_hash(const struct st_commit_attempt *attempt, const char *name,
                                  struct st_hash *hash);

/** Rename within the directory, never over a file. 0, or -1 with errno. */
[[nodiscard]] int st_attempt_rename_new(const struct st_commit_attempt *attempt, const char *from,
                                        const char *to);

/**
 * Read the file that is open, into done->current.
 *
 * @finished  Set to whether that was all: the bytes are there already.
 * @return    0 if it is the expected version or there is nothing to do,
 *            STET_E_CONFLICT, or the codes of st_file_read().
 */
[[nodiscard]] int st_attempt_compare(struct st_commit_attempt *attempt, bool *finished,
                                     struct stet_error *err);

/** The stamp of what a name in the directory leads to; all zero if to nothing. */
struct st_stamp st_attempt_stamp_at(const struct st_commit_attempt *attempt, const char *name);

/** Whether the file's name leads to the file of this stamp. */
bool st_attempt_is_named(const struct st_commit_attempt *attempt, const struct st_stamp *stamp);

/**
 * Take the stamp of the version that was just put in place. It is our bytes'
 * only if nobody wrote to them since they were complete.
 *
 * @complete  The stamp they had then; NULL if nobody could write meanwhile.
 */
void st_attempt_stamp_new(struct st_commit_attempt *attempt, int fd,
                          const struct st_stamp *complete);

#endif
