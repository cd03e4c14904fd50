#include "fs/keep.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/file.h>

#include "fs/state.h"
#include "fs/sys.h"

/* Marks a copy whose rewrite is not complete; its writer holds a lock on it. */
#define RESCUE_SUFFIX ".in-place"

/* The descriptor of STATE/kept, made when first needed. */
static int kept_open(struct st_guard *guard, struct stet_error *err) {
	pthread_mutex_lock(&guard->lock);
	int fd = guard->kept_fd;
	pthread_mutex_unlock(&guard->lock);
	if (fd >= 0)
		return fd;

	st_autofd state = st_state_open(guard->root, guard->state_dir, err);
	if (state < 0)
		return state;
	if (st_retry(mkdirat(state, "kept", 0700)) < 0 && errno != EEXIST)
		return st_fail_errno(err, errno, "Cannot make %s/kept", guard->state_dir);
	fd = st_retry(openat(state, "kept", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
	if (fd < 0)
		return st_fail_errno(err, errno, "Cannot open %s/kept", guard->state_dir);

	pthread_mutex_lock(&guard->lock);
	if (guard->kept_fd >= 0) {
		close(fd);
		fd = guard->kept_fd;
	}
	guard->kept_fd = fd;
	pthread_mutex_unlock(&guard->lock);
	return fd;
}

/* HASH16-PATH, slashes and percent signs escaped; of a long path the end, which says more. */
static int kept_name(struct st_str bytes, const char *path, char name[256], struct stet_error *err) {
	struct st_hash hash;
	int code = st_hash_of(bytes, &hash, err);
	if (code < 0)
		return code;
	char escaped[3 * 256];
	size_t len = 0, path_len = strlen(path);
	for (const char *p = path + (path_len > 200 ? path_len - 200 : 0); *p; p++) {
		if (*p == '/' || *p == '%')
			len += (size_t)snprintf(escaped + len, sizeof escaped - len, "%%%02X", *p);
		else
			escaped[len++] = *p;
	}
	escaped[len] = '\0';
	char hex[ST_HASH_SHORT + 1];
	st_hash_hex(&hash, hex, ST_HASH_SHORT);
	snprintf(name, 256, "%s-%.200s", hex, escaped + (len > 200 ? len - 200 : 0));
	return 0;
}

/* Write and sync a new file of this name, locked; an older one of the name is replaced. */
static int write_copy(int dirfd, const char *name, struct st_str bytes, struct stet_error *err) {
	(void)st_retry(unlinkat(dirfd, name, 0));
	int fd = st_retry(openat(dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
	if (fd < 0)
		return st_fail_errno(err, errno, "Cannot make the copy %s", name);
	(void)st_retry(flock(fd, LOCK_EX | LOCK_NB));
	if (st_pwrite_all(fd, bytes) < 0 || st_retry(fsync(fd)) < 0) {
		int errnum = errno;
		close(fd);
		unlinkat(dirfd, name, 0);
		return st_fail_errno(err, errnum, "Cannot write the copy %s", name);
	}
	return fd;
}

struct census {
	size_t count;
	uint64_t bytes;
	char oldest[256];
	struct timespec oldest_time;
};

static bool is_older(struct timespec a, struct timespec b) {
	return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec < b.tv_nsec;
}

static DIR *list(int dirfd) {
	int fd = st_retry(openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	if (fd >= 0 && !dir)
		close(fd);
	return dir;
}

static bool take_census(int dirfd, struct census *census) {
	*census = (struct census){0};
	DIR *dir = list(dirfd);
	if (!dir)
		return false;
	for (struct dirent *entry; (entry = readdir(dir));) {
		struct stat st;
		if (fstatat(dirfd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
			continue;
		if (census->count++ == 0 || is_older(st.st_mtim, census->oldest_time)) {
			census->oldest_time = st.st_mtim;
			memcpy(census->oldest, entry->d_name, strlen(entry->d_name) + 1);
		}
		census->bytes += (uint64_t)st.st_size;
	}
	closedir(dir);
	return true;
}

static void prune(struct st_guard *guard, int dirfd) {
	struct census census;
	while (take_census(dirfd, &census) && census.count > 1 &&
	       (census.count > ST_KEPT_MAX_FILES || census.bytes > ST_KEPT_MAX_BYTES)) {
		if (st_retry(unlinkat(dirfd, census.oldest, 0)) < 0)
			return;
		st_guard_notice(guard, "The oldest kept copy, %s/kept/%s, was removed: no more than %d files or %llu MiB are kept.",
		                guard->state_dir, census.oldest, ST_KEPT_MAX_FILES,
		                (unsigned long long)(ST_KEPT_MAX_BYTES >> 20));
	}
}

int st_keep(struct st_guard *guard, const char *path, struct st_str bytes, const char *why) {
	struct stet_error err = {0};
	char name[256];
	int dirfd = kept_open(guard, &err);
	int code = dirfd < 0 ? dirfd : kept_name(bytes, path, name, &err);
	if (code >= 0)
		code = write_copy(dirfd, name, bytes, &err);
	if (code < 0) {
		st_guard_notice(guard, "%s Its %zu bytes could not be kept: %s", why, bytes.len, err.message);
		return code;
	}
	close(code);
	st_guard_notice(guard, "%s Its %zu bytes are kept as %s/kept/%s.", why, bytes.len,
	                guard->state_dir, name);
	prune(guard, dirfd);
	return 0;
}

int st_rescue_begin(struct st_guard *guard, const char *path, struct st_str bytes,
                    struct st_rescue *rescue, struct stet_error *err) {
	int dirfd = kept_open(guard, err);
	if (dirfd < 0)
		return dirfd;
	int code = kept_name(bytes, path, rescue->name, err);
	if (code < 0)
		return code;
	size_t len = strlen(rescue->name);
	snprintf(rescue->name + len, sizeof rescue->name - len, RESCUE_SUFFIX);
	rescue->fd = write_copy(dirfd, rescue->name, bytes, err);
	return rescue->fd < 0 ? rescue->fd : 0;
}

void st_rescue_end(struct st_guard *guard, struct st_rescue *rescue) {
	if (rescue->fd < 0)
		return;
	if (st_retry(unlinkat(guard->kept_fd, rescue->name, 0)) < 0 && errno != ENOENT)
		(void)st_retry(unlinkat(guard->kept_fd, rescue->name, 0));
	st_close_at(&rescue->fd);
}

/* From a copy in use to a kept one: the suffix goes. */
static void report_rescue(struct st_guard *guard, const char *path, const char *name) {
	char final[256];
	size_t len = strlen(name) - strlen(RESCUE_SUFFIX);
	memcpy(final, name, len);
	final[len] = '\0';
	if (st_retry(renameat(guard->kept_fd, name, guard->kept_fd, final)) < 0) {
		/* Another process was quicker and has reported it. */
		if (errno == ENOENT)
			return;
		memcpy(final, name, strlen(name) + 1);
	}
	st_guard_notice(guard, "Writing \"%s\" in place was cut short. What it held before is kept as %s/kept/%s; compare the two.",
	                path, guard->state_dir, final);
}

void st_rescue_leave(struct st_guard *guard, const char *path, struct st_rescue *rescue) {
	if (rescue->fd < 0)
		return;
	report_rescue(guard, path, rescue->name);
	st_close_at(&rescue->fd);
}

/* A copy whose lock is free belongs to a process that is gone. 1, 0, or -1 if that cannot be told. */
static int is_abandoned(int dirfd, const char *name) {
	st_autofd fd = st_retry(openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
	if (fd < 0)
		return errno == ENOENT ? 0 : -1;
	if (st_retry(flock(fd, LOCK_EX | LOCK_NB)) == 0)
		return 1;
	return errno == EWOULDBLOCK ? 0 : -1;
}

/* The path inside HASH16-PATH.in-place, unescaped. */
static void path_of_name(const char *name, char path[256]) {
	struct st_str text = st_str(name);
	text = st_str_slice(text, ST_HASH_SHORT + 1, text.len - strlen(RESCUE_SUFFIX));
	size_t len = 0;
	for (size_t i = 0; i < text.len; i++) {
		if (st_str_starts(st_str_slice(text, i, text.len), ST_STR("%2F")))
			path[len++] = '/', i += 2;
		else if (st_str_starts(st_str_slice(text, i, text.len), ST_STR("%25")))
			path[len++] = '%', i += 2;
		else
			path[len++] = text.ptr[i];
	}
	path[len] = '\0';
}

static bool is_rescue(const char *text) {
	struct st_str name = st_str(text);
	return name.len > ST_HASH_SHORT + 1 + strlen(RESCUE_SUFFIX) && name.len <= 255 &&
	       st_str_ends(name, ST_STR(RESCUE_SUFFIX));
}

/* 1 if there is a directory of kept bytes, 0 if not, or a negative code. */
static int kept_exists(const struct st_guard *guard) {
	char path[300];
	struct stat st;
	snprintf(path, sizeof path, "%s/kept", guard->state_dir);
	return st_root_peek(guard->root, path, &st, NULL);
}

/* False if the copies could not all be looked at. */
static bool recover(struct st_guard *guard) {
	int exists = kept_exists(guard);
	if (exists <= 0)
		return exists == 0;
	int dirfd = kept_open(guard, NULL);
	DIR *dir = dirfd < 0 ? NULL : list(dirfd);
	if (!dir)
		return false;
	bool all = true;
	errno = 0;
	for (struct dirent *entry; (entry = readdir(dir)); errno = 0) {
		int abandoned = is_rescue(entry->d_name) ? is_abandoned(dirfd, entry->d_name) : 0;
		if (abandoned < 0)
			all = false;
		if (abandoned <= 0)
			continue;
		char path[256];
		path_of_name(entry->d_name, path);
		report_rescue(guard, path, entry->d_name);
	}
	if (errno != 0)
		all = false;
	closedir(dir);
	return all;
}

void st_rescue_recover(struct st_guard *guard) {
	pthread_mutex_lock(&guard->lock);
	bool done = guard->recovered;
	pthread_mutex_unlock(&guard->lock);
	if (done || !recover(guard))
		return;
	pthread_mutex_lock(&guard->lock);
	guard->recovered = true;
	pthread_mutex_unlock(&guard->lock);
}
