#include "fs/write/commit_attempt.h"

#include <assert.h>
#include <stdio.h>
#include <sys/file.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "fs/file/lease.h"
#include "fs/path/sys.h"

void st_attempt_release(struct st_commit_attempt *attempt) {
	st_attempt_unlock(attempt);
	st_temp_release(&attempt->temp);
	st_attempt_close(attempt);
	st_place_release(&attempt->place);
}

size_t st_attempt_max(const struct st_commit_attempt *attempt) {
	return attempt->commit->max ? attempt->commit->max : ST_FILE_MAX;
}

int st_attempt_busy(const struct st_commit_attempt *attempt, const char *what,
                    struct stet_error *err) {
	return st_fail(err, STET_E_BUSY, "%s was not written: %s. Nothing was changed. Try again.",
	               st_quoted(attempt->place.path), what);
}

int st_attempt_wait(struct st_commit_attempt *attempt, const char *what, struct stet_error *err) {
	if (st_now_ms() >= attempt->deadline_ms)
		return st_attempt_busy(attempt, what, err);
	int code = st_cancel_sleep(1, err);
	return code < 0 ? code : ST_ATTEMPT_AGAIN;
}

int st_attempt_lock(struct st_commit_attempt *attempt, struct stet_error *err) {
	while (st_retry(flock(attempt->place.dirfd, LOCK_EX | LOCK_NB)) < 0) {
		/* The filesystem has no locks: the commit verifies the exchange all the same. */
		if (errno != EWOULDBLOCK)
			return 0;
		int code = st_attempt_wait(attempt, "other writers keep its directory busy", err);
		if (code < 0)
			return code;
	}
	attempt->locked = true;
	return 0;
}

void st_attempt_unlock(struct st_commit_attempt *attempt) {
	if (attempt->locked)
		(void)st_retry(flock(attempt->place.dirfd, LOCK_UN));
	attempt->locked = false;
}

int st_attempt_conflict(struct st_commit_attempt *attempt, struct stet_error *err) {
	if (attempt->done->deleted)
		return st_fail(err, STET_E_CONFLICT, "%s was deleted since it was last seen.",
		               st_quoted(attempt->place.path));
	if (!attempt->commit->expected)
		return st_fail(err, STET_E_CONFLICT, "%s already exists. Read it before writing it.",
		               st_quoted(attempt->place.path));
	return st_fail(err, STET_E_CONFLICT, "%s was changed since it was last seen.",
	               st_quoted(attempt->place.path));
}

/* Closing alone would not drop the lease if a forked child has the descriptor too. */
void st_attempt_close(struct st_commit_attempt *attempt) {
	if (attempt->leased && attempt->fd >= 0)
		st_lease_drop(attempt->fd);
	st_close_at(&attempt->fd);
	attempt->leased = false;
}

int st_attempt_open(struct st_commit_attempt *attempt, struct stet_error *err) {
	st_attempt_close(attempt);
	int fd = st_file_open(&attempt->place, err);
	if (fd == STET_E_NOT_FOUND) {
		attempt->done->deleted = true;
		return st_attempt_conflict(attempt, err);
	}
	if (fd < 0)
		return fd;
	attempt->fd = fd;
	attempt->shared = st_root_trust(attempt->root, fd, attempt->place.st.st_dev) == ST_TRUST_NONE;
	if (attempt->shared)
		st_file_freshen(fd);
	return 0;
}

int st_attempt_lease(struct st_commit_attempt *attempt, struct stet_error *err) {
	while (!attempt->shared) {
		enum st_lease lease = st_lease_take(attempt->fd, F_RDLCK);
		attempt->leased = lease == ST_LEASE_HELD;
		if (lease != ST_LEASE_BUSY)
			return 0;
		int code = st_attempt_wait(attempt, "another process has it open for writing", err);
		if (code < 0)
			return code;
	}
	return 0;
}

/* Open a file so that reads bypass the cache; -1 if it is not a regular file. */
static int open_anew(const struct st_commit_attempt *attempt, const char *name) {
	struct stat st;
	st_autofd fd = st_retry(openat(attempt->place.dirfd, name,
	                               O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
	if (fd < 0 || st_retry(fstat(fd, &st)) < 0 || !S_ISREG(st.st_mode))
		return -1;
	st_file_freshen(fd);
	int result = fd;
	fd = -1;
	return result;
}

bool st_attempt_has_bytes(const struct st_commit_attempt *attempt, const char *name,
                          struct st_str bytes) {
	st_auto(st_file) file = ST_FILE_INIT;
	st_autofd fd = open_anew(attempt, name);
	return fd >= 0 && st_file_is(fd, bytes, &file);
}

int st_attempt_hash(const struct st_commit_attempt *attempt, const char *name,
                    struct st_hash *hash) {
	st_autofd fd = open_anew(attempt, name);
	return fd < 0 || st_hash_file(fd, st_attempt_max(attempt), hash, NULL) < 0 ? -1 : 0;
}

static bool is_verified_anew(struct st_commit_attempt *attempt, const char *name) {
	st_auto(st_file) file = ST_FILE_INIT;
	st_autofd fd = open_anew(attempt, name);
	if (fd < 0 || !st_file_is(fd, attempt->old, &file))
		return false;
	attempt->stamp = file.stamp;
	st_close_at(&attempt->fd);
	attempt->fd = fd;
	fd = -1;
	return true;
}

/* An unbroken lease proves that no other process wrote to the file; without one, compare bytes. */
bool st_attempt_is_verified(struct st_commit_attempt *attempt, const char *name) {
	if (attempt->shared)
		return is_verified_anew(attempt, name);
	struct st_stamp now = st_attempt_stamp_at(attempt, name);
	if (!st_stamp_eq_content(&now, &attempt->stamp))
		return false;
	st_auto(st_file) file = ST_FILE_INIT;
	return attempt->leased ? st_lease_holds(attempt->fd, F_RDLCK)
	                       : st_file_is(attempt->fd, attempt->old, &file);
}

/* On filesystems without RENAME_NOREPLACE, link and unlink. */
int st_attempt_rename_new(const struct st_commit_attempt *attempt, const char *from,
                          const char *to) {
	int dirfd = attempt->place.dirfd;
	if (st_retry(renameat2(dirfd, from, dirfd, to, RENAME_NOREPLACE)) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS && errno != ENOTSUP)
		return -1;
	if (st_retry(linkat(dirfd, from, dirfd, to, 0)) < 0)
		return -1;
	(void)st_retry(unlinkat(dirfd, from, 0));
	return 0;
}

static int finish_noop(struct st_commit_attempt *attempt) {
	const struct st_file *file = &attempt->done->current;
	attempt->done->noop = true;
	attempt->done->way = ST_COMMIT_NONE;
	attempt->done->version.stamp = st_file_version(file).stamp;
	return 0;
}

/* If the caller has the bytes of the expected version, comparing is faster than hashing. */
static int hash_old(struct st_commit_attempt *attempt, struct stet_error *err) {
	const struct st_commit *commit = attempt->commit;
	struct st_hash *hash = &attempt->done->current.hash;
	if (!commit->expected || !commit->old.ptr || !st_str_eq(attempt->old, commit->old))
		return st_hash_cancellable(attempt->old, hash, err);
	*hash = *commit->expected;
	return 0;
}

int st_attempt_compare(struct st_commit_attempt *attempt, bool *finished, struct stet_error *err) {
	const struct st_commit *commit = attempt->commit;
	struct st_file *file = &attempt->done->current;
	int code = st_file_fetch(attempt->fd, attempt->place.path, st_attempt_max(attempt), file, err);
	if (code < 0)
		return code;
	assert(attempt->fd >= 0);
	attempt->old = st_buf_str(&file->bytes);
	code = st_cancel_check(attempt->old.len, err);
	if (code < 0)
		return code;
	attempt->stamp = file->stamp;
	*finished = st_str_eq(attempt->old, commit->bytes);
	if (*finished)
		return finish_noop(attempt);
	code = hash_old(attempt, err);
	if (code < 0)
		return code;
	return commit->expected && st_hash_eq(&file->hash, commit->expected)
	           ? 0
	           : st_attempt_conflict(attempt, err);
}

struct st_stamp st_attempt_stamp_at(const struct st_commit_attempt *attempt, const char *name) {
	struct stat st;
	struct statx anew;
	if (attempt->shared)
		(void)st_retry(statx(attempt->place.dirfd, name, AT_SYMLINK_NOFOLLOW | AT_STATX_FORCE_SYNC,
		                     STATX_BASIC_STATS, &anew));
	if (st_retry(fstatat(attempt->place.dirfd, name, &st, AT_SYMLINK_NOFOLLOW)) < 0)
		return (struct st_stamp){0};
	return st_stamp_of(&st);
}

bool st_attempt_is_named(const struct st_commit_attempt *attempt, const struct st_stamp *stamp) {
	struct st_stamp now = st_attempt_stamp_at(attempt, attempt->place.name);
	return now.ino == stamp->ino && now.dev == stamp->dev;
}

void st_attempt_stamp_new(struct st_commit_attempt *attempt, int fd,
                          const struct st_stamp *complete) {
	struct stat st;
	if (st_retry(fstat(fd, &st)) < 0) {
		attempt->done->version.stamp = (struct st_stamp){.racy = true};
		return;
	}
	attempt->done->version.stamp = st_stamp_take(fd, &st);
	if (complete && !st_stamp_eq_content(complete, &attempt->done->version.stamp))
		attempt->done->version.stamp.racy = true;
}
