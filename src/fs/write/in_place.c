#include "fs/write/in_place.h"

#include "base/cancel.h"
#include "base/clock.h"
#include "fs/file/lease.h"
#include "fs/path/sys.h"

/* Overwrite the first `before` bytes; keep bytes that another process appends behind them. */
static int put_bytes(int fd, struct st_str bytes, size_t before) {
	if (st_pwrite_all(fd, 0, bytes) < 0)
		return -1;
	return bytes.len < before ? st_retry(ftruncate(fd, (off_t)bytes.len)) : 0;
}

/* Writing clears the setuid and setgid bits, unless root writes. */
static void restore_mode(struct st_commit_attempt *attempt) {
	mode_t mode = attempt->done->current.mode & 07777;
	if (mode & 06000 && st_retry(fchmod(attempt->fd, mode)) < 0)
		st_notices_add(&attempt->writes->notices,
		               "%s was written in place and lost its setuid or setgid bit.",
		               st_quoted(attempt->place.path));
}

/* Without a lease, another process may have written to the file while we made the safety copy. */
static bool is_as_read(const struct st_commit_attempt *attempt) {
	st_auto(st_file) now = ST_FILE_INIT;
	if (attempt->shared)
		return st_attempt_has_bytes(attempt, attempt->place.name, attempt->old);
	return attempt->leased || st_file_is(attempt->fd, attempt->old, &now);
}

static size_t count_other_names(const struct st_commit_attempt *attempt) {
	struct stat st;
	return st_retry(fstat(attempt->fd, &st)) == 0 && st.st_nlink > 1 ? st.st_nlink - 1 : 0;
}

static int rewrite(struct st_commit_attempt *attempt, struct stet_error *err) {
	struct st_str old = attempt->old, new = attempt->commit->bytes;
	struct st_rescue rescue = ST_RESCUE_INIT;
	struct stet_error why = {0};
	if (st_rescue_begin(&attempt->writes->rescued, attempt->place.path, old, &rescue, &why) < 0)
		st_notices_add(&attempt->writes->notices,
		               "%s was written in place without a safety copy: %s",
		               st_quoted(attempt->place.path), why.message);

	/* Reserve space first: a full disk must show before the old bytes are overwritten. */
	int failed = 0;
	if (new.len > old.len &&
	    st_retry(fallocate(attempt->fd, FALLOC_FL_KEEP_SIZE, 0, (off_t) new.len)) < 0 &&
	    (errno == ENOSPC || errno == EDQUOT))
		failed = -1;
	/* If another process replaced the file since we opened it, our write would be lost. */
	if (failed == 0 && (!st_attempt_is_named(attempt, &attempt->stamp) || !is_as_read(attempt))) {
		st_rescue_end(&attempt->writes->rescued, &rescue);
		return ST_ATTEMPT_AGAIN;
	}
	if (failed == 0)
		failed = put_bytes(attempt->fd, new, old.len);
	if (failed == 0 && !attempt->commit->relaxed)
		failed = st_retry(fsync(attempt->fd));
	if (failed == 0) {
		restore_mode(attempt);
		st_attempt_stamp_new(attempt, attempt->fd, NULL);
		st_rescue_end(&attempt->writes->rescued, &rescue);
		attempt->done->way = ST_COMMIT_IN_PLACE;
		attempt->done->other_names = count_other_names(attempt);
		return 0;
	}

	int errnum = errno;
	if (put_bytes(attempt->fd, old, new.len) == 0) {
		restore_mode(attempt);
		st_rescue_end(&attempt->writes->rescued, &rescue);
		return st_fail_errno(err, errnum, "%s was not written", st_quoted(attempt->place.path));
	}
	st_rescue_report(&attempt->writes->rescued, attempt->place.path, &rescue);
	return st_fail_errno(err, errnum,
	                     "%s was written in part, and its earlier content could not be restored",
	                     st_quoted(attempt->place.path));
}

/* Wait until no other process has the file open. After the deadline, only writers stop us. */
static int lease_for_writing(struct st_commit_attempt *attempt, struct stet_error *err) {
	if (attempt->shared)
		return 0;
	for (;;) {
		enum st_lease lease = st_lease_take(attempt->fd, F_WRLCK);
		attempt->leased = lease == ST_LEASE_HELD;
		if (lease != ST_LEASE_BUSY)
			return 0;
		if (st_now_ms() >= attempt->deadline_ms)
			break;
		if (st_cancel_sleep(1, err) < 0)
			return STET_E_CANCELLED;
	}
	st_autofd reader = st_retry(openat(attempt->place.dirfd, attempt->place.name,
	                                   O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
	st_close_at(&attempt->fd);
	bool written = reader >= 0 && st_lease_take(reader, F_RDLCK) == ST_LEASE_BUSY;
	st_close_at(&reader);
	if (written)
		return st_attempt_busy(attempt, "another process has it open for writing", err);
	attempt->fd = st_retry(openat(attempt->place.dirfd, attempt->place.name,
	                              O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
	return attempt->fd < 0 ? st_attempt_busy(attempt, "another process has it open", err) : 0;
}

int st_in_place(struct st_commit_attempt *attempt, struct stet_error *err) {
	st_attempt_close(attempt);
	do
		attempt->fd = st_retry(openat(attempt->place.dirfd, attempt->place.name,
		                              O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
	while (attempt->fd < 0 && errno == EAGAIN &&
	       st_attempt_wait(attempt, "another process is writing it", err) == ST_ATTEMPT_AGAIN);
	if (attempt->fd < 0 && errno == ENOENT)
		return ST_ATTEMPT_AGAIN;
	if (attempt->fd < 0)
		return st_fail_errno(err, errno, "Cannot write %s", st_quoted(attempt->place.path));

	int code = lease_for_writing(attempt, err);
	if (attempt->shared)
		st_file_freshen(attempt->fd);
	if (code == 0)
		code = st_attempt_lock(attempt, err);
	if (code < 0)
		return code;
	bool finished = false;
	code = st_attempt_compare(attempt, &finished, err);
	if (attempt->shared)
		st_file_buffer(attempt->fd);
	/* While we waited for the lease, another process may have replaced the file. */
	if ((code == 0 || code == STET_E_CONFLICT) &&
	    !st_attempt_is_named(attempt, &attempt->done->current.stamp))
		code = ST_ATTEMPT_AGAIN;
	if (code == 0 && !finished)
		code = st_cancel_check_now(err);
	/* From here on a cancellation must not interrupt the write. */
	st_cancel_hold();
	if (code == 0 && !finished)
		code = rewrite(attempt, err);
	st_cancel_release();
	st_attempt_unlock(attempt);
	return code;
}
