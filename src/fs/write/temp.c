#include "fs/write/temp.h"

#include <limits.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/xattr.h>

#include "base/cancel.h"
#include "fs/path/dirs.h"
#include "fs/path/sys.h"

enum { RANDOM_DIGITS = 8, NAMES_TRIED = 16 };

#define PREFIX ".stet-"
#define PART ".part"
#define ARMED ".tmp"

static int name_digest(const char *target, char hex[ST_TEMP_TARGET + 1], struct stet_error *err) {
	struct st_hash hash;
	int code = st_hash_of(st_str(target), &hash, err);
	if (code == 0)
		st_hash_hex(&hash, hex, ST_TEMP_TARGET);
	return code;
}

/* Append the mark and the ending. The mark covers the ending. */
static bool add_mark(char *name, size_t size, const char *ending) {
	char mark[ST_MARK + 1], text[ST_TEMP_NAME + sizeof PART];
	snprintf(text, sizeof text, "%s%s", name, ending);
	if (st_user_mark(st_str(text), mark, NULL) < 0)
		return false;
	size_t len = strlen(name);
	snprintf(name + len, size - len, "%s%s", mark, ending);
	return true;
}

bool st_temp_name(struct st_temp *temp, uint32_t random, bool armed) {
	char old[ST_HASH_SHORT + 1], new[ST_HASH_SHORT + 1];
	st_hash_hex(&temp->expected, old, ST_HASH_SHORT);
	st_hash_hex(&temp->hash, new, ST_HASH_SHORT);
	snprintf(temp->name, sizeof temp->name, PREFIX "%s-%s-%s-%08x", old, new, temp->target, random);
	return add_mark(temp->name, sizeof temp->name, armed ? ARMED : PART);
}

/* Make a new name. Returns 0, or -1 with errno. */
static int make_name(struct st_temp *temp, bool armed) {
	uint32_t random;
	if (st_retry(getrandom(&random, sizeof random, 0)) < 0)
		return -1;
	if (st_temp_name(temp, random, armed))
		return 0;
	errno = EIO;
	return -1;
}

/* The parts of a temporary file's name. */
struct name_parts {
	struct st_str expected, hash, target;
	bool armed;
};

/* Remove `count` hex digits and the text `then` from the front of a name; false if they are not there. */
static bool take_digits(struct st_str *name, size_t count, struct st_str then,
                        struct st_str *digits) {
	*digits = st_strn(name->ptr, count);
	if (name->len < count + then.len || strspn(name->ptr, "0123456789abcdef") < count)
		return false;
	*name = st_str_slice(*name, count, name->len);
	if (!st_str_starts(*name, then))
		return false;
	*name = st_str_slice(*name, then.len, name->len);
	return true;
}

/* Whether this user's stet made the mark; anyone can put such names into a repository. */
static bool is_marked(const char *text, size_t len, bool armed) {
	char made[ST_TEMP_NAME];
	if (len >= sizeof made)
		return false;
	memcpy(made, text, len);
	made[len] = '\0';
	return add_mark(made, sizeof made, armed ? ARMED : PART) && strcmp(made, text) == 0;
}

static bool parse_name(const char *text, struct name_parts *parts) {
	struct st_str name = st_str(text), random, mark, dash = ST_STR("-"), none = ST_STR("");
	if (!st_str_starts(name, ST_STR(PREFIX)))
		return false;
	parts->armed = st_str_ends(name, ST_STR(ARMED));
	name = st_str_slice(name, strlen(PREFIX), name.len);
	return take_digits(&name, ST_HASH_SHORT, dash, &parts->expected) &&
	       take_digits(&name, ST_HASH_SHORT, dash, &parts->hash) &&
	       take_digits(&name, ST_TEMP_TARGET, dash, &parts->target) &&
	       take_digits(&name, RANDOM_DIGITS, none, &random) &&
	       take_digits(&name, ST_MARK, st_str(parts->armed ? ARMED : PART), &mark) &&
	       name.len == 0 && is_marked(text, (size_t)(mark.ptr - text), parts->armed);
}

bool st_temp_is_own(const char *name) {
	struct name_parts parts;
	return parse_name(name, &parts);
}

/* Whether the new file already has the attribute, such as a security label set by policy. */
static bool has_attribute(int fd, const char *name, struct st_str value) {
	char buffer[4096];
	ssize_t len = fgetxattr(fd, name, buffer, sizeof buffer);
	return len >= 0 && st_str_eq(st_strn(buffer, (size_t)len), value);
}

/* Returns 0, 1 if an attribute cannot be set, -1 with errno. */
static int copy_attributes(int from, int to) {
	char names[8192], value[65536];
	ssize_t len = st_retry(flistxattr(from, names, sizeof names));
	if (len < 0)
		return errno == ENOTSUP || errno == ENOSYS ? 0 : errno == ERANGE ? 1 : -1;
	for (const char *name = names; name < names + len; name += strlen(name) + 1) {
		ssize_t size = st_retry(fgetxattr(from, name, value, sizeof value));
		if (size < 0 && errno == ENODATA)
			continue;
		if (size < 0)
			return 1;
		if (st_retry(fsetxattr(to, name, value, (size_t)size, 0)) < 0 &&
		    !has_attribute(to, name, st_strn(value, (size_t)size)))
			return 1;
	}
	return 0;
}

/* A new file inherits the directory's default ACL, even if the old file had none. */
static int drop_inherited_acl(int fd) {
	static const char acl[] = "system.posix_acl_access";
	if (fgetxattr(fd, acl, NULL, 0) < 0 || st_retry(fremovexattr(fd, acl)) == 0)
		return 0;
	return 1;
}

/* Owner first: changing it clears the setuid bit. Returns like copy_attributes(). */
static int copy_metadata(int from, int to) {
	struct stat old, new;
	if (st_retry(fstat(from, &old)) < 0 || st_retry(fstat(to, &new)) < 0)
		return -1;
	if ((old.st_uid != new.st_uid || old.st_gid != new.st_gid) &&
	    st_retry(fchown(to, old.st_uid, old.st_gid)) < 0)
		return errno == EPERM || errno == EINVAL ? 1 : -1;
	int code = drop_inherited_acl(to);
	if (code == 0)
		code = copy_attributes(from, to);
	if (code != 0)
		return code;
	mode_t mode = old.st_mode & 07777;
	if (st_retry(fchmod(to, mode)) < 0)
		return errno == EPERM ? 1 : -1;
	/* The kernel silently clears the setgid bit if the user is not in the group. */
	if (mode & 06000 && (st_retry(fstat(to, &new)) < 0 || (new.st_mode & 07777) != mode))
		return 1;
	return 0;
}

/* The descriptor for writing is closed when the file is complete; this one holds the lock. */
static int reopen_locked(struct st_temp *temp) {
	temp->fd = st_retry(openat(temp->dirfd, temp->name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
	if (temp->fd < 0)
		return -1;
	(void)st_retry(flock(temp->fd, LOCK_EX | LOCK_NB));
	return 0;
}

static int create_temp(struct st_temp *temp, mode_t mode) {
	for (int i = 0; i < NAMES_TRIED; i++) {
		if (make_name(temp, false) < 0)
			return -1;
		int fd = st_retry(openat(temp->dirfd, temp->name,
		                         O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
		temp->named = fd >= 0;
		if (fd >= 0 && reopen_locked(temp) == 0)
			return fd;
		int errnum = errno;
		st_close_at(&fd);
		st_temp_release(temp);
		errno = errnum;
		/* The name exists, or another commit removed the file before we locked it. */
		if (errnum != EEXIST && errnum != ENOENT)
			break;
	}
	return -1;
}

static int take_stamp(struct st_temp *temp) {
	struct stat st;
	if (st_retry(fstat(temp->fd, &st)) < 0)
		return -1;
	temp->stamp = st_stamp_take(temp->fd, &st);
	return 0;
}

/* Writing a large file takes long, and it is safe to stop if the call is cancelled. */
static int write_pieces(int fd, struct st_str bytes) {
	enum { PIECE = 4 << 20 };
	for (size_t at = 0; at < bytes.len; at += PIECE) {
		size_t end = bytes.len - at < PIECE ? bytes.len : at + PIECE;
		if (st_pwrite_all(fd, (off_t)at, st_str_slice(bytes, at, end)) < 0)
			return -1;
		if (st_cancel_check(0, NULL) < 0) {
			errno = ECANCELED;
			return -1;
		}
	}
	return 0;
}

/* Returns like copy_metadata(). */
static int fill_temp(struct st_temp *temp, int fd, const struct st_temp_plan *plan) {
	int failed = write_pieces(fd, plan->bytes);
	/* After the bytes: writing clears setuid bits and capabilities. */
	if (failed == 0 && plan->like >= 0)
		failed = copy_metadata(plan->like, fd);
	if (failed == 0)
		failed = st_retry(plan->relaxed ? fdatasync(fd) : fsync(fd));
	return failed == 0 ? take_stamp(temp) : failed;
}

int st_temp_write(struct st_temp *temp, int dirfd, const struct st_temp_plan *plan,
                  struct stet_error *err) {
	temp->dirfd = dirfd;
	temp->expected = plan->expected ? *plan->expected : (struct st_hash){0};
	temp->hash = plan->hash;
	int code = name_digest(plan->target, temp->target, err);
	if (code < 0)
		return code;
	int fd = create_temp(temp, plan->like < 0 ? 0666 : 0600);
	if (fd < 0)
		return st_fail_errno(err, errno, "Cannot make a temporary file beside %s",
		                     st_quoted(plan->target));

	struct stat dir = {0};
	(void)st_retry(fstat(dirfd, &dir));
	temp->dir_mtime = dir.st_mtim;
	int failed = fill_temp(temp, fd, plan);
	int errnum = errno;
	/* Some filesystems report a failed write only now. */
	if (close(fd) < 0 && failed == 0 && errno != EINTR) {
		failed = -1;
		errnum = errno;
	}
	if (failed == 0)
		return 0;
	st_temp_release(temp);
	if (failed > 0)
		return 1;
	if (st_cancel_check(0, err) < 0)
		return STET_E_CANCELLED;
	return st_fail_errno(err, errnum, "Cannot write a new version of %s", st_quoted(plan->target));
}

int st_temp_aside(struct st_temp *temp, const char *target, const struct st_hash *expected,
                  struct stet_error *err) {
	temp->expected = temp->hash = *expected;
	int code = name_digest(target, temp->target, err);
	if (code == 0 && make_name(temp, true) < 0)
		code = st_fail_errno(err, errno, "Cannot get a random number");
	return code;
}

int st_temp_second_name(const struct st_temp *temp, char name[ST_TEMP_NAME]) {
	struct st_temp second = *temp;
	if (make_name(&second, true) < 0)
		return -1;
	memcpy(name, second.name, ST_TEMP_NAME);
	return 0;
}

int st_temp_arm(struct st_temp *temp) {
	char part[sizeof temp->name];
	memcpy(part, temp->name, sizeof part);
	if (make_name(temp, true) == 0 &&
	    st_retry(renameat2(temp->dirfd, part, temp->dirfd, temp->name, 0)) == 0)
		return 0;
	memcpy(temp->name, part, sizeof part);
	return -1;
}

void st_temp_release(struct st_temp *temp) {
	if (temp->named && st_retry(unlinkat(temp->dirfd, temp->name, 0)) < 0 && errno != ENOENT)
		(void)st_retry(unlinkat(temp->dirfd, temp->name, 0));
	temp->named = false;
	st_close_at(&temp->fd);
}

/* What it takes to read an entry, and to hash its name, in the units of st_cancel_progress(). */
enum { ENTRY_WORK = 512, DIGEST_WORK = 2048 };

/* Find the name in the directory that has this digest; else write a description of it. */
static void target_name(int dirfd, struct st_str digest, char name[256]) {
	DIR *dir = st_dir_stream(dirfd);
	snprintf(name, 256, "a file that is gone");
	if (!dir)
		return;
	for (struct dirent *entry; (entry = readdir(dir));) {
		char hex[ST_TEMP_TARGET + 1];
		st_cancel_progress(DIGEST_WORK);
		if (name_digest(entry->d_name, hex, NULL) == 0 && st_str_eq(st_str(hex), digest)) {
			memcpy(name, entry->d_name, strlen(entry->d_name) + 1);
			break;
		}
	}
	closedir(dir);
}

static bool begins_with(const struct st_hash *hash, struct st_str hex) {
	return st_hash_matches(hash, hex, NULL) == 1;
}

static bool rescue_leftover(struct st_write_context *writes, const char *path,
                            struct st_str bytes) {
	char why[PATH_MAX + 256];
	snprintf(why, sizeof why,
	         "A write of %s was interrupted, and left a version behind that another process had "
	         "written.",
	         st_quoted(path));
	return st_rescue(&writes->rescued, path, bytes, why) == 0;
}

/* Whether a leftover may be removed: its bytes are known, or were rescued just now. */
static bool is_dispensable(struct st_write_context *writes, const char *path, int fd,
                           const struct name_parts *parts, struct st_file *file) {
	struct stet_error err = {0};
	int code = st_file_read(fd, path, ST_RESCUED_MAX_BYTES, file, &err);
	if (code == STET_E_TOO_BIG)
		st_notices_add(&writes->notices,
		               "An interrupted write of %s left a file beside it that is too big to read: "
		               "%s",
		               st_quoted(path), err.message);
	if (code < 0)
		return false;
	return begins_with(&file->hash, parts->expected) || begins_with(&file->hash, parts->hash) ||
	       rescue_leftover(writes, path, st_buf_str(&file->bytes));
}

/*
 * Remove a leftover that took part in an exchange. A process that opened the
 * file before that may still write to it, so watch it for late writes.
 */
static bool sweep_armed(struct st_write_context *writes, int dirfd, const char *dir,
                        const char *name, const struct name_parts *parts, int fd) {
	st_auto(st_file) file = ST_FILE_INIT;
	char target[256], path[PATH_MAX];
	target_name(dirfd, parts->target, target);
	snprintf(path, sizeof path, "%s%s%s", dir, *dir ? "/" : "", target);
	if (!is_dispensable(writes, path, fd, parts, &file) || st_retry(unlinkat(dirfd, name, 0)) < 0) {
		close(fd);
		return false;
	}
	file.stamp.racy |= !file.stamped;
	st_late_writes_add(&writes->late_writes, fd, path, &file.hash, &file.stamp);
	return true;
}

/* If the file is not locked, its commit is gone; we hold the directory's lock. */
static bool sweep_one(struct st_write_context *writes, int dirfd, const char *dir, const char *name,
                      const struct name_parts *parts) {
	st_autofd fd =
		st_retry(openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
	if (fd < 0 || st_retry(flock(fd, LOCK_EX | LOCK_NB)) < 0)
		return false;
	if (!parts->armed)
		return st_retry(unlinkat(dirfd, name, 0)) == 0;
	int taken = fd;
	fd = -1;
	return sweep_armed(writes, dirfd, dir, name, parts, taken);
}

bool st_temp_sweep(struct st_write_context *writes, const struct st_temp *own, const char *dir) {
	DIR *stream = st_dir_stream(own->dirfd);
	if (!stream)
		return false;
	bool clean = true;
	errno = 0;
	for (struct dirent *entry; (entry = readdir(stream)); errno = 0) {
		struct name_parts parts;
		st_cancel_progress(ENTRY_WORK);
		if (parse_name(entry->d_name, &parts) && strcmp(entry->d_name, own->name) != 0 &&
		    !sweep_one(writes, own->dirfd, dir, entry->d_name, &parts))
			clean = false;
	}
	if (errno != 0)
		clean = false;
	closedir(stream);
	return clean;
}

static struct st_swept *swept_find(struct st_write_context *writes, const struct stat *dir) {
	for (size_t i = 0; i < ST_SWEPT_MAX; i++) {
		if (writes->swept[i].ino == dir->st_ino && writes->swept[i].dev == dir->st_dev)
			return &writes->swept[i];
	}
	return NULL;
}

void st_temp_set_swept(struct st_write_context *writes, const struct stat *dir) {
	pthread_mutex_lock(&writes->lock);
	struct st_swept *swept = swept_find(writes, dir);
	if (!swept)
		swept = &writes->swept[writes->swept_next++ % ST_SWEPT_MAX];
	*swept = (struct st_swept){dir->st_dev, dir->st_ino, dir->st_mtim};
	pthread_mutex_unlock(&writes->lock);
}

bool st_temp_is_swept(struct st_write_context *writes, const struct stat *dir) {
	pthread_mutex_lock(&writes->lock);
	const struct st_swept *swept = swept_find(writes, dir);
	bool same = swept && swept->mtime.tv_sec == dir->st_mtim.tv_sec &&
	            swept->mtime.tv_nsec == dir->st_mtim.tv_nsec;
	pthread_mutex_unlock(&writes->lock);
	return same;
}
