#include "fs/write/temp.h"

#include <limits.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/xattr.h>

#include "base/cancel.h"
#include "fs/path/dirs.h"
#include "fs/path/sys.h"
#include "fs/versions/user_key.h"

enum { RANDOM_DIGITS = 8, NAMES_TRIED = 16 };

/* The shape of a name, for both writing and recognising. */
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

/* A mark behind what there is of a name, and the ending; it holds for this ending alone. */
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

/* A new name; 0, or -1 with errno. */
static int make_name(struct st_temp *temp, bool armed) {
	uint32_t random;
	if (st_retry(getrandom(&random, sizeof random, 0)) < 0)
		return -1;
	if (st_temp_name(temp, random, armed))
		return 0;
	errno = EIO;
	return -1;
}

/* The two hashes and the name digest out of a name; false if it is not one of ours. */
struct parts {
	struct st_str expected, hash, target;
	bool armed;
};

/* Take so many hex digits, and what follows them, off a name. */
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

/* Whether the mark is ours: names can be made by anybody, and come with a clone. */
static bool is_marked(const char *text, size_t len, bool armed) {
	char made[ST_TEMP_NAME];
	if (len >= sizeof made)
		return false;
	memcpy(made, text, len);
	made[len] = '\0';
	return add_mark(made, sizeof made, armed ? ARMED : PART) && strcmp(made, text) == 0;
}

static bool parse_name(const char *text, struct parts *parts) {
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

/* Whether the new file already carries the attribute, as a security label set by policy does. */
static bool has_attribute(int fd, const char *name, struct st_str value) {
	char buffer[4096];
	ssize_t len = fgetxattr(fd, name, buffer, sizeof buffer);
	return len >= 0 && st_str_eq(st_strn(buffer, (size_t)len), value);
}

/* 0, 1 if one of them cannot be set, -1 with errno. */
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

/* A directory's default ACL is given to every new file, whether or not the old one had any. */
static int drop_inherited_acl(int fd) {
	static const char acl[] = "system.posix_acl_access";
	if (fgetxattr(fd, acl, NULL, 0) < 0 || st_retry(fremovexattr(fd, acl)) == 0)
		return 0;
	return 1;
}

/* Owner first: changing it takes the setuid bit away. 0, 1 or -1 as above. */
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
	/* The kernel drops the setgid bit without an error for who is not in the group. */
	if (mode & 06000 && (st_retry(fstat(to, &new)) < 0 || (new.st_mode & 07777) != mode))
		return 1;
	return 0;
}

/* The writing descriptor goes when the file is complete; this one holds the lock and stays. */
static int reopen(struct st_temp *temp) {
	temp->fd = st_retry(openat(temp->dirfd, temp->name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
	if (temp->fd < 0)
		return -1;
	(void)st_retry(flock(temp->fd, LOCK_EX | LOCK_NB));
	return 0;
}

static int create(struct st_temp *temp, mode_t mode) {
	for (int i = 0; i < NAMES_TRIED; i++) {
		if (make_name(temp, false) < 0)
			return -1;
		int fd = st_retry(openat(temp->dirfd, temp->name,
		                         O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
		temp->named = fd >= 0;
		if (fd >= 0 && reopen(temp) == 0)
			return fd;
		int errnum = errno;
		st_close_at(&fd);
		st_temp_release(temp);
		errno = errnum;
		/* A name that is taken; or somebody who sweeps took the file before it was locked. */
		if (errnum != EEXIST && errnum != ENOENT)
			break;
	}
	return -1;
}

static int stamp(struct st_temp *temp) {
	struct stat st;
	if (st_retry(fstat(temp->fd, &st)) < 0)
		return -1;
	temp->stamp = st_stamp_take(temp->fd, &st);
	return 0;
}

/* A large file takes its time, and nothing is lost yet if nobody waits for it any more. */
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

/* 0, 1 or -1 as copy_metadata(). */
static int fill(struct st_temp *temp, int fd, const struct st_temp_plan *plan) {
	int failed = write_pieces(fd, plan->bytes);
	/* Only now: writing takes setuid bits and capabilities away. */
	if (failed == 0 && plan->like >= 0)
		failed = copy_metadata(plan->like, fd);
	if (failed == 0)
		failed = st_retry(plan->relaxed ? fdatasync(fd) : fsync(fd));
	return failed == 0 ? stamp(temp) : failed;
}

int st_temp_write(struct st_temp *temp, int dirfd, const struct st_temp_plan *plan,
                  struct stet_error *err) {
	temp->dirfd = dirfd;
	temp->expected = plan->expected ? *plan->expected : (struct st_hash){0};
	temp->hash = plan->hash;
	int code = name_digest(plan->target, temp->target, err);
	if (code < 0)
		return code;
	int fd = create(temp, plan->like < 0 ? 0666 : 0600);
	if (fd < 0)
		return st_fail_errno(err, errno, "Cannot make a temporary file beside %s",
		                     st_quoted(plan->target));

	struct stat dir = {0};
	(void)st_retry(fstat(dirfd, &dir));
	temp->dir_mtime = dir.st_mtim;
	int failed = fill(temp, fd, plan);
	int errnum = errno;
	/* Some filesystems tell only now that a write failed. */
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

/* The name in the directory that a digest belongs to, or a description of it. */
static void target_name(int dirfd, struct st_str digest, char name[256]) {
	DIR *dir = st_dir_stream(dirfd);
	snprintf(name, 256, "a file that is gone");
	if (!dir)
		return;
	for (struct dirent *entry; (entry = readdir(dir));) {
		char hex[ST_TEMP_TARGET + 1];
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
	         "A write of %s was cut short, and a version of it that somebody else had written "
	         "was set aside.",
	         st_quoted(path));
	return st_rescue(&writes->rescued, path, bytes, why) == 0;
}

/* Whether a leftover holds nothing that is not elsewhere, or does so no more. */
static bool is_dispensable(struct st_write_context *writes, const char *path, int fd,
                           const struct parts *parts, struct st_file *file) {
	struct stet_error err = {0};
	int code = st_file_read(fd, path, ST_RESCUED_MAX_BYTES, file, &err);
	if (code == STET_E_TOO_BIG)
		st_notices_add(&writes->notices,
		               "What a write of %s that was cut short left beside it is too big to be "
		               "looked at: %s",
		               st_quoted(path), err.message);
	if (code < 0)
		return false;
	return begins_with(&file->hash, parts->expected) || begins_with(&file->hash, parts->hash) ||
	       rescue_leftover(writes, path, st_buf_str(&file->bytes));
}

/*
 * A leftover that took part in an exchange. Somebody who looked up the path
 * before that may still write to it, so that it is watched when its name is gone.
 */
static bool sweep_armed(struct st_write_context *writes, int dirfd, const char *dir,
                        const char *name, const struct parts *parts, int fd) {
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

/* Whoever finds the lock free may decide: the owner is gone, and we hold the directory. */
static bool sweep_one(struct st_write_context *writes, int dirfd, const char *dir, const char *name,
                      const struct parts *parts) {
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
		struct parts parts;
		if (parse_name(entry->d_name, &parts) && strcmp(entry->d_name, own->name) != 0 &&
		    !sweep_one(writes, own->dirfd, dir, entry->d_name, &parts))
			clean = false;
	}
	if (errno != 0)
		clean = false;
	closedir(stream);
	return clean;
}
