#include "fs/write/commit.h"

#include <limits.h>
#include <stdio.h>
#include <sys/file.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "fs/write/in_place.h"
#include "fs/file/lease.h"
#include "fs/path/sys.h"
#include "fs/write/journal.h"

/* How often to exchange the files back, and how often to repeat a stat that fails. */
enum { TURNS_MAX = 16, STATS_MAX = 3 };

/* ---- leftovers of crashed commits ---- */

/* Before our own temporary file changes the directory. */
static void check_clean(struct st_commit_attempt *attempt) {
	struct stat dir = {0};
	bool seen = st_retry(fstat(attempt->place.dirfd, &dir)) == 0;
	attempt->clean = seen && st_temp_is_swept(attempt->writes, &dir);
	attempt->shared =
		st_root_trust(attempt->root, attempt->place.dirfd, dir.st_dev) == ST_TRUST_NONE;
}

/* With the lock held. The directory is still clean if only our temporary file has changed it. */
static void sweep_dir(struct st_commit_attempt *attempt) {
	struct stat dir;
	if (attempt->clean)
		attempt->clean = st_retry(fstat(attempt->place.dirfd, &dir)) == 0 &&
		                 memcmp(&dir.st_mtim, &attempt->temp.dir_mtime, sizeof dir.st_mtim) == 0;
	if (attempt->clean || !attempt->locked)
		return;
	char path[PATH_MAX];
	size_t len = (size_t)(attempt->place.name - attempt->place.path);
	snprintf(path, sizeof path, "%.*s", (int)(len > 0 ? len - 1 : 0), attempt->place.path);
	attempt->clean = st_temp_sweep(attempt->writes, &attempt->temp, path);
}

/* ---- reading the old version ---- */

/* Open and lease the file, and check that it is the expected version. */
static int compare_old(struct st_commit_attempt *attempt, bool *finished, struct stet_error *err) {
	int code = st_attempt_open(attempt, err);
	if (code == 0)
		code = st_attempt_lease(attempt, err);
	/* A stamp is no proof: a write changes the times before it changes the bytes. */
	return code < 0 ? code : st_attempt_compare(attempt, finished, err);
}

/* An exchange would succeed even on a file that this user may not write. */
static int check_writable(struct st_commit_attempt *attempt, struct stet_error *err) {
	if (st_retry(faccessat(attempt->place.dirfd, attempt->place.name, W_OK, AT_EACCESS)) == 0)
		return 0;
	if (errno == ENOENT)
		return ST_ATTEMPT_AGAIN;
	return st_fail_errno(err, errno, "Cannot write %s", st_quoted(attempt->place.path));
}

/* ---- exchanging ---- */

/* The last check before the exchange. */
static bool is_unchanged(const struct st_commit_attempt *attempt) {
	struct st_stamp now = st_attempt_stamp_at(attempt, attempt->place.name);
	return st_stamp_eq(&now, &attempt->stamp) &&
	       (!attempt->leased || st_lease_holds(attempt->fd, F_RDLCK));
}

/*
 * Two steps on filesystems without exchange: link the old file to a second
 * name, then rename the new file over the first. If another process renames a
 * file to that name in between, its file is lost. ENOTSUP if links fail, too.
 */
static int exchange_by_links(struct st_commit_attempt *attempt) {
	int dirfd = attempt->place.dirfd;
	char second[ST_TEMP_NAME];
	if (st_temp_second_name(&attempt->temp, second) < 0)
		return -1;
	if (st_retry(linkat(dirfd, attempt->place.name, dirfd, second, 0)) < 0) {
		if (errno != ENOENT)
			errno = ENOTSUP;
		return -1;
	}
	if (st_retry(renameat(dirfd, attempt->temp.name, dirfd, attempt->place.name)) < 0) {
		int errnum = errno;
		(void)st_retry(unlinkat(dirfd, second, 0));
		errno = errnum;
		return -1;
	}
	memcpy(attempt->temp.name, second, sizeof second);
	return 0;
}

static int exchange(struct st_commit_attempt *attempt) {
	int dirfd = attempt->place.dirfd;
	if (!attempt->by_links && st_retry(renameat2(dirfd, attempt->temp.name, dirfd,
	                                             attempt->place.name, RENAME_EXCHANGE)) == 0)
		return 0;
	if (!attempt->by_links && errno != EINVAL && errno != ENOSYS && errno != ENOTSUP)
		return -1;
	attempt->by_links = true;
	return exchange_by_links(attempt);
}

/* Identifies a file: by inode, or by its bytes where inode numbers are not reliable. */
static uint64_t identity_of(const struct st_commit_attempt *attempt, ino_t inode,
                            const struct st_hash *hash) {
	uint64_t identity = inode;
	if (attempt->shared)
		memcpy(&identity, hash->bytes, sizeof identity);
	return identity;
}

static uint64_t own_identity(const struct st_commit_attempt *attempt) {
	return identity_of(attempt, attempt->temp.stamp.ino, &attempt->done->version.hash);
}

/* The identity of the file under the temporary name; 0 if there is none. */
static uint64_t identity_at_temp(const struct st_commit_attempt *attempt) {
	struct stat st;
	struct st_hash hash = {0};
	for (int i = 0; i < STATS_MAX; i++) {
		if (st_retry(fstatat(attempt->place.dirfd, attempt->temp.name, &st, AT_SYMLINK_NOFOLLOW)) ==
		        0 &&
		    (!attempt->shared || st_attempt_hash(attempt, attempt->temp.name, &hash) == 0))
			return identity_of(attempt, st.st_ino, &hash);
		if (errno == ENOENT)
			break;
	}
	return 0;
}

/*
 * The temporary name leads to another process's file: rescue its bytes. False
 * if that failed.
 */
static bool rescue_foreign(struct st_commit_attempt *attempt) {
	st_autofd fd = st_retry(openat(attempt->place.dirfd, attempt->temp.name,
	                               O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
	if (fd < 0)
		return errno == ENOENT;
	st_auto(st_file) file = ST_FILE_INIT;
	if (st_file_read(fd, attempt->place.path, ST_RESCUED_MAX_BYTES, &file, NULL) < 0)
		return false;
	char why[PATH_MAX + 128];
	snprintf(why, sizeof why,
	         "Two other processes replaced %s at the same moment; this is the earlier version.",
	         st_quoted(attempt->place.path));
	if (!st_hash_eq(&file.hash, attempt->commit->expected) &&
	    st_rescue(&attempt->writes->rescued, attempt->place.path, st_buf_str(&file.bytes), why) < 0)
		return false;
	file.stamp.racy |= !file.stamped;
	st_late_writes_add(&attempt->writes->late_writes, fd, attempt->place.path, &file.hash,
	                   &file.stamp);
	fd = -1;
	return true;
}

/* The file stays under its temporary name; the next commit in this directory tries again. */
static void leave_foreign(struct st_commit_attempt *attempt) {
	attempt->temp.named = false;
	st_notices_add(&attempt->writes->notices,
	               "Another process replaced %s; its file could not be put back and is now %s "
	               "beside it.",
	               st_quoted(attempt->place.path), attempt->temp.name);
}

/* Our file had the target's name for a moment: another process may have opened it for writing. */
static void watch_own_file(struct st_commit_attempt *attempt) {
	int fd = st_retry(fcntl(attempt->temp.fd, F_DUPFD_CLOEXEC, 0));
	if (fd >= 0)
		st_late_writes_add(&attempt->writes->late_writes, fd, attempt->place.path,
		                   &attempt->done->version.hash, &attempt->temp.stamp);
}

/*
 * Undo an exchange. Each turn exchanges the two names again and looks at the
 * file that is now under the temporary name. If that is the file that the turn
 * before put in place, everything is as it would be without us. If not, another
 * process replaced the file in between, and the next turn puts its newer file
 * back.
 */
static void put_back(struct st_commit_attempt *attempt) {
	uint64_t own = own_identity(attempt), placed = own;
	for (int turn = 0; turn < TURNS_MAX; turn++) {
		uint64_t next = identity_at_temp(attempt);
		if (exchange(attempt) < 0) {
			if (errno == ENOENT)
				break;
			continue;
		}
		if (identity_at_temp(attempt) == placed)
			break;
		placed = next;
	}
	if (identity_at_temp(attempt) == own)
		watch_own_file(attempt);
	else if (!rescue_foreign(attempt))
		leave_foreign(attempt);
}

static int sync_dir(const struct st_commit_attempt *attempt) {
	if (attempt->commit->relaxed || st_retry(fsync(attempt->place.dirfd)) == 0)
		return 0;
	/* Some filesystems cannot sync a directory, and an O_PATH descriptor cannot either. */
	return errno == EINVAL || errno == EBADF || errno == ENOTSUP ? 0 : -1;
}

static int fail_unsynced(struct st_commit_attempt *attempt, struct stet_error *err) {
	return st_fail_errno(err, errno, "%s was not written: the directory cannot be synced",
	                     st_quoted(attempt->place.path));
}

static void warn_unsynced(struct st_commit_attempt *attempt) {
	st_notices_add(&attempt->writes->notices,
	               "%s was written, but its directory cannot be synced: a crash of the "
	               "machine may undo it.",
	               st_quoted(attempt->place.path));
}

/* Move the old file to the versions, or remove it. False if it is still there. */
static bool discard_old(struct st_commit_attempt *attempt) {
	int dirfd = attempt->place.dirfd;
	const char *name = attempt->temp.name;
	attempt->done->archived =
		attempt->commit->archive && st_versions_move(&attempt->writes->versions, attempt->fd, dirfd,
	                                                 name, attempt->commit->expected);
	return attempt->done->archived || st_retry(unlinkat(dirfd, name, 0)) == 0 || errno == ENOENT ||
	       st_retry(unlinkat(dirfd, name, 0)) == 0 || errno == ENOENT;
}

/*
 * Discard the old file. Remember the directory as clean if no other process
 * changed it since `before` (NULL if we held the lock all the time).
 */
static void remove_old(struct st_commit_attempt *attempt, const struct stat *before) {
	struct stat dir = {0};
	if (!attempt->temp.named)
		return;
	bool ours = attempt->clean &&
	            (!before || (st_retry(fstat(attempt->place.dirfd, &dir)) == 0 &&
	                         memcmp(&dir.st_mtim, &before->st_mtim, sizeof dir.st_mtim) == 0));
	if (!discard_old(attempt)) {
		st_notices_add(&attempt->writes->notices,
		               "The earlier version of %s could not be removed and is still there as %s.",
		               st_quoted(attempt->place.path), attempt->temp.name);
		ours = false;
	}
	attempt->temp.named = false;
	if (ours && attempt->locked && st_retry(fstat(attempt->place.dirfd, &dir)) == 0)
		st_temp_set_swept(attempt->writes, &dir);
}

/*
 * Sync without the directory's lock, so that other commits need not wait. The
 * lock on the old file tells them that it is not a leftover. If the sync fails,
 * put the old file back.
 */
static int sync_exchange(struct st_commit_attempt *attempt, struct stet_error *err) {
	(void)st_retry(flock(attempt->fd, LOCK_EX | LOCK_NB));
	st_attempt_unlock(attempt);
	int synced = sync_dir(attempt);
	int code = synced < 0 ? fail_unsynced(attempt, err) : 0;
	(void)st_attempt_lock(attempt, NULL);
	if (code == 0)
		return 0;
	put_back(attempt);
	if (attempt->shared
	        ? !st_attempt_has_bytes(attempt, attempt->place.name, attempt->commit->bytes)
	        : !st_attempt_is_named(attempt, &attempt->temp.stamp))
		return code;
	warn_unsynced(attempt);
	return 0;
}

static int finish_exchange(struct st_commit_attempt *attempt, struct stet_error *err) {
	struct stat dir = {0};
	st_attempt_stamp_new(attempt, attempt->temp.fd, &attempt->temp.stamp);
	if (!attempt->commit->relaxed) {
		(void)st_retry(fstat(attempt->place.dirfd, &dir));
		int code = sync_exchange(attempt, err);
		if (code < 0)
			return code;
	}
	remove_old(attempt, attempt->commit->relaxed ? NULL : &dir);
	if (attempt->leased)
		st_lease_drop(attempt->fd);
	st_late_writes_add(&attempt->writes->late_writes, attempt->fd, attempt->place.path,
	                   attempt->commit->expected, &attempt->stamp);
	attempt->fd = -1;
	attempt->done->way = attempt->by_links ? ST_COMMIT_VERIFIED : ST_COMMIT_EXCHANGED;
	return 0;
}

/* Without exchange and links: we can only check before the rename, not after it. */
static int rename_over(struct st_commit_attempt *attempt, struct stet_error *err) {
	if (!is_unchanged(attempt) ||
	    (!attempt->leased && !st_attempt_is_verified(attempt, attempt->place.name)))
		return ST_ATTEMPT_AGAIN;
	if (st_retry(renameat(attempt->place.dirfd, attempt->temp.name, attempt->place.dirfd,
	                      attempt->place.name)) < 0)
		return st_fail_errno(err, errno, "Cannot replace %s", st_quoted(attempt->place.path));
	attempt->temp.named = false;
	st_attempt_stamp_new(attempt, attempt->temp.fd, &attempt->temp.stamp);
	if (attempt->leased)
		st_lease_drop(attempt->fd);
	st_late_writes_add(&attempt->writes->late_writes, attempt->fd, attempt->place.path,
	                   attempt->commit->expected, &attempt->stamp);
	attempt->fd = -1;
	attempt->done->way = ST_COMMIT_VERIFIED;
	if (sync_dir(attempt) < 0)
		warn_unsynced(attempt);
	return 0;
}

static int exchange_and_verify(struct st_commit_attempt *attempt, struct stet_error *err) {
	if (!is_unchanged(attempt))
		return ST_ATTEMPT_AGAIN;
	if (exchange(attempt) < 0) {
		switch (errno) {
		case ENOENT:
			return ST_ATTEMPT_AGAIN;
		case EINVAL:
		case ENOSYS:
		case ENOTSUP:
			return rename_over(attempt, err);
		case EBUSY:
		case EXDEV:
		case EPERM:
		case EACCES:
			return ST_ATTEMPT_IN_PLACE;
		default:
			return st_fail_errno(err, errno, "Cannot replace %s", st_quoted(attempt->place.path));
		}
	}
	/* Now verify that we replaced the expected version. */
	if (st_attempt_is_verified(attempt, attempt->temp.name))
		return finish_exchange(attempt, err);
	put_back(attempt);
	return ST_ATTEMPT_AGAIN;
}

static int write_temp(struct st_commit_attempt *attempt, struct stet_error *err) {
	check_clean(attempt);
	const struct st_temp_plan plan = {
		.target = attempt->place.name,
		.like = attempt->fd,
		.expected = attempt->commit->expected,
		.bytes = attempt->commit->bytes,
		.relaxed = attempt->commit->relaxed,
		.hash = attempt->done->version.hash,
	};
	int code = st_temp_write(&attempt->temp, attempt->place.dirfd, &plan, err);
	while (code == STET_E_NO_SPACE && errno != EFBIG && st_write_free_space(attempt->writes))
		code = st_temp_write(&attempt->temp, attempt->place.dirfd, &plan, err);
	return code == 1 ? ST_ATTEMPT_IN_PLACE : code;
}

/* Some directories allow new files but no renames and removals. */
static void abandon_temp(struct st_commit_attempt *attempt) {
	if (st_retry(unlinkat(attempt->place.dirfd, attempt->temp.name, 0)) < 0 && errno != ENOENT)
		st_notices_add(&attempt->writes->notices,
		               "The directory of %s does not allow renaming or removing files, so %s stays "
		               "there.",
		               st_quoted(attempt->place.path), attempt->temp.name);
	attempt->temp.named = false;
}

static int arm_temp(struct st_commit_attempt *attempt, struct stet_error *err) {
	if (st_temp_arm(&attempt->temp) == 0)
		return 0;
	/* Another commit took it for a leftover and removed it before we locked it. */
	if (errno == ENOENT)
		return ST_ATTEMPT_AGAIN;
	if (errno == EPERM || errno == EACCES) {
		abandon_temp(attempt);
		return ST_ATTEMPT_IN_PLACE;
	}
	return st_fail_errno(err, errno, "Cannot replace %s", st_quoted(attempt->place.path));
}

static int replace_file(struct st_commit_attempt *attempt, struct stet_error *err) {
	int code = write_temp(attempt, err);
	/* The user may write the file, but not its directory. */
	if (code == STET_E_ACCESS)
		return ST_ATTEMPT_IN_PLACE;
	if (code != 0)
		return code;
	/* A FUSE filesystem may keep a file that is open under a hidden name when it is replaced. */
	if (attempt->shared)
		st_close_at(&attempt->fd);
	code = st_attempt_lock(attempt, err);
	if (code == 0)
		code = st_cancel_check_now(err);
	/* From here on a cancellation must not interrupt the exchange. */
	st_cancel_hold();
	if (code == 0) {
		sweep_dir(attempt);
		code = arm_temp(attempt, err);
	}
	if (code == 0)
		code = exchange_and_verify(attempt, err);
	st_cancel_release();
	if (code != 0)
		st_temp_release(&attempt->temp);
	st_attempt_unlock(attempt);
	return code;
}

/* ---- creating ---- */

/* Without RENAME_NOREPLACE and links: claim the name with an empty file, then rename over it. */
static int claim_name(struct st_commit_attempt *attempt) {
	int dirfd = attempt->place.dirfd;
	st_autofd fd = st_retry(openat(dirfd, attempt->place.name,
	                               O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
	if (fd < 0)
		return -1;
	attempt->done->unproven = st_trust_name(fd);
	if (st_retry(renameat(dirfd, attempt->temp.name, dirfd, attempt->place.name)) == 0)
		return 0;
	int errnum = errno;
	(void)st_retry(unlinkat(dirfd, attempt->place.name, 0));
	errno = errnum;
	return -1;
}

static bool cannot_link(int errnum) {
	return errnum == EPERM || errnum == ENOSYS || errnum == ENOTSUP;
}

static int give_name(struct st_commit_attempt *attempt, struct stet_error *err) {
	int failed = st_attempt_rename_new(attempt, attempt->temp.name, attempt->place.name);
	if (failed < 0 && cannot_link(errno))
		failed = claim_name(attempt);
	if (failed == 0) {
		attempt->temp.named = false;
		st_attempt_stamp_new(attempt, attempt->temp.fd, &attempt->temp.stamp);
		return 0;
	}
	/* Another process created the file first, or took our temporary file for a leftover. */
	if (errno == EEXIST || errno == ENOENT)
		return ST_ATTEMPT_AGAIN;
	return st_fail_errno(err, errno, "Cannot create %s", st_quoted(attempt->place.path));
}

/* Remove our new file, unless another process has changed or replaced it. */
static void remove_created(struct st_commit_attempt *attempt) {
	struct stat st;
	if (st_retry(fstat(attempt->temp.fd, &st)) == 0 &&
	    st_attempt_is_named(attempt, &attempt->temp.stamp)) {
		struct st_stamp now = st_stamp_of(&st);
		if (st_stamp_eq_content(&now, &attempt->temp.stamp))
			(void)st_retry(unlinkat(attempt->place.dirfd, attempt->place.name, 0));
	}
}

static int create_file(struct st_commit_attempt *attempt, struct stet_error *err) {
	int code = write_temp(attempt, err);
	if (code < 0)
		return code;
	code = st_attempt_lock(attempt, err);
	if (code == 0)
		code = st_cancel_check_now(err);
	if (code == 0) {
		sweep_dir(attempt);
		code = give_name(attempt, err);
	}
	st_attempt_unlock(attempt);
	if (code == 0 && sync_dir(attempt) < 0) {
		code = fail_unsynced(attempt, err);
		remove_created(attempt);
	}
	if (code != 0) {
		st_temp_release(&attempt->temp);
		return code;
	}
	attempt->done->way = ST_COMMIT_CREATED;
	return 0;
}

/* ---- attempts ---- */

/* On filesystems where others write unseen: say what stet cannot promise. */
static void check_unproven(struct st_commit_attempt *attempt) {
	if (!attempt->shared)
		return;
	attempt->done->unproven = st_trust_name(attempt->place.dirfd);
	attempt->done->overtaken =
		!st_attempt_has_bytes(attempt, attempt->place.name, attempt->commit->bytes);
}

static int try_replace(struct st_commit_attempt *attempt, struct stet_error *err) {
	bool finished = false;
	int code = compare_old(attempt, &finished, err);
	if (code < 0 || finished)
		return code;
	code = check_writable(attempt, err);
	if (code != 0)
		return code;
	code = attempt->done->current.links > 1 ? ST_ATTEMPT_IN_PLACE : replace_file(attempt, err);
	if (code == ST_ATTEMPT_IN_PLACE)
		code = st_in_place(attempt, err);
	if (code == 0 && !attempt->done->noop)
		check_unproven(attempt);
	return code;
}

static int try_create(struct st_commit_attempt *attempt, struct stet_error *err) {
	if (!attempt->place.exists) {
		int code = create_file(attempt, err);
		if (code == ST_ATTEMPT_AGAIN)
			attempt->place.exists = true;
		return code;
	}
	/* A file exists: it holds our bytes already, or this is a conflict. If it is gone, try again. */
	attempt->place.exists = false;
	int code = st_attempt_open(attempt, err);
	if (code == STET_E_CONFLICT) {
		attempt->done->deleted = false;
		return ST_ATTEMPT_AGAIN;
	}
	if (code < 0)
		return code;
	bool finished = false;
	return st_attempt_compare(attempt, &finished, err);
}

static int try_until_done(struct st_commit_attempt *attempt, struct stet_error *err) {
	attempt->deadline_ms = st_now_ms() + ST_ATTEMPT_WAIT_MS;
	for (int i = 0; i < ST_ATTEMPT_TRIES_MAX; i++) {
		attempt->done->noop = false;
		if (st_cancel_check_now(err) < 0)
			return STET_E_CANCELLED;
		int code = attempt->commit->expected ? try_replace(attempt, err) : try_create(attempt, err);
		if (code != ST_ATTEMPT_AGAIN)
			return code;
		if (st_now_ms() >= attempt->deadline_ms)
			break;
	}
	return st_attempt_busy(attempt, "other processes kept changing it", err);
}

static int locate_target(struct st_commit_attempt *attempt, struct stet_error *err) {
	int code = st_root_locate(attempt->root, attempt->commit->path, &attempt->place, err);
	if (code < 0)
		return code;
	if (st_path_is_protected(attempt->place.path, attempt->writes->state_dir))
		return st_fail(
			err, STET_E_PROTECTED,
			"%s belongs to git or to stet; writing it is not allowed. Use git itself for "
			"it.",
			st_quoted(attempt->place.path));
	return attempt->place.exists ? st_file_check(&attempt->place.st, attempt->place.path,
	                                             st_attempt_max(attempt), err)
	                             : 0;
}

const char *st_commit_way_name(enum st_commit_way way) {
	static const char *const names[] = {
#define X(name, text) text,
		ST_COMMIT_WAYS(X)
#undef X
	};
	return names[way];
}

void st_committed_release(struct st_committed *done) {
	free(done->path);
	st_file_release(&done->current);
	*done = (struct st_committed)ST_COMMITTED_INIT;
}

int st_commit(const struct st_root *root, struct st_write_context *writes,
              const struct st_commit *commit, struct st_committed *done, struct stet_error *err) {
	__attribute__((cleanup(st_attempt_release))) struct st_commit_attempt attempt = {
		.commit = commit,
		.root = root,
		.writes = writes,
		.done = done,
		.place = ST_PLACE_INIT,
		.fd = -1,
		.temp = ST_TEMP_INIT,
	};
	st_late_writes_check(&writes->late_writes);
	if (!writes->rescued.recovered)
		st_rescued_recover(&writes->rescued);
	st_journal_recover(writes);
	int code = locate_target(&attempt, err);
	if (code == 0)
		code = st_hash_cancellable(commit->bytes, &done->version.hash, err);
	if (code == 0)
		code = try_until_done(&attempt, err);
	done->version.exists = code == 0;
	done->path = attempt.place.path;
	attempt.place.path = NULL;
	return code;
}
