#include "fs/write/remove.h"

#include <stdio.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "fs/write/commit_attempt.h"
#include "fs/file/lease.h"
#include "fs/path/sys.h"
#include "fs/write/journal.h"

static int check_removable(const char *path, const char *state_dir, struct stet_error *err) {
	if (!st_path_is_protected(path, state_dir))
		return 0;
	return st_fail(err, STET_E_PROTECTED,
	               "%s belongs to git or to stet; removing it is not allowed. Use git itself for "
	               "it.",
	               st_quoted(path));
}

/* Open and read the file, and check that it is the expected version. */
static int compare_current(struct st_commit_attempt *attempt, struct stet_error *err) {
	struct st_file *file = &attempt->done->current;
	int code = st_attempt_open(attempt, err);
	if (code == 0)
		code = st_attempt_lease(attempt, err);
	if (code == 0)
		code = st_file_fetch(attempt->fd, attempt->place.path, st_attempt_max(attempt), file, err);
	if (code == 0)
		code = st_hash_cancellable(st_buf_str(&file->bytes), &file->hash, err);
	if (code < 0)
		return code;
	attempt->stamp = file->stamp;
	attempt->old = st_buf_str(&file->bytes);
	if (!st_hash_eq(&file->hash, attempt->commit->expected))
		return st_attempt_conflict(attempt, err);
	if (st_retry(faccessat(attempt->place.dirfd, attempt->place.name, W_OK, AT_EACCESS)) < 0)
		return errno == ENOENT
		           ? ST_ATTEMPT_AGAIN
		           : st_fail_errno(err, errno, "Cannot remove %s", st_quoted(attempt->place.path));
	return 0;
}

/* Another file has the name now, so we cannot rename the file back: rescue its bytes. */
static void rescue_foreign(struct st_commit_attempt *attempt) {
	st_autofd fd = st_retry(openat(attempt->place.dirfd, attempt->temp.name,
	                               O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
	st_auto(st_file) file = ST_FILE_INIT;
	if (fd >= 0 && st_file_read(fd, attempt->place.path, ST_RESCUED_MAX_BYTES, &file, NULL) == 0 &&
	    st_rescue(
			&attempt->writes->rescued, attempt->place.path, st_buf_str(&file.bytes),
			"Another process replaced this file twice during its removal; this is the earlier "
			"version.") == 0 &&
	    st_retry(unlinkat(attempt->place.dirfd, attempt->temp.name, 0)) == 0)
		return;
	st_notices_add(&attempt->writes->notices,
	               "Another process replaced %s; its file could not be put back and is now %s "
	               "beside it.",
	               st_quoted(attempt->place.path), attempt->temp.name);
}

static int restore_name(struct st_commit_attempt *attempt) {
	if (st_attempt_rename_new(attempt, attempt->temp.name, attempt->place.name) < 0)
		rescue_foreign(attempt);
	return ST_ATTEMPT_AGAIN;
}

/* Where renames are impossible, we can only check before the removal. */
static int unlink_at_once(struct st_commit_attempt *attempt, struct stet_error *err) {
	if (!st_attempt_is_verified(attempt, attempt->place.name))
		return ST_ATTEMPT_AGAIN;
	if (st_retry(unlinkat(attempt->place.dirfd, attempt->place.name, 0)) < 0)
		return st_fail_errno(err, errno, "Cannot remove %s", st_quoted(attempt->place.path));
	attempt->done->way = ST_COMMIT_VERIFIED;
	return 0;
}

/* The random name is free, so a plain rename is safe where RENAME_NOREPLACE is missing. */
static int rename_aside(const struct st_commit_attempt *attempt) {
	int dirfd = attempt->place.dirfd;
	const char *from = attempt->place.name, *to = attempt->temp.name;
	if (st_retry(renameat2(dirfd, from, dirfd, to, RENAME_NOREPLACE)) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -1;
	return st_retry(renameat(dirfd, from, dirfd, to));
}

static int remove_verified(struct st_commit_attempt *attempt, struct stet_error *err) {
	int code = st_temp_aside(&attempt->temp, attempt->place.name, attempt->commit->expected, err);
	if (code < 0)
		return code;
	if (rename_aside(attempt) < 0) {
		if (errno == ENOENT)
			return ST_ATTEMPT_AGAIN;
		if (errno == EINVAL || errno == ENOSYS || errno == EBUSY)
			return unlink_at_once(attempt, err);
		return st_fail_errno(err, errno, "Cannot remove %s", st_quoted(attempt->place.path));
	}
	if (!st_attempt_is_verified(attempt, attempt->temp.name))
		return restore_name(attempt);
	if (st_retry(unlinkat(attempt->place.dirfd, attempt->temp.name, 0)) < 0) {
		int errnum = errno;
		(void)restore_name(attempt);
		return st_fail_errno(err, errnum, "Cannot remove %s", st_quoted(attempt->place.path));
	}
	attempt->done->way = ST_COMMIT_EXCHANGED;
	return 0;
}

/* Watch the removed file for late writes. */
static void finish_removal(struct st_commit_attempt *attempt) {
	if (attempt->shared)
		attempt->done->unproven = st_trust_name(attempt->place.dirfd);
	if (attempt->leased)
		st_lease_drop(attempt->fd);
	st_late_writes_add(&attempt->writes->late_writes, attempt->fd, attempt->place.path,
	                   attempt->commit->expected, &attempt->stamp);
	attempt->fd = -1;
	if (!attempt->commit->relaxed)
		(void)st_retry(fsync(attempt->place.dirfd));
}

static int try_remove(struct st_commit_attempt *attempt, struct stet_error *err) {
	int code = compare_current(attempt, err);
	if (code == 0)
		code = st_attempt_lock(attempt, err);
	if (code == 0)
		code = st_cancel_check_now(err);
	/* From here on a cancellation must not interrupt the removal. */
	st_cancel_hold();
	if (code == 0)
		code = remove_verified(attempt, err);
	st_cancel_release();
	st_attempt_unlock(attempt);
	if (code == 0)
		finish_removal(attempt);
	return code;
}

int st_remove(const struct st_root *root, struct st_write_context *writes,
              const struct st_commit *commit, struct st_committed *done, struct stet_error *err) {
	__attribute__((cleanup(st_attempt_release))) struct st_commit_attempt attempt = {
		.commit = commit,
		.root = root,
		.writes = writes,
		.done = done,
		.place = ST_PLACE_INIT,
		.fd = -1,
		.temp = ST_TEMP_INIT,
		.deadline_ms = st_now_ms() + ST_ATTEMPT_WAIT_MS,
	};
	st_journal_recover(writes);
	int code = st_root_locate_as(root, commit->path, ST_LOCATE_LINK, &attempt.place, err);
	if (code == 0)
		code = check_removable(attempt.place.path, writes->state_dir, err);
	if (code == 0 && attempt.place.exists)
		code = st_file_check(&attempt.place.st, attempt.place.path, st_attempt_max(&attempt), err);
	int tries = 0;
	bool ready = code == 0;
	for (; ready && (tries == 0 || code == ST_ATTEMPT_AGAIN) && tries < ST_ATTEMPT_TRIES_MAX;
	     tries++)
		code = try_remove(&attempt, err);
	if (code == ST_ATTEMPT_AGAIN)
		code = st_attempt_busy(&attempt, "other processes kept changing it", err);
	done->path = attempt.place.path;
	attempt.place.path = NULL;
	return code;
}

int st_remove_plain(const struct st_place *place, const char *state_dir, struct stet_error *err) {
	int code = check_removable(place->path, state_dir, err);
	if (code < 0)
		return code;
	if (S_ISREG(place->st.st_mode))
		return st_fail(err, STET_E_KIND, "%s is a regular file.", st_quoted(place->path));
	int flags = S_ISDIR(place->st.st_mode) ? AT_REMOVEDIR : 0;
	if (st_retry(unlinkat(place->dirfd, place->name, flags)) == 0)
		return 0;
	if (errno == ENOTEMPTY || errno == EEXIST)
		return st_fail(err, STET_E_KIND,
		               "%s is a directory that is not empty. Delete what is in it first, or pass "
		               "recursive.",
		               st_quoted(place->path));
	return st_fail_errno(err, errno, "Cannot remove %s", st_quoted(place->path));
}
