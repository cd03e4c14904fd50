#include "fs/in_place.h"

#include "base/cancel.h"
#include "base/clock.h"
#include "fs/lease.h"
#include "fs/sys.h"

/* In the place of so many; what others append behind them stays. */
static int put_bytes(int fd, struct st_str bytes, size_t before) {
	if (st_pwrite_all(fd, 0, bytes) < 0)
		return -1;
	return bytes.len < before ? st_retry(ftruncate(fd, (off_t)bytes.len)) : 0;
}

/* Writing takes the setuid and setgid bits away, unless root writes. */
static void restore_mode(struct st_job *job) {
	mode_t mode = job->done->current.mode & 07777;
	if (mode & 06000 && st_retry(fchmod(job->fd, mode)) < 0)
		st_notices_add(&job->guard->notices,
		               "%s was written in place and lost its setuid or setgid bit.",
		               st_shown(job->place.path));
}

/* Without a lease others may have written to it until now: copy and space took their time. */
static bool is_as_read(const struct st_job *job) {
	st_auto(st_file) now = ST_FILE_INIT;
	if (job->shared)
		return st_job_reads(job, job->place.name, job->old);
	return job->leased || st_file_is(job->fd, job->old, &now);
}

static size_t other_names(const struct st_job *job) {
	struct stat st;
	return st_retry(fstat(job->fd, &st)) == 0 && st.st_nlink > 1 ? st.st_nlink - 1 : 0;
}

static int rewrite(struct st_job *job, struct stet_error *err) {
	struct st_str old = job->old, new = job->commit->bytes;
	struct st_rescue rescue = ST_RESCUE_INIT;
	struct stet_error why = {0};
	if (st_rescue_begin(&job->guard->rescued, job->place.path, old, &rescue, &why) < 0)
		st_notices_add(&job->guard->notices, "%s was written in place without a safety copy: %s",
		               st_shown(job->place.path), why.message);

	/* Space is asked for first, so that a full disk is noticed while nothing is lost. */
	int failed = 0;
	if (new.len > old.len &&
	    st_retry(fallocate(job->fd, FALLOC_FL_KEEP_SIZE, 0, (off_t) new.len)) < 0 &&
	    (errno == ENOSPC || errno == EDQUOT))
		failed = -1;
	/* It may have been replaced since it was opened; then nobody would see what is written to it. */
	if (failed == 0 && (!st_job_is_named(job, &job->stamp) || !is_as_read(job))) {
		st_rescue_end(&job->guard->rescued, &rescue);
		return ST_JOB_AGAIN;
	}
	if (failed == 0)
		failed = put_bytes(job->fd, new, old.len);
	if (failed == 0 && !job->commit->relaxed)
		failed = st_retry(fsync(job->fd));
	if (failed == 0) {
		restore_mode(job);
		st_job_stamp_new(job, job->fd, NULL);
		st_rescue_end(&job->guard->rescued, &rescue);
		job->done->way = ST_COMMIT_IN_PLACE;
		job->done->other_names = other_names(job);
		return 0;
	}

	int errnum = errno;
	if (put_bytes(job->fd, old, new.len) == 0) {
		restore_mode(job);
		st_rescue_end(&job->guard->rescued, &rescue);
		return st_fail_errno(err, errnum, "%s was not written", st_shown(job->place.path));
	}
	st_rescue_leave(&job->guard->rescued, job->place.path, &rescue);
	return st_fail_errno(err, errnum,
	                     "%s was written in part, and what it held could not be put back",
	                     st_shown(job->place.path));
}

/* Wait until nobody else has the file open; readers alone do not stop us in the end. */
static int lease_for_writing(struct st_job *job, struct stet_error *err) {
	if (job->shared)
		return 0;
	for (;;) {
		enum st_lease lease = st_lease_take(job->fd, F_WRLCK);
		job->leased = lease == ST_LEASE_HELD;
		if (lease != ST_LEASE_BUSY)
			return 0;
		if (st_now_ms() >= job->deadline_ms)
			break;
		if (st_cancel_sleep(1, err) < 0)
			return STET_E_CANCELLED;
	}
	st_autofd reader = st_retry(
		openat(job->place.dirfd, job->place.name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
	st_close_at(&job->fd);
	bool written = reader >= 0 && st_lease_take(reader, F_RDLCK) == ST_LEASE_BUSY;
	st_close_at(&reader);
	if (written)
		return st_job_busy(job, "another process has it open for writing", err);
	job->fd = st_retry(
		openat(job->place.dirfd, job->place.name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
	return job->fd < 0 ? st_job_busy(job, "another process has it open", err) : 0;
}

int st_in_place(struct st_job *job, struct stet_error *err) {
	st_job_let_go(job);
	do
		job->fd = st_retry(openat(job->place.dirfd, job->place.name,
		                          O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
	while (job->fd < 0 && errno == EAGAIN &&
	       st_job_wait(job, "another process is writing it", err) == ST_JOB_AGAIN);
	if (job->fd < 0 && errno == ENOENT)
		return ST_JOB_AGAIN;
	if (job->fd < 0)
		return st_fail_errno(err, errno, "%s may not be written", st_shown(job->place.path));

	int code = lease_for_writing(job, err);
	if (job->shared)
		st_file_freshen(job->fd);
	if (code == 0)
		code = st_job_lock(job, err);
	if (code < 0)
		return code;
	bool finished = false;
	code = st_job_compare(job, &finished, err);
	if (job->shared)
		st_file_buffer(job->fd);
	/* Waiting for the lease took its time: what was opened may no longer have the name. */
	if ((code == 0 || code == STET_E_CONFLICT) && !st_job_is_named(job, &job->done->current.stamp))
		code = ST_JOB_AGAIN;
	if (code == 0 && !finished)
		code = st_cancel_look(err);
	/* From here on it is written, whoever waits. */
	st_cancel_hold();
	if (code == 0 && !finished)
		code = rewrite(job, err);
	st_cancel_release();
	st_job_unlock(job);
	return code;
}
