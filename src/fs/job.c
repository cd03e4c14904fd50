#include "fs/job.h"

#include <stdio.h>
#include <sys/file.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "fs/lease.h"
#include "fs/sys.h"

void st_job_release(struct st_job *job) {
	st_job_unlock(job);
	st_temp_release(&job->temp);
	st_job_let_go(job);
	st_place_release(&job->place);
}

size_t st_job_max(const struct st_job *job) {
	return job->commit->max ? job->commit->max : ST_FILE_MAX;
}

int st_job_busy(const struct st_job *job, const char *what, struct stet_error *err) {
	return st_fail(err, STET_E_BUSY, "%s was not written: %s. Nothing was changed. Try again.",
	               st_shown(job->place.path), what);
}

int st_job_wait(struct st_job *job, const char *what, struct stet_error *err) {
	if (st_now_ms() >= job->deadline_ms)
		return st_job_busy(job, what, err);
	int code = st_cancel_sleep(1, err);
	return code < 0 ? code : ST_JOB_AGAIN;
}

int st_job_lock(struct st_job *job, struct stet_error *err) {
	while (st_retry(flock(job->place.dirfd, LOCK_EX | LOCK_NB)) < 0) {
		/* No locks here: the exchange is verified all the same. */
		if (errno != EWOULDBLOCK)
			return 0;
		int code = st_job_wait(job, "other writers keep its directory busy", err);
		if (code < 0)
			return code;
	}
	job->locked = true;
	return 0;
}

void st_job_unlock(struct st_job *job) {
	if (job->locked)
		(void)st_retry(flock(job->place.dirfd, LOCK_UN));
	job->locked = false;
}

int st_job_conflict(struct st_job *job, struct stet_error *err) {
	if (job->done->deleted)
		return st_fail(err, STET_E_CONFLICT, "%s was deleted since it was last seen.",
		               st_shown(job->place.path));
	if (!job->commit->expected)
		return st_fail(err, STET_E_CONFLICT, "%s exists already. Read it before writing it.",
		               st_shown(job->place.path));
	return st_fail(err, STET_E_CONFLICT, "%s was changed since it was last seen.",
	               st_shown(job->place.path));
}

/* A forked child may have the descriptor too: to close it would not be enough. */
void st_job_let_go(struct st_job *job) {
	if (job->leased && job->fd >= 0)
		st_lease_drop(job->fd);
	st_close_at(&job->fd);
	job->leased = false;
}

int st_job_open(struct st_job *job, struct stet_error *err) {
	st_job_let_go(job);
	int fd = st_file_open(&job->place, err);
	if (fd == STET_E_NOT_FOUND) {
		job->done->deleted = true;
		return st_job_conflict(job, err);
	}
	if (fd < 0)
		return fd;
	job->fd = fd;
	job->shared = st_root_trust(job->root, fd, job->place.st.st_dev) == ST_TRUST_NONE;
	if (job->shared)
		st_file_freshen(fd);
	return 0;
}

int st_job_lease(struct st_job *job, struct stet_error *err) {
	while (!job->shared) {
		enum st_lease lease = st_lease_take(job->fd, F_RDLCK);
		job->leased = lease == ST_LEASE_HELD;
		if (lease != ST_LEASE_BUSY)
			return 0;
		int code = st_job_wait(job, "another process has it open for writing", err);
		if (code < 0)
			return code;
	}
	return 0;
}

/* As it is below a filesystem that is not trusted; -1 if it is no regular file. */
static int open_anew(const struct st_job *job, const char *name) {
	struct stat st;
	st_autofd fd = st_retry(
		openat(job->place.dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
	if (fd < 0 || st_retry(fstat(fd, &st)) < 0 || !S_ISREG(st.st_mode))
		return -1;
	st_file_freshen(fd);
	int result = fd;
	fd = -1;
	return result;
}

bool st_job_reads(const struct st_job *job, const char *name, struct st_str bytes) {
	st_auto(st_file) file = ST_FILE_INIT;
	st_autofd fd = open_anew(job, name);
	return fd >= 0 && st_file_is(fd, bytes, &file);
}

int st_job_hash(const struct st_job *job, const char *name, struct st_hash *hash) {
	st_autofd fd = open_anew(job, name);
	return fd < 0 || st_hash_file(fd, st_job_max(job), hash, NULL) < 0 ? -1 : 0;
}

static bool is_verified_anew(struct st_job *job, const char *name) {
	st_auto(st_file) file = ST_FILE_INIT;
	st_autofd fd = open_anew(job, name);
	if (fd < 0 || !st_file_is(fd, job->old, &file))
		return false;
	job->stamp = file.stamp;
	st_close_at(&job->fd);
	job->fd = fd;
	fd = -1;
	return true;
}

/* A lease that still holds proves that nobody wrote to it; without one its bytes have to. */
bool st_job_is_verified(struct st_job *job, const char *name) {
	if (job->shared)
		return is_verified_anew(job, name);
	struct st_stamp now = st_job_stamp_at(job, name);
	if (!st_stamp_eq_content(&now, &job->stamp))
		return false;
	st_auto(st_file) file = ST_FILE_INIT;
	return job->leased ? st_lease_holds(job->fd, F_RDLCK) : st_file_is(job->fd, job->old, &file);
}

/* Where a rename cannot promise that, a second name can. */
int st_job_rename_new(const struct st_job *job, const char *from, const char *to) {
	int dirfd = job->place.dirfd;
	if (st_retry(renameat2(dirfd, from, dirfd, to, RENAME_NOREPLACE)) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS && errno != ENOTSUP)
		return -1;
	if (st_retry(linkat(dirfd, from, dirfd, to, 0)) < 0)
		return -1;
	(void)st_retry(unlinkat(dirfd, from, 0));
	return 0;
}

static int noop(struct st_job *job) {
	const struct st_file *file = &job->done->current;
	job->done->noop = true;
	job->done->way = ST_COMMIT_NONE;
	job->done->version.stamp = st_file_version(file).stamp;
	return 0;
}

/* The caller may have the bytes of the expected version: to compare takes less than to hash. */
static int hash_old(struct st_job *job, struct stet_error *err) {
	const struct st_commit *commit = job->commit;
	struct st_hash *hash = &job->done->current.hash;
	if (!commit->expected || !commit->old.ptr || !st_str_eq(job->old, commit->old))
		return st_hash_watched(job->old, hash, err);
	*hash = *commit->expected;
	return 0;
}

int st_job_compare(struct st_job *job, bool *finished, struct stet_error *err) {
	const struct st_commit *commit = job->commit;
	struct st_file *file = &job->done->current;
	int code = st_file_fetch(job->fd, job->place.path, st_job_max(job), file, err);
	if (code < 0)
		return code;
	job->old = st_buf_str(&file->bytes);
	code = st_cancel_check(job->old.len, err);
	if (code < 0)
		return code;
	job->stamp = file->stamp;
	*finished = st_str_eq(job->old, commit->bytes);
	if (*finished)
		return noop(job);
	code = hash_old(job, err);
	if (code < 0)
		return code;
	return commit->expected && st_hash_eq(&file->hash, commit->expected)
	           ? 0
	           : st_job_conflict(job, err);
}

struct st_stamp st_job_stamp_at(const struct st_job *job, const char *name) {
	struct stat st;
	struct statx anew;
	if (job->shared)
		(void)st_retry(statx(job->place.dirfd, name, AT_SYMLINK_NOFOLLOW | AT_STATX_FORCE_SYNC,
		                     STATX_BASIC_STATS, &anew));
	if (st_retry(fstatat(job->place.dirfd, name, &st, AT_SYMLINK_NOFOLLOW)) < 0)
		return (struct st_stamp){0};
	return st_stamp_of(&st);
}

bool st_job_is_named(const struct st_job *job, const struct st_stamp *stamp) {
	struct st_stamp now = st_job_stamp_at(job, job->place.name);
	return now.ino == stamp->ino && now.dev == stamp->dev;
}

void st_job_stamp_new(struct st_job *job, int fd, const struct st_stamp *complete) {
	struct stat st;
	if (st_retry(fstat(fd, &st)) < 0) {
		job->done->version.stamp = (struct st_stamp){.racy = true};
		return;
	}
	job->done->version.stamp = st_stamp_take(fd, &st);
	if (complete && !st_stamp_eq_content(complete, &job->done->version.stamp))
		job->done->version.stamp.racy = true;
}
