#include "fs/commit.h"

#include <limits.h>
#include <stdio.h>
#include <sys/file.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "fs/in_place.h"
#include "fs/lease.h"
#include "fs/sys.h"

/* How often the interference of others is met with another try. */
enum { TURNS_MAX = 16, LOOKS_MAX = 3 };

/* ---- leftovers of others ---- */

/* Asked before the directory changes by our own temporary file. */
static void ask_if_clean(struct st_job *job) {
	struct stat dir = {0};
	bool seen = st_retry(fstat(job->place.dirfd, &dir)) == 0;
	job->clean = seen && st_guard_is_swept(job->guard, &dir);
	job->shared = st_root_trust(job->root, job->place.dirfd, dir.st_dev) == ST_TRUST_NONE;
}

/* With the lock: it is still clean if nothing but our temporary file came into it. */
static void sweep(struct st_job *job) {
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

/* Open, lease, and make sure it is the version that was expected. */
static int meet_old(struct st_job *job, bool *finished, struct stet_error *err) {
	int code = st_job_open(job, err);
	if (code == 0)
		code = st_job_lease(job, err);
	/* No stamp can stand in for the bytes: a write moves the times before it moves the bytes. */
	return code < 0 ? code : st_job_compare(job, finished, err);
}

/* An exchange would succeed on a file that this user may not write. */
static int check_writable(struct st_job *job, struct stet_error *err) {
	if (st_retry(faccessat(job->place.dirfd, job->place.name, W_OK, AT_EACCESS)) == 0)
		return 0;
	if (errno == ENOENT)
		return ST_JOB_AGAIN;
	return st_fail_errno(err, errno, "%s may not be written", st_shown(job->place.path));
}

/* ---- exchanging ---- */

/* The last look before anything is touched. */
static bool is_unmoved(const struct st_job *job) {
	struct st_stamp now = st_job_stamp_at(job, job->place.name);
	return st_stamp_eq(&now, &job->stamp) && (!job->leased || st_lease_holds(job->fd, F_RDLCK));
}

/*
 * Two steps where there is no exchange: what is there gets a second name and
 * then loses its own to the new file. Only a file that somebody renames to the
 * name between the two is lost. What cannot be linked is like no exchange.
 */
static int exchange_by_links(struct st_job *job) {
	int dirfd = job->place.dirfd;
	char second[ST_TEMP_NAME];
	if (st_temp_second_name(&job->temp, second) < 0)
		return -1;
	if (st_retry(linkat(dirfd, job->place.name, dirfd, second, 0)) < 0) {
		if (errno != ENOENT)
			errno = ENOTSUP;
		return -1;
	}
	if (st_retry(renameat(dirfd, job->temp.name, dirfd, job->place.name)) < 0) {
		int errnum = errno;
		(void)st_retry(unlinkat(dirfd, second, 0));
		errno = errnum;
		return -1;
	}
	memcpy(job->temp.name, second, sizeof second);
	return 0;
}

static int exchange(struct st_job *job) {
	int dirfd = job->place.dirfd;
	if (!job->by_links &&
	    st_retry(renameat2(dirfd, job->temp.name, dirfd, job->place.name, RENAME_EXCHANGE)) == 0)
		return 0;
	if (!job->by_links && errno != EINVAL && errno != ENOSYS && errno != ENOTSUP)
		return -1;
	job->by_links = true;
	return exchange_by_links(job);
}

/* What tells one file from another: its inode, or its bytes where an inode's number says nothing. */
static uint64_t identity_of(const struct st_job *job, ino_t inode, const struct st_hash *hash) {
	uint64_t identity = inode;
	if (job->shared)
		memcpy(&identity, hash->bytes, sizeof identity);
	return identity;
}

static uint64_t own_identity(const struct st_job *job) {
	return identity_of(job, job->temp.stamp.ino, &job->done->version.hash);
}

/* What is under the temporary name; 0 for nothing. A look that fails is worth another one here. */
static uint64_t identity_at_temp(const struct st_job *job) {
	struct stat st;
	struct st_hash hash = {0};
	for (int i = 0; i < LOOKS_MAX; i++) {
		if (st_retry(fstatat(job->place.dirfd, job->temp.name, &st, AT_SYMLINK_NOFOLLOW)) == 0 &&
		    (!job->shared || st_job_hash(job, job->temp.name, &hash) == 0))
			return identity_of(job, st.st_ino, &hash);
		if (errno == ENOENT)
			break;
	}
	return 0;
}

/*
 * What is left under the temporary name is not ours: somebody's bytes that
 * nothing else holds. False if they could not be kept either.
 */
static bool keep_foreign(struct st_job *job) {
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
	    st_keep(&job->guard->rescued, job->place.path, st_buf_str(&file.bytes), why) < 0)
		return false;
	file.stamp.racy |= !file.stamped;
	st_displaced_add(&job->guard->late_writes, fd, job->place.path, &file.hash, &file.stamp);
	fd = -1;
	return true;
}

/* It stays under its temporary name, and whoever writes to the directory next tries again. */
static void leave_foreign(struct st_job *job) {
	job->temp.named = false;
	st_notices_add(&job->guard->notices,
	               "What another process put in the place of %s could not be put back and is "
	               "now %s beside it.",
	               st_shown(job->place.path), job->temp.name);
}

/* For a moment our file was the file, and somebody may have opened it to write. */
static void watch_own(struct st_job *job) {
	int fd = st_retry(fcntl(job->temp.fd, F_DUPFD_CLOEXEC, 0));
	if (fd >= 0)
		st_displaced_add(&job->guard->late_writes, fd, job->place.path, &job->done->version.hash,
		                 &job->temp.stamp);
}

/*
 * Undo an exchange. Each turn puts what is under the temporary name in the
 * file's place and looks at what came out: if that is what was put there by
 * the turn before, everything is as it would be without us; if not, somebody
 * replaced the file meanwhile, and his newer file goes back in the next turn.
 */
static void put_back(struct st_job *job) {
	uint64_t own = own_identity(job), placed = own;
	for (int turn = 0; turn < TURNS_MAX; turn++) {
		uint64_t next = identity_at_temp(job);
		if (exchange(job) < 0) {
			if (errno == ENOENT)
				break;
			continue;
		}
		if (identity_at_temp(job) == placed)
			break;
		placed = next;
	}
	if (identity_at_temp(job) == own)
		watch_own(job);
	else if (!keep_foreign(job))
		leave_foreign(job);
}

static int sync_dir(const struct st_job *job) {
	if (job->commit->relaxed || st_retry(fsync(job->place.dirfd)) == 0)
		return 0;
	/* Some filesystems cannot sync a directory; a descriptor for passing through cannot either. */
	return errno == EINVAL || errno == EBADF || errno == ENOTSUP ? 0 : -1;
}

static int not_durable(struct st_job *job, struct stet_error *err) {
	return st_fail_errno(err, errno, "%s was not written: the directory cannot be synced",
	                     st_shown(job->place.path));
}

static void unsynced(struct st_job *job) {
	st_notices_add(&job->guard->notices,
	               "%s was written, but its directory cannot be synced: a crash of the "
	               "machine may undo it.",
	               st_shown(job->place.path));
}

/* False if the old file is still there. */
static bool clear_away(struct st_job *job) {
	int dirfd = job->place.dirfd;
	const char *name = job->temp.name;
	job->done->shelved = job->commit->shelve && st_shelf_move(&job->guard->versions, job->fd, dirfd,
	                                                          name, job->commit->expected);
	return job->done->shelved || st_retry(unlinkat(dirfd, name, 0)) == 0 || errno == ENOENT ||
	       st_retry(unlinkat(dirfd, name, 0)) == 0 || errno == ENOENT;
}

/*
 * The old file's name goes, and the directory is remembered as clean if
 * nobody else changed it since `before`; NULL if it was locked all the time.
 */
static void remove_old(struct st_job *job, const struct stat *before) {
	struct stat dir = {0};
	if (!job->temp.named)
		return;
	bool ours = job->clean &&
	            (!before || (st_retry(fstat(job->place.dirfd, &dir)) == 0 &&
	                         memcmp(&dir.st_mtim, &before->st_mtim, sizeof dir.st_mtim) == 0));
	if (!clear_away(job)) {
		st_notices_add(&job->guard->notices,
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
static int sync_exchange(struct st_job *job, struct stet_error *err) {
	(void)st_retry(flock(job->fd, LOCK_EX | LOCK_NB));
	st_job_unlock(job);
	int synced = sync_dir(job);
	int code = synced < 0 ? not_durable(job, err) : 0;
	(void)st_job_lock(job, NULL);
	if (code == 0)
		return 0;
	put_back(job);
	if (job->shared ? !st_job_reads(job, job->place.name, job->commit->bytes)
	                : !st_job_is_named(job, &job->temp.stamp))
		return code;
	unsynced(job);
	return 0;
}

static int finish_exchange(struct st_job *job, struct stet_error *err) {
	struct stat dir = {0};
	st_job_stamp_new(job, job->temp.fd, &job->temp.stamp);
	if (!job->commit->relaxed) {
		(void)st_retry(fstat(job->place.dirfd, &dir));
		int code = sync_exchange(job, err);
		if (code < 0)
			return code;
	}
	remove_old(job, job->commit->relaxed ? NULL : &dir);
	if (job->leased)
		st_lease_drop(job->fd);
	st_displaced_add(&job->guard->late_writes, job->fd, job->place.path, job->commit->expected,
	                 &job->stamp);
	job->fd = -1;
	job->done->way = job->by_links ? ST_COMMIT_VERIFIED : ST_COMMIT_EXCHANGED;
	return 0;
}

/* Without exchange and links: the look before the rename is all there is. */
static int rename_over(struct st_job *job, struct stet_error *err) {
	if (!is_unmoved(job) || (!job->leased && !st_job_is_verified(job, job->place.name)))
		return ST_JOB_AGAIN;
	if (st_retry(renameat(job->place.dirfd, job->temp.name, job->place.dirfd, job->place.name)) < 0)
		return st_fail_errno(err, errno, "Cannot replace %s", st_shown(job->place.path));
	job->temp.named = false;
	st_job_stamp_new(job, job->temp.fd, &job->temp.stamp);
	if (job->leased)
		st_lease_drop(job->fd);
	st_displaced_add(&job->guard->late_writes, job->fd, job->place.path, job->commit->expected,
	                 &job->stamp);
	job->fd = -1;
	job->done->way = ST_COMMIT_VERIFIED;
	if (sync_dir(job) < 0)
		unsynced(job);
	return 0;
}

static int swap(struct st_job *job, struct stet_error *err) {
	if (!is_unmoved(job))
		return ST_JOB_AGAIN;
	if (exchange(job) < 0) {
		switch (errno) {
		case ENOENT:
			return ST_JOB_AGAIN;
		case EINVAL:
		case ENOSYS:
		case ENOTSUP:
			return rename_over(job, err);
		case EBUSY:
		case EXDEV:
		case EPERM:
		case EACCES:
			return ST_JOB_IN_PLACE;
		default:
			return st_fail_errno(err, errno, "Cannot replace %s", st_shown(job->place.path));
		}
	}
	/* After it: is the file that came out the one that was expected? */
	if (st_job_is_verified(job, job->temp.name))
		return finish_exchange(job, err);
	put_back(job);
	return ST_JOB_AGAIN;
}

static int prepare(struct st_job *job, struct stet_error *err) {
	ask_if_clean(job);
	const struct st_temp_plan plan = {
		.target = job->place.name,
		.like = job->fd,
		.expected = job->commit->expected,
		.bytes = job->commit->bytes,
		.relaxed = job->commit->relaxed,
		.hash = job->done->version.hash,
	};
	int code = st_temp_write(&job->temp, job->place.dirfd, &plan, err);
	while (code == STET_E_NO_SPACE && errno != EFBIG && st_guard_spare(job->guard))
		code = st_temp_write(&job->temp, job->place.dirfd, &plan, err);
	return code == 1 ? ST_JOB_IN_PLACE : code;
}

/* A directory may take files that it does not let go. */
static void abandon(struct st_job *job) {
	if (st_retry(unlinkat(job->place.dirfd, job->temp.name, 0)) < 0 && errno != ENOENT)
		st_notices_add(&job->guard->notices,
		               "Nothing can be renamed or removed beside %s, so that %s stays there.",
		               st_shown(job->place.path), job->temp.name);
	job->temp.named = false;
}

static int arm(struct st_job *job, struct stet_error *err) {
	if (st_temp_arm(&job->temp) == 0)
		return 0;
	/* Somebody who sweeps took it for a leftover before it was locked. */
	if (errno == ENOENT)
		return ST_JOB_AGAIN;
	if (errno == EPERM || errno == EACCES) {
		abandon(job);
		return ST_JOB_IN_PLACE;
	}
	return st_fail_errno(err, errno, "Cannot replace %s", st_shown(job->place.path));
}

static int replace(struct st_job *job, struct stet_error *err) {
	int code = prepare(job, err);
	/* The file may be written, its directory not. */
	if (code == STET_E_ACCESS)
		return ST_JOB_IN_PLACE;
	if (code != 0)
		return code;
	/* A filesystem in user space may have to hide a file that is open before another gets its name. */
	if (job->shared)
		st_close_at(&job->fd);
	code = st_job_lock(job, err);
	if (code == 0)
		code = st_cancel_look(err);
	/* From here on it is done, or put back, whoever waits. */
	st_cancel_hold();
	if (code == 0) {
		sweep(job);
		code = arm(job, err);
	}
	if (code == 0)
		code = swap(job, err);
	st_cancel_release();
	if (code != 0)
		st_temp_release(&job->temp);
	st_job_unlock(job);
	return code;
}

/* ---- creating ---- */

/* Neither a rename with care nor a second name: an empty file of ours takes the name first. */
static int take_name(struct st_job *job) {
	int dirfd = job->place.dirfd;
	st_autofd fd = st_retry(
		openat(dirfd, job->place.name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
	if (fd < 0)
		return -1;
	job->done->unproven = st_trust_name(fd);
	if (st_retry(renameat(dirfd, job->temp.name, dirfd, job->place.name)) == 0)
		return 0;
	int errnum = errno;
	(void)st_retry(unlinkat(dirfd, job->place.name, 0));
	errno = errnum;
	return -1;
}

static bool cannot_link(int errnum) {
	return errnum == EPERM || errnum == ENOSYS || errnum == ENOTSUP;
}

static int name_new(struct st_job *job, struct stet_error *err) {
	int failed = st_job_rename_new(job, job->temp.name, job->place.name);
	if (failed < 0 && cannot_link(errno))
		failed = take_name(job);
	if (failed == 0) {
		job->temp.named = false;
		st_job_stamp_new(job, job->temp.fd, &job->temp.stamp);
		return 0;
	}
	/* Somebody was there first, or took our file for a leftover before it was locked. */
	if (errno == EEXIST || errno == ENOENT)
		return ST_JOB_AGAIN;
	return st_fail_errno(err, errno, "Cannot create %s", st_shown(job->place.path));
}

/* Take back a new file that is still as we made it. */
static void uncreate(struct st_job *job) {
	struct stat st;
	if (st_retry(fstat(job->temp.fd, &st)) == 0 && st_job_is_named(job, &job->temp.stamp)) {
		struct st_stamp now = st_stamp_of(&st);
		if (st_stamp_eq_content(&now, &job->temp.stamp))
			(void)st_retry(unlinkat(job->place.dirfd, job->place.name, 0));
	}
}

static int create(struct st_job *job, struct stet_error *err) {
	int code = prepare(job, err);
	if (code < 0)
		return code;
	code = st_job_lock(job, err);
	if (code == 0)
		code = st_cancel_look(err);
	if (code == 0) {
		sweep(job);
		code = name_new(job, err);
	}
	st_job_unlock(job);
	if (code == 0 && sync_dir(job) < 0) {
		code = not_durable(job, err);
		uncreate(job);
	}
	if (code != 0) {
		st_temp_release(&job->temp);
		return code;
	}
	job->done->way = ST_COMMIT_CREATED;
	return 0;
}

/* ---- one try, and as many as it takes ---- */

/* What cannot be promised of a file that was replaced where others write unseen. */
static void say_unproven(struct st_job *job) {
	if (!job->shared)
		return;
	job->done->unproven = st_trust_name(job->place.dirfd);
	job->done->overtaken = !st_job_reads(job, job->place.name, job->commit->bytes);
}

static int try_replace(struct st_job *job, struct stet_error *err) {
	bool finished = false;
	int code = meet_old(job, &finished, err);
	if (code < 0 || finished)
		return code;
	code = check_writable(job, err);
	if (code != 0)
		return code;
	code = job->done->current.links > 1 ? ST_JOB_IN_PLACE : replace(job, err);
	if (code == ST_JOB_IN_PLACE)
		code = st_in_place(job, err);
	if (code == 0 && !job->done->noop)
		say_unproven(job);
	return code;
}

static int try_create(struct st_job *job, struct stet_error *err) {
	if (!job->place.exists) {
		int code = create(job, err);
		if (code == ST_JOB_AGAIN)
			job->place.exists = true;
		return code;
	}
	/* Something is there: our own bytes already, or a conflict; gone again, another try. */
	job->place.exists = false;
	int code = st_job_open(job, err);
	if (code == STET_E_CONFLICT) {
		job->done->deleted = false;
		return ST_JOB_AGAIN;
	}
	if (code < 0)
		return code;
	bool finished = false;
	return st_job_compare(job, &finished, err);
}

static int try_until_done(struct st_job *job, struct stet_error *err) {
	job->deadline_ms = st_now_ms() + ST_JOB_WAIT_MS;
	for (int i = 0; i < ST_JOB_TRIES_MAX; i++) {
		job->done->noop = false;
		if (st_cancel_look(err) < 0)
			return STET_E_CANCELLED;
		int code = job->commit->expected ? try_replace(job, err) : try_create(job, err);
		if (code != ST_JOB_AGAIN)
			return code;
		if (st_now_ms() >= job->deadline_ms)
			break;
	}
	return st_job_busy(job, "other processes kept changing it", err);
}

static int locate(struct st_job *job, struct stet_error *err) {
	int code = st_root_locate(job->root, job->commit->path, &job->place, err);
	if (code < 0)
		return code;
	if (st_path_is_protected(job->place.path, job->guard->state_dir))
		return st_fail(err, STET_E_PROTECTED,
		               "%s belongs to git or to stet and is not written. Use git itself for it.",
		               st_shown(job->place.path));
	return job->place.exists ? st_file_check(&job->place.st, job->place.path, st_job_max(job), err)
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

int st_commit(const struct st_root *root, struct st_guard *guard, const struct st_commit *commit,
              struct st_committed *done, struct stet_error *err) {
	__attribute__((cleanup(st_job_release))) struct st_job job = {
		.commit = commit,
		.root = root,
		.guard = guard,
		.done = done,
		.place = ST_PLACE_INIT,
		.fd = -1,
		.temp = ST_TEMP_INIT,
	};
	st_displaced_look(&guard->late_writes);
	if (!guard->rescued.recovered)
		st_keep_recover(&guard->rescued);
	int code = locate(&job, err);
	if (code == 0)
		code = st_hash_watched(commit->bytes, &done->version.hash, err);
	if (code == 0)
		code = try_until_done(&job, err);
	done->version.exists = code == 0;
	done->path = job.place.path;
	job.place.path = NULL;
	return code;
}
