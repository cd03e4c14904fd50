#include "fs/remove.h"

#include <stdio.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "fs/job.h"
#include "fs/lease.h"
#include "fs/sys.h"

static int check_protected(const char *path, const char *state_dir, struct stet_error *err) {
	if (!st_path_is_protected(path, state_dir))
		return 0;
	return st_fail(err, STET_E_PROTECTED,
	               "%s belongs to git or to stet and is not removed. Use git itself for it.",
	               st_shown(path));
}

/* Open and read it: it must be the version that was expected. */
static int meet(struct st_job *job, struct stet_error *err) {
	struct st_file *file = &job->done->current;
	int code = st_job_open(job, err);
	if (code == 0)
		code = st_job_lease(job, err);
	if (code == 0)
		code = st_file_fetch(job->fd, job->place.path, st_job_max(job), file, err);
	if (code == 0)
		code = st_hash_watched(st_buf_str(&file->bytes), &file->hash, err);
	if (code < 0)
		return code;
	job->stamp = file->stamp;
	job->old = st_buf_str(&file->bytes);
	if (!st_hash_eq(&file->hash, job->commit->expected))
		return st_job_conflict(job, err);
	if (st_retry(faccessat(job->place.dirfd, job->place.name, W_OK, AT_EACCESS)) < 0)
		return errno == ENOENT
		           ? ST_JOB_AGAIN
		           : st_fail_errno(err, errno, "%s may not be removed", st_shown(job->place.path));
	return 0;
}

/* Its name was given to another file meanwhile, so its bytes are kept. */
static void keep_foreign(struct st_job *job) {
	st_autofd fd = st_retry(openat(job->place.dirfd, job->temp.name,
	                               O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
	st_auto(st_file) file = ST_FILE_INIT;
	if (fd >= 0 && st_file_read(fd, job->place.path, ST_KEPT_MAX_BYTES, &file, NULL) == 0 &&
	    st_keep(&job->guard->rescued, job->place.path, st_buf_str(&file.bytes),
	            "Another process replaced this file twice while it was to be removed; this is the "
	            "earlier version.") == 0 &&
	    st_retry(unlinkat(job->place.dirfd, job->temp.name, 0)) == 0)
		return;
	st_notices_add(&job->guard->notices,
	               "What another process put in the place of %s could not be put back and is now "
	               "%s beside it.",
	               st_shown(job->place.path), job->temp.name);
}

static int give_back(struct st_job *job) {
	if (st_job_rename_new(job, job->temp.name, job->place.name) < 0)
		keep_foreign(job);
	return ST_JOB_AGAIN;
}

/* Where files cannot be renamed at all: the look before is all there is. */
static int unlink_at_once(struct st_job *job, struct stet_error *err) {
	if (!st_job_is_verified(job, job->place.name))
		return ST_JOB_AGAIN;
	if (st_retry(unlinkat(job->place.dirfd, job->place.name, 0)) < 0)
		return st_fail_errno(err, errno, "Cannot remove %s", st_shown(job->place.path));
	job->done->way = ST_COMMIT_VERIFIED;
	return 0;
}

/* To a name that chance made: nobody has it, also where a rename cannot promise that. */
static int set_aside(const struct st_job *job) {
	int dirfd = job->place.dirfd;
	const char *from = job->place.name, *to = job->temp.name;
	if (st_retry(renameat2(dirfd, from, dirfd, to, RENAME_NOREPLACE)) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -1;
	return st_retry(renameat(dirfd, from, dirfd, to));
}

static int take_away(struct st_job *job, struct stet_error *err) {
	int code = st_temp_aside(&job->temp, job->place.name, job->commit->expected, err);
	if (code < 0)
		return code;
	if (set_aside(job) < 0) {
		if (errno == ENOENT)
			return ST_JOB_AGAIN;
		if (errno == EINVAL || errno == ENOSYS || errno == EBUSY)
			return unlink_at_once(job, err);
		return st_fail_errno(err, errno, "Cannot remove %s", st_shown(job->place.path));
	}
	if (!st_job_is_verified(job, job->temp.name))
		return give_back(job);
	if (st_retry(unlinkat(job->place.dirfd, job->temp.name, 0)) < 0) {
		int errnum = errno;
		(void)give_back(job);
		return st_fail_errno(err, errnum, "Cannot remove %s", st_shown(job->place.path));
	}
	job->done->way = ST_COMMIT_EXCHANGED;
	return 0;
}

/* Its descriptor is held for a while: somebody may have been about to write to it. */
static void finish(struct st_job *job) {
	if (job->shared)
		job->done->unproven = st_trust_name(job->place.dirfd);
	if (job->leased)
		st_lease_drop(job->fd);
	st_displaced_add(&job->guard->late_writes, job->fd, job->place.path, job->commit->expected,
	                 &job->stamp);
	job->fd = -1;
	if (!job->commit->relaxed)
		(void)st_retry(fsync(job->place.dirfd));
}

static int try_remove(struct st_job *job, struct stet_error *err) {
	int code = meet(job, err);
	if (code == 0)
		code = st_job_lock(job, err);
	if (code == 0)
		code = st_cancel_look(err);
	/* From here on it is taken away or put back, whoever waits. */
	st_cancel_hold();
	if (code == 0)
		code = take_away(job, err);
	st_cancel_release();
	st_job_unlock(job);
	if (code == 0)
		finish(job);
	return code;
}

int st_remove(const struct st_root *root, struct st_guard *guard, const struct st_commit *commit,
              struct st_committed *done, struct stet_error *err) {
	__attribute__((cleanup(st_job_release))) struct st_job job = {
		.commit = commit,
		.root = root,
		.guard = guard,
		.done = done,
		.place = ST_PLACE_INIT,
		.fd = -1,
		.temp = ST_TEMP_INIT,
		.deadline_ms = st_now_ms() + ST_JOB_WAIT_MS,
	};
	int code = st_root_locate_as(root, commit->path, ST_LOCATE_LINK, &job.place, err);
	if (code == 0)
		code = check_protected(job.place.path, guard->state_dir, err);
	if (code == 0 && job.place.exists)
		code = st_file_check(&job.place.st, job.place.path, st_job_max(&job), err);
	int tries = 0;
	bool ready = code == 0;
	for (; ready && (tries == 0 || code == ST_JOB_AGAIN) && tries < ST_JOB_TRIES_MAX; tries++)
		code = try_remove(&job, err);
	if (code == ST_JOB_AGAIN)
		code = st_job_busy(&job, "other processes kept changing it", err);
	done->path = job.place.path;
	job.place.path = NULL;
	return code;
}

int st_remove_plain(const struct st_place *place, const char *state_dir, struct stet_error *err) {
	int code = check_protected(place->path, state_dir, err);
	if (code < 0)
		return code;
	if (S_ISREG(place->st.st_mode))
		return st_fail(err, STET_E_KIND, "%s is a regular file.", st_shown(place->path));
	int flags = S_ISDIR(place->st.st_mode) ? AT_REMOVEDIR : 0;
	if (st_retry(unlinkat(place->dirfd, place->name, flags)) == 0)
		return 0;
	if (errno == ENOTEMPTY || errno == EEXIST)
		return st_fail(err, STET_E_KIND,
		               "%s is a directory that is not empty. Delete what is in it first, or pass "
		               "recursive.",
		               st_shown(place->path));
	return st_fail_errno(err, errno, "Cannot remove %s", st_shown(place->path));
}
