#include "fs/commit.h"

#include <limits.h>
#include <stdio.h>
#include <sys/file.h>

#include "base/clock.h"
#include "fs/displaced.h"
#include "fs/keep.h"
#include "fs/lease.h"
#include "fs/sys.h"
#include "fs/temp.h"

/* How long others are waited for, and how often their interference is met with another try. */
enum { WAIT_MS = 1000, TRIES_MAX = 100, TURNS_MAX = 16, LOOKS_MAX = 3 };

/* What a step of a try may answer besides 0 and an error code. */
enum { AGAIN = 1, IN_PLACE = 2 };

/* One commit in the making. */
struct job {
	const struct st_commit *commit;
	const struct st_root *root;
	struct st_guard *guard;
	struct st_committed *done;
	struct st_place place;
	int64_t deadline_ms;
	/* The file to replace: open, and leased if that is to be had. */
	int fd;
	bool leased;
	struct st_stamp stamp;
	struct st_temp temp;
	bool locked;
	/* No leftover of another commit is in the directory. */
	bool clean;
};

static size_t size_limit(const struct job *job) {
	return job->commit->max ? job->commit->max : ST_FILE_MAX;
}

static int busy(const struct job *job, const char *what, struct stet_error *err) {
	return st_fail(err, STET_E_BUSY, "%s was not written: %s. Nothing was changed. Try again.",
	               st_shown(job->place.path), what);
}

/* AGAIN after a pause, or the refusal when the time is up. */
static int wait_or(struct job *job, const char *what, struct stet_error *err) {
	if (st_now_ms() >= job->deadline_ms)
		return busy(job, what, err);
	st_sleep_ms(1);
	return AGAIN;
}

/* ---- the directory's lock: processes that commit through stet take turns ---- */

static int lock_dir(struct job *job, struct stet_error *err) {
	while (st_retry(flock(job->place.dirfd, LOCK_EX | LOCK_NB)) < 0) {
		/* No locks here: the exchange is verified all the same. */
		if (errno != EWOULDBLOCK)
			return 0;
		if (wait_or(job, "other writers keep its directory busy", err) < 0)
			return STET_E_BUSY;
	}
	job->locked = true;
	return 0;
}

static void unlock_dir(struct job *job) {
	if (job->locked)
		(void)st_retry(flock(job->place.dirfd, LOCK_UN));
	job->locked = false;
}

/* Asked before the directory changes by our own temporary file. */
static void ask_if_clean(struct job *job) {
	struct stat dir;
	job->clean =
		st_retry(fstat(job->place.dirfd, &dir)) == 0 && st_guard_is_swept(job->guard, &dir);
}

/* With the lock: it is still clean if nothing but our temporary file came into it. */
static void sweep(struct job *job) {
	struct stat dir;
	if (job->clean)
		job->clean = st_retry(fstat(job->place.dirfd, &dir)) == 0 &&
		             memcmp(&dir.st_mtim, &job->temp.dir_mtime, sizeof dir.st_mtim) == 0;
	if (job->clean || !job->locked)
		return;
	char path[PATH_MAX];
	size_t len = (size_t)(job->place.name - job->place.path);
	snprintf(path, sizeof path, "%.*s", (int)(len > 0 ? len - 1 : 0), job->place.path);
	job->clean = st_temp_sweep(job->guard, &job->temp, path);
}

/* ---- looking at what is there ---- */

static int conflict(struct job *job, struct stet_error *err) {
	if (job->done->deleted)
		return st_fail(err, STET_E_CONFLICT, "%s was deleted since it was last seen.",
		               st_shown(job->place.path));
	if (!job->commit->expected)
		return st_fail(err, STET_E_CONFLICT, "%s exists already. Read it before writing it.",
		               st_shown(job->place.path));
	return st_fail(err, STET_E_CONFLICT, "%s was changed since it was last seen.",
	               st_shown(job->place.path));
}

static int noop(struct job *job, const struct st_file *file) {
	job->done->noop = true;
	job->done->way = ST_COMMIT_NONE;
	job->done->stamp = file->stamp;
	job->done->stamp.racy |= !file->stamped;
	return 0;
}

/* Read the file that is open; 0 if it is the expected version, else noop, conflict or a failure. */
static int compare(struct job *job, bool *finished, struct stet_error *err) {
	struct st_file *file = &job->done->current;
	int code = st_file_read(job->fd, job->place.path, size_limit(job), file, err);
	if (code < 0)
		return code;
	*finished = true;
	if (st_hash_eq(&file->hash, &job->done->hash))
		return noop(job, file);
	if (!job->commit->expected || !st_hash_eq(&file->hash, job->commit->expected))
		return conflict(job, err);
	*finished = false;
	job->stamp = file->stamp;
	return 0;
}

static int open_old(struct job *job, struct stet_error *err) {
	st_close_at(&job->fd);
	job->leased = false;
	int fd = st_file_open(&job->place, err);
	if (fd == STET_E_NOT_FOUND) {
		job->done->deleted = true;
		return conflict(job, err);
	}
	if (fd < 0)
		return fd;
	job->fd = fd;
	return 0;
}

static int lease_old(struct job *job, struct stet_error *err) {
	for (;;) {
		enum st_lease lease = st_lease_take(job->fd, F_RDLCK);
		job->leased = lease == ST_LEASE_HELD;
		if (lease != ST_LEASE_BUSY)
			return 0;
		int code = wait_or(job, "another process has it open for writing", err);
		if (code < 0)
			return code;
	}
}

/* Open, lease, and make sure it is the version that was expected. */
static int meet_old(struct job *job, bool *finished, struct stat *st, struct stet_error *err) {
	int code = open_old(job, err);
	if (code == 0)
		code = lease_old(job, err);
	if (code < 0)
		return code;
	if (st_retry(fstat(job->fd, st)) < 0)
		return st_fail_errno(err, errno, "Cannot look at %s", st_shown(job->place.path));
	code = st_file_check(st, job->place.path, size_limit(job), err);
	if (code < 0)
		return code;
	/* No stamp can stand in for the bytes: a write moves the times before it moves the bytes. */
	return compare(job, finished, err);
}

/* An exchange would succeed on a file that this user may not write. */
static int check_writable(struct job *job, struct stet_error *err) {
	if (st_retry(faccessat(job->place.dirfd, job->place.name, W_OK, AT_EACCESS)) == 0)
		return 0;
	if (errno == ENOENT)
		return AGAIN;
	return st_fail_errno(err, errno, "%s may not be written", st_shown(job->place.path));
}

/* ---- exchanging ---- */

/* The stamp of what a name leads to; all zero if to nothing. */
static struct st_stamp stamp_at(int dirfd, const char *name) {
	struct stat st;
	if (st_retry(fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW)) < 0)
		return (struct st_stamp){0};
	return st_stamp_take(-1, &st);
}

static bool is_inode(int dirfd, const char *name, const struct st_stamp *stamp) {
	struct st_stamp now = stamp_at(dirfd, name);
	return now.ino == stamp->ino && now.dev == stamp->dev;
}

/* The last look before anything is touched. */
static bool is_unmoved(const struct job *job) {
	struct st_stamp now = stamp_at(job->place.dirfd, job->place.name);
	return st_stamp_eq(&now, &job->stamp) && (!job->leased || st_lease_holds(job->fd, F_RDLCK));
}

static bool has_expected_bytes(const struct job *job) {
	struct st_hash hash;
	return st_hash_file(job->fd, job->stamp.size, &hash, NULL) == 0 &&
	       st_hash_eq(&hash, job->commit->expected);
}

/*
 * After the exchange: is the file that came out the one that was expected? A
 * lease that still holds proves that nobody wrote to it; without one its bytes
 * have to.
 */
static bool is_verified(const struct job *job) {
	struct st_stamp now = stamp_at(job->place.dirfd, job->temp.name);
	if (!st_stamp_eq_content(&now, &job->stamp))
		return false;
	return job->leased ? st_lease_holds(job->fd, F_RDLCK) : has_expected_bytes(job);
}

static int exchange(const struct job *job) {
	return st_retry(renameat2(job->place.dirfd, job->temp.name, job->place.dirfd, job->place.name,
	                          RENAME_EXCHANGE));
}

/* What is under the temporary name; 0 for nothing. A look that fails is worth another one here. */
static ino_t inode_at_temp(const struct job *job) {
	struct stat st;
	for (int i = 0; i < LOOKS_MAX; i++) {
		if (st_retry(fstatat(job->place.dirfd, job->temp.name, &st, AT_SYMLINK_NOFOLLOW)) == 0)
			return st.st_ino;
		if (errno == ENOENT)
			break;
	}
	return 0;
}

/*
 * The stamp of the version that was just put in place. It is our bytes' only
 * if nobody wrote to them since the temporary file was complete.
 */
static void stamp_new(struct job *job, int fd, const struct st_stamp *complete) {
	struct stat st;
	if (st_retry(fstat(fd, &st)) < 0) {
		job->done->stamp = (struct st_stamp){.racy = true};
		return;
	}
	job->done->stamp = st_stamp_take(fd, &st);
	if (complete && !st_stamp_eq_content(complete, &job->done->stamp))
		job->done->stamp.racy = true;
}

/*
 * What is left under the temporary name is not ours: somebody's bytes that
 * nothing else holds. False if they could not be kept either.
 */
static bool keep_foreign(struct job *job) {
	st_autofd fd = st_retry(openat(job->place.dirfd, job->temp.name,
	                               O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
	if (fd < 0)
		return errno == ENOENT;
	st_auto(st_file) file = ST_FILE_INIT;
	if (st_file_read(fd, job->place.path, ST_KEPT_MAX_BYTES, &file, NULL) < 0)
		return false;
	char why[PATH_MAX + 128];
	snprintf(why, sizeof why,
	         "Two other processes replaced %s at the same moment; this is the earlier version.",
	         st_shown(job->place.path));
	if (!st_hash_eq(&file.hash, job->commit->expected) &&
	    st_keep(job->guard, job->place.path, st_buf_str(&file.bytes), why) < 0)
		return false;
	file.stamp.racy |= !file.stamped;
	st_displaced_add(job->guard, fd, job->place.path, &file.hash, &file.stamp);
	fd = -1;
	return true;
}

/* It stays under its temporary name, and whoever writes to the directory next tries again. */
static void leave_foreign(struct job *job) {
	job->temp.named = false;
	st_guard_notice(job->guard,
	                "What another process put in the place of %s could not be put back and is "
	                "now %s beside it.",
	                st_shown(job->place.path), job->temp.name);
}

/* For a moment our file was the file, and somebody may have opened it to write. */
static void watch_own(struct job *job) {
	int fd = st_retry(fcntl(job->temp.fd, F_DUPFD_CLOEXEC, 0));
	if (fd >= 0)
		st_displaced_add(job->guard, fd, job->place.path, &job->done->hash, &job->temp.stamp);
}

/*
 * Undo an exchange. Each turn puts what is under the temporary name in the
 * file's place and looks at what came out: if that is what was put there by
 * the turn before, everything is as it would be without us; if not, somebody
 * replaced the file meanwhile, and his newer file goes back in the next turn.
 */
static void put_back(struct job *job) {
	ino_t placed = job->temp.stamp.ino;
	for (int turn = 0; turn < TURNS_MAX; turn++) {
		ino_t next = inode_at_temp(job);
		if (exchange(job) < 0) {
			if (errno == ENOENT)
				break;
			continue;
		}
		if (inode_at_temp(job) == placed)
			break;
		placed = next;
	}
	if (inode_at_temp(job) == job->temp.stamp.ino)
		watch_own(job);
	else if (!keep_foreign(job))
		leave_foreign(job);
}

static int sync_dir(const struct job *job) {
	if (job->commit->relaxed || st_retry(fsync(job->place.dirfd)) == 0)
		return 0;
	/* Some filesystems cannot sync a directory; a descriptor for passing through cannot either. */
	return errno == EINVAL || errno == EBADF || errno == ENOTSUP ? 0 : -1;
}

static int not_durable(struct job *job, struct stet_error *err) {
	return st_fail_errno(err, errno, "%s was not written: the directory cannot be synced",
	                     st_shown(job->place.path));
}

static void unsynced(struct job *job) {
	st_guard_notice(job->guard,
	                "%s was written, but its directory cannot be synced: a crash of the "
	                "machine may undo it.",
	                st_shown(job->place.path));
}

/*
 * The old file's name goes, and the directory is remembered as clean if
 * nobody else changed it since `before`; NULL if it was locked all the time.
 */
static void remove_old(struct job *job, const struct stat *before) {
	struct stat dir = {0};
	if (!job->temp.named)
		return;
	bool ours = job->clean &&
	            (!before || (st_retry(fstat(job->place.dirfd, &dir)) == 0 &&
	                         memcmp(&dir.st_mtim, &before->st_mtim, sizeof dir.st_mtim) == 0));
	if (st_retry(unlinkat(job->place.dirfd, job->temp.name, 0)) < 0 && errno != ENOENT &&
	    st_retry(unlinkat(job->place.dirfd, job->temp.name, 0)) < 0 && errno != ENOENT) {
		st_guard_notice(job->guard,
		                "The earlier version of %s could not be removed and is still there as %s.",
		                st_shown(job->place.path), job->temp.name);
		ours = false;
	}
	job->temp.named = false;
	if (ours && job->locked && st_retry(fstat(job->place.dirfd, &dir)) == 0)
		st_guard_swept(job->guard, &dir);
}

/*
 * Wait for the disk; others need not, but the lock on the old file tells them
 * that it is not a leftover. If the disk fails, the old file goes back.
 */
static int sync_exchange(struct job *job, struct stet_error *err) {
	(void)st_retry(flock(job->fd, LOCK_EX | LOCK_NB));
	unlock_dir(job);
	int synced = sync_dir(job);
	int code = synced < 0 ? not_durable(job, err) : 0;
	(void)lock_dir(job, NULL);
	if (code == 0)
		return 0;
	put_back(job);
	if (!is_inode(job->place.dirfd, job->place.name, &job->temp.stamp))
		return code;
	unsynced(job);
	return 0;
}

static int finish_exchange(struct job *job, struct stet_error *err) {
	struct stat dir = {0};
	stamp_new(job, job->temp.fd, &job->temp.stamp);
	if (!job->commit->relaxed) {
		(void)st_retry(fstat(job->place.dirfd, &dir));
		int code = sync_exchange(job, err);
		if (code < 0)
			return code;
	}
	remove_old(job, job->commit->relaxed ? NULL : &dir);
	if (job->leased)
		st_lease_drop(job->fd);
	st_displaced_add(job->guard, job->fd, job->place.path, job->commit->expected, &job->stamp);
	job->fd = -1;
	job->done->way = ST_COMMIT_EXCHANGED;
	return 0;
}

/* Without exchange: the look before the rename is all there is. */
static int rename_over(struct job *job, struct stet_error *err) {
	if (!is_unmoved(job) || (!job->leased && !has_expected_bytes(job)))
		return AGAIN;
	if (st_retry(renameat(job->place.dirfd, job->temp.name, job->place.dirfd, job->place.name)) < 0)
		return st_fail_errno(err, errno, "Cannot replace %s", st_shown(job->place.path));
	job->temp.named = false;
	stamp_new(job, job->temp.fd, &job->temp.stamp);
	if (job->leased)
		st_lease_drop(job->fd);
	st_displaced_add(job->guard, job->fd, job->place.path, job->commit->expected, &job->stamp);
	job->fd = -1;
	job->done->way = ST_COMMIT_VERIFIED;
	if (sync_dir(job) < 0)
		unsynced(job);
	return 0;
}

static int swap(struct job *job, struct stet_error *err) {
	if (!is_unmoved(job))
		return AGAIN;
	if (exchange(job) < 0) {
		switch (errno) {
		case ENOENT:
			return AGAIN;
		case EINVAL:
		case ENOSYS:
		case ENOTSUP:
			return rename_over(job, err);
		case EBUSY:
		case EXDEV:
		case EPERM:
		case EACCES:
			return IN_PLACE;
		default:
			return st_fail_errno(err, errno, "Cannot replace %s", st_shown(job->place.path));
		}
	}
	if (is_verified(job))
		return finish_exchange(job, err);
	put_back(job);
	return AGAIN;
}

static int prepare(struct job *job, struct stet_error *err) {
	ask_if_clean(job);
	int code =
		st_temp_write(&job->temp, job->place.dirfd, job->place.name, job->fd, job->commit->expected,
	                  &job->done->hash, job->commit->bytes, job->commit->relaxed, err);
	return code == 1 ? IN_PLACE : code;
}

static int arm(struct job *job, struct stet_error *err) {
	if (st_temp_arm(&job->temp) == 0)
		return 0;
	/* Somebody who sweeps took it for a leftover before it was locked. */
	if (errno == ENOENT)
		return AGAIN;
	return st_fail_errno(err, errno, "Cannot replace %s", st_shown(job->place.path));
}

static int replace(struct job *job, struct stet_error *err) {
	int code = prepare(job, err);
	/* The file may be written, its directory not. */
	if (code == STET_E_ACCESS)
		return IN_PLACE;
	if (code != 0)
		return code;
	code = lock_dir(job, err);
	if (code == 0) {
		sweep(job);
		code = arm(job, err);
	}
	if (code == 0)
		code = swap(job, err);
	if (code != 0)
		st_temp_release(&job->temp);
	unlock_dir(job);
	return code;
}

/* ---- creating ---- */

static int name_new(struct job *job, struct stet_error *err) {
	int dirfd = job->place.dirfd;
	const char *from = job->temp.name, *to = job->place.name;
	int failed = st_retry(renameat2(dirfd, from, dirfd, to, RENAME_NOREPLACE));
	if (failed == 0)
		job->temp.named = false;
	else if (errno == EINVAL || errno == ENOSYS || errno == ENOTSUP)
		failed = st_retry(linkat(dirfd, from, dirfd, to, 0));

	if (failed == 0) {
		stamp_new(job, job->temp.fd, &job->temp.stamp);
		return 0;
	}
	/* Somebody was there first, or took our file for a leftover before it was locked. */
	if (errno == EEXIST || errno == ENOENT)
		return AGAIN;
	return st_fail_errno(err, errno, "Cannot create %s", st_shown(job->place.path));
}

/* Take back a new file that is still as we made it. */
static void uncreate(struct job *job) {
	struct stat st;
	if (st_retry(fstat(job->temp.fd, &st)) == 0 &&
	    is_inode(job->place.dirfd, job->place.name, &job->temp.stamp)) {
		struct st_stamp now = st_stamp_take(-1, &st);
		if (st_stamp_eq_content(&now, &job->temp.stamp))
			(void)st_retry(unlinkat(job->place.dirfd, job->place.name, 0));
	}
}

static int create(struct job *job, struct stet_error *err) {
	int code = prepare(job, err);
	if (code < 0)
		return code;
	code = lock_dir(job, err);
	if (code == 0) {
		sweep(job);
		code = name_new(job, err);
	}
	unlock_dir(job);
	if (code == 0 && sync_dir(job) < 0) {
		code = not_durable(job, err);
		uncreate(job);
	}
	if (code != 0)
		st_temp_release(&job->temp);
	else
		job->done->way = ST_COMMIT_CREATED;
	return code;
}

/* ---- in place ---- */

static int put_bytes(int fd, struct st_str bytes) {
	if (st_pwrite_all(fd, bytes) < 0)
		return -1;
	return st_retry(ftruncate(fd, (off_t)bytes.len));
}

/* Writing takes the setuid and setgid bits away, unless root writes. */
static void restore_mode(struct job *job) {
	mode_t mode = job->done->current.mode & 07777;
	if (mode & 06000 && st_retry(fchmod(job->fd, mode)) < 0)
		st_guard_notice(job->guard, "%s was written in place and lost its setuid or setgid bit.",
		                st_shown(job->place.path));
}

static int rewrite(struct job *job, struct stet_error *err) {
	struct st_str old = st_buf_str(&job->done->current.bytes), new = job->commit->bytes;
	struct st_rescue rescue = ST_RESCUE_INIT;
	struct stet_error why = {0};
	if (st_rescue_begin(job->guard, job->place.path, old, &rescue, &why) < 0)
		st_guard_notice(job->guard, "%s was written in place without a safety copy: %s",
		                st_shown(job->place.path), why.message);

	/* Space is asked for first, so that a full disk is noticed while nothing is lost. */
	int failed = 0;
	if (new.len > old.len &&
	    st_retry(fallocate(job->fd, FALLOC_FL_KEEP_SIZE, 0, (off_t) new.len)) < 0 &&
	    (errno == ENOSPC || errno == EDQUOT))
		failed = -1;
	/* It may have been replaced since it was opened; then nobody would see what is written to it. */
	if (failed == 0 && !is_inode(job->place.dirfd, job->place.name, &job->stamp)) {
		st_rescue_end(job->guard, &rescue);
		return AGAIN;
	}
	if (failed == 0)
		failed = put_bytes(job->fd, new);
	if (failed == 0 && !job->commit->relaxed)
		failed = st_retry(fsync(job->fd));
	if (failed == 0) {
		restore_mode(job);
		stamp_new(job, job->fd, NULL);
		st_rescue_end(job->guard, &rescue);
		job->done->way = ST_COMMIT_IN_PLACE;
		return 0;
	}

	int errnum = errno;
	if (put_bytes(job->fd, old) == 0) {
		restore_mode(job);
		st_rescue_end(job->guard, &rescue);
		return st_fail_errno(err, errnum, "%s was not written", st_shown(job->place.path));
	}
	st_rescue_leave(job->guard, job->place.path, &rescue);
	return st_fail_errno(err, errnum,
	                     "%s was written in part, and what it held could not be put back",
	                     st_shown(job->place.path));
}

/* Wait until nobody else has the file open; readers alone do not stop us in the end. */
static int lease_for_writing(struct job *job, struct stet_error *err) {
	for (;;) {
		enum st_lease lease = st_lease_take(job->fd, F_WRLCK);
		if (lease != ST_LEASE_BUSY)
			return 0;
		if (st_now_ms() >= job->deadline_ms)
			break;
		st_sleep_ms(1);
	}
	st_autofd reader = st_retry(
		openat(job->place.dirfd, job->place.name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
	st_close_at(&job->fd);
	bool written = reader >= 0 && st_lease_take(reader, F_RDLCK) == ST_LEASE_BUSY;
	st_close_at(&reader);
	if (written)
		return busy(job, "another process has it open for writing", err);
	job->fd = st_retry(
		openat(job->place.dirfd, job->place.name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
	return job->fd < 0 ? busy(job, "another process has it open", err) : 0;
}

static int write_in_place(struct job *job, struct stet_error *err) {
	st_close_at(&job->fd);
	job->leased = false;
	do
		job->fd = st_retry(openat(job->place.dirfd, job->place.name,
		                          O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
	while (job->fd < 0 && errno == EAGAIN &&
	       wait_or(job, "another process is writing it", err) == AGAIN);
	if (job->fd < 0 && errno == ENOENT)
		return AGAIN;
	if (job->fd < 0)
		return st_fail_errno(err, errno, "%s may not be written", st_shown(job->place.path));

	int code = lease_for_writing(job, err);
	if (code == 0)
		code = lock_dir(job, err);
	if (code < 0)
		return code;
	bool finished = false;
	code = compare(job, &finished, err);
	/* Waiting for the lease took its time: what was opened may no longer have the name. */
	if ((code == 0 || code == STET_E_CONFLICT) &&
	    !is_inode(job->place.dirfd, job->place.name, &job->done->current.stamp))
		code = AGAIN;
	else if (code == 0 && !finished)
		code = rewrite(job, err);
	unlock_dir(job);
	return code;
}

/* ---- one try, and as many as it takes ---- */

static int try_replace(struct job *job, struct stet_error *err) {
	bool finished = false;
	struct stat st;
	int code = meet_old(job, &finished, &st, err);
	if (code < 0 || finished)
		return code;
	code = check_writable(job, err);
	if (code != 0)
		return code;
	code = st.st_nlink > 1 ? IN_PLACE : replace(job, err);
	return code == IN_PLACE ? write_in_place(job, err) : code;
}

static int try_create(struct job *job, struct stet_error *err) {
	if (!job->place.exists) {
		int code = create(job, err);
		if (code == AGAIN)
			job->place.exists = true;
		return code;
	}
	/* Something is there: our own bytes already, or a conflict; gone again, another try. */
	job->place.exists = false;
	int code = open_old(job, err);
	if (code == STET_E_CONFLICT) {
		job->done->deleted = false;
		return AGAIN;
	}
	if (code < 0)
		return code;
	bool finished = false;
	return compare(job, &finished, err);
}

static int try_until_done(struct job *job, struct stet_error *err) {
	job->deadline_ms = st_now_ms() + WAIT_MS;
	for (int i = 0; i < TRIES_MAX; i++) {
		int code = job->commit->expected ? try_replace(job, err) : try_create(job, err);
		if (code != AGAIN)
			return code;
		if (st_now_ms() >= job->deadline_ms)
			break;
	}
	return busy(job, "other processes kept changing it", err);
}

static int locate(struct job *job, struct stet_error *err) {
	int code = st_root_locate(job->root, job->commit->path, &job->place, err);
	if (code < 0)
		return code;
	if (st_path_is_protected(job->place.path, job->guard->state_dir))
		return st_fail(err, STET_E_PROTECTED,
		               "%s belongs to git or to stet and is not written. Use git itself for it.",
		               st_shown(job->place.path));
	return job->place.exists ? st_file_check(&job->place.st, job->place.path, size_limit(job), err)
	                         : 0;
}

static void job_release(struct job *job) {
	unlock_dir(job);
	st_temp_release(&job->temp);
	st_close_at(&job->fd);
	st_place_release(&job->place);
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

int st_commit(const struct st_root *root, struct st_guard *guard, const struct st_commit *commit,
              struct st_committed *done, struct stet_error *err) {
	__attribute__((cleanup(job_release))) struct job job = {
		.commit = commit,
		.root = root,
		.guard = guard,
		.done = done,
		.place = ST_PLACE_INIT,
		.fd = -1,
		.temp = ST_TEMP_INIT,
	};
	st_displaced_look(guard);
	st_keep_recover(guard);
	int code = locate(&job, err);
	if (code == 0)
		code = st_hash_of(commit->bytes, &done->hash, err);
	if (code == 0)
		code = try_until_done(&job, err);
	done->path = job.place.path;
	job.place.path = NULL;
	return code;
}
