#include "fs/versions/versions.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/random.h>
#include <zstd.h>

#include "base/array.h"
#include "base/clock.h"
#include "fs/path/dirs.h"
#include "fs/file/file.h"
#include "fs/path/sys.h"

#define MOVED "moved"
#define ARCHIVE "versions"

/* Begins the name of a version that is being written; all other names are hashes. */
#define NEW_PREFIX "new-"

/* How many bytes may wait to be archived: commits can be faster than the worker. */
#define MOVED_MAX ((size_t)64 << 20)

/* Longer than the grace period for late writes. */
enum { ARCHIVE_AFTER_MS = 2500 };

/* How many files a process archives before it exits. */
enum { ARCHIVED_AT_END = 100 };

/* ---- folders ---- */

/* Report only the first failure. */
static void report_failure(struct st_versions *versions, const char *why) {
	if (!atomic_exchange(&versions->reported, true))
		st_notices_add(
			versions->notices,
			"Earlier versions of files cannot be stored below %s, so undo may not be able "
			"to restore them: %s",
			versions->moved.state_dir, why);
}

/* Whether this user cannot have a state directory here at all, so that later writes need not try. */
static bool is_denied(const struct st_state_folder *folder, int code) {
	if (code != STET_E_ACCESS)
		return false;
	st_autofd state = st_state_find(folder->root, folder->state_dir, NULL);
	return state < 0;
}

/* Returns a descriptor, or -1. */
static int open_folder(struct st_versions *versions, struct st_state_folder *folder) {
	struct stet_error err = {0};
	if (versions->none)
		return -1;
	int fd = st_state_folder_open(folder, &err);
	if (fd >= 0)
		return fd;
	if (is_denied(folder, fd))
		versions->none = true;
	else
		report_failure(versions, err.message);
	return -1;
}

/* Like open_folder(), but do not make the folder. */
static int find_folder(struct st_versions *versions, struct st_state_folder *folder) {
	return st_state_folder_exists(folder) == 1 ? open_folder(versions, folder) : -1;
}

struct version_name {
	char hex[ST_HASH_HEX + 1];
};

static struct version_name name_of(const struct st_hash *hash) {
	struct version_name name;
	st_hash_hex(hash, name.hex, ST_HASH_HEX);
	return name;
}

/* ---- versions ---- */

/* zstd leaves short texts as they are; invert all bits so that grep does not find them. */
static void invert(char *bytes, size_t len) {
	for (size_t i = 0; i < len; i++)
		bytes[i] = (char)~bytes[i];
}

/* False if memory ran out. */
static bool pack(struct st_str bytes, struct st_buf *out) {
	enum { LEVEL = 1 };
	size_t bound = ZSTD_compressBound(bytes.len);
	if (!st_buf_reserve(out, bound))
		return false;
	size_t len = ZSTD_compress(out->ptr, bound, bytes.ptr, bytes.len, LEVEL);
	if (ZSTD_isError(len))
		return false;
	st_buf_truncate(out, len);
	invert(out->ptr, len);
	return true;
}

/* Returns 1, 0 if this is not a zstd frame, or -1 if memory ran out. */
static int unpack(struct st_str frame, struct st_buf *out) {
	/* The codes for "unknown" and "no frame" are larger than any version. */
	unsigned long long size = ZSTD_getFrameContentSize(frame.ptr, frame.len);
	if (size > ST_VERSIONS_FILE_MAX)
		return 0;
	if (!st_buf_reserve(out, (size_t)size))
		return -1;
	size_t len = ZSTD_decompress(out->ptr, (size_t)size, frame.ptr, frame.len);
	if (ZSTD_isError(len))
		return 0;
	st_buf_truncate(out, len);
	return 1;
}

static int open_version(int dirfd, const char *name) {
	return st_retry(openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

/* Whether the same call may succeed later. */
static bool is_temporary(int errnum) {
	return errnum == EMFILE || errnum == ENFILE || errnum == ENOMEM || errnum == EBUSY;
}

/* Returns 1 if the name is the hash of the bytes, 0 if not, -1 if memory ran out. */
static int has_its_name(const char *name, struct st_file *file) {
	if (st_hash_of(st_buf_str(&file->bytes), &file->hash, NULL) < 0)
		return -1;
	return strcmp(name, name_of(&file->hash).hex) == 0;
}

/* stet 0.1.0 did not compress. Its bytes may look like a zstd frame by chance: the hash decides. */
static int unpack_version(const char *name, struct st_file *file) {
	st_auto(st_buf) stored = ST_BUF_INIT;
	st_buf_move(&stored, &file->bytes);
	invert(stored.ptr, stored.len);
	int code = unpack(st_buf_str(&stored), &file->bytes);
	if (code == 1)
		code = has_its_name(name, file);
	if (code == 0) {
		st_buf_move(&file->bytes, &stored);
		code = has_its_name(name, file);
	}
	return code;
}

/* Returns 1, 0 if the file's bytes do not match its name, or -1 if memory ran out. */
static int read_version(int fd, const char *name, bool archived, struct st_file *file) {
	size_t max = archived ? ZSTD_COMPRESSBOUND(ST_VERSIONS_FILE_MAX) : ST_VERSIONS_FILE_MAX;
	int code = st_file_fetch(fd, name, max, file, NULL);
	if (code < 0)
		return code == STET_E_NOMEM ? -1 : 0;
	return archived ? unpack_version(name, file) : has_its_name(name, file);
}

/* Write to a temporary name, then rename. No sync: after a crash the hash shows whether the version is complete. */
static int write_version(int dirfd, const char *name, struct st_str bytes) {
	char new[40];
	uint64_t random;
	if (st_retry(getrandom(&random, sizeof random, 0)) < 0)
		return -1;
	snprintf(new, sizeof new, NEW_PREFIX "%016llx", (unsigned long long)random);
	st_autofd fd =
		st_retry(openat(dirfd, new, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
	if (fd < 0)
		return -1;
	if (st_pwrite_all(fd, 0, bytes) == 0 && st_retry(renameat(dirfd, new, dirfd, name)) == 0)
		return 0;
	int errnum = errno;
	(void)st_retry(unlinkat(dirfd, new, 0));
	errno = errnum;
	return -1;
}

/* Whether the header gives this size (or stet 0.1.0 stored it). After a crash it may be zeros. */
static bool has_size(int fd, size_t len) {
	enum { HEADER_MAX = 18 };
	struct stat st;
	char head[HEADER_MAX];
	ssize_t got = st_retry(pread(fd, head, sizeof head, 0));
	if (got < 0 || st_retry(fstat(fd, &st)) < 0 || !S_ISREG(st.st_mode) || st.st_nlink != 1)
		return false;
	invert(head, (size_t)got);
	return ZSTD_getFrameContentSize(head, (size_t)got) == len || (size_t)st.st_size == len;
}

/* Whether a version of this name and size is stored; if so, mark it as used now. */
static bool use_version(int dirfd, const char *name, size_t len) {
	static const struct timespec now[] = {{.tv_nsec = UTIME_OMIT}, {.tv_nsec = UTIME_NOW}};
	st_autofd fd = open_version(dirfd, name);
	return fd >= 0 && has_size(fd, len) && st_retry(futimens(fd, now)) == 0;
}

/* ---- removing old versions ---- */

/* A file takes whole blocks, an inode and a directory entry. */
enum { BLOCK = 4096, OVERHEAD = 1024 };

static uint64_t disk_size(uint64_t size) {
	return (size + BLOCK - 1) / BLOCK * BLOCK + OVERHEAD;
}

struct version {
	char name[ST_HASH_HEX + 1];
	struct timespec used;
	uint64_t size;
};

/* All versions in a directory. */
struct census {
	struct version *versions;
	size_t count;
	uint64_t bytes;
};

static void census_release(struct census *census) {
	free(census->versions);
}

static bool census_add(struct census *census, const char *name, const struct stat *st) {
	if (!st_array_room(&census->versions, census->count, sizeof *census->versions))
		return false;
	struct version *version = &census->versions[census->count++];
	version->used = st->st_mtim;
	version->size = disk_size((uint64_t)st->st_size);
	snprintf(version->name, sizeof version->name, "%s", name);
	census->bytes += version->size;
	return true;
}

static bool count_versions(int dirfd, struct census *census) {
	DIR *dir = st_dir_stream(dirfd);
	bool counted = dir != NULL;
	for (struct dirent *entry; counted && (entry = readdir(dir));) {
		struct stat st;
		if (entry->d_name[0] == '.' || strlen(entry->d_name) > ST_HASH_HEX ||
		    st_retry(fstatat(dirfd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW)) < 0)
			continue;
		counted = census_add(census, entry->d_name, &st);
	}
	if (dir)
		closedir(dir);
	return counted;
}

/* Whether a killed process left it half written: a living one holds the lock while it writes. */
static bool is_abandoned(const struct version *version) {
	return strncmp(version->name, NEW_PREFIX, strlen(NEW_PREFIX)) == 0;
}

static int by_use(const void *a, const void *b) {
	const struct timespec *left = &((const struct version *)a)->used;
	const struct timespec *right = &((const struct version *)b)->used;
	if (left->tv_sec != right->tv_sec)
		return left->tv_sec < right->tv_sec ? -1 : 1;
	return (left->tv_nsec > right->tv_nsec) - (left->tv_nsec < right->tv_nsec);
}

/* Remove the least recently used versions until `left` bytes remain. False if none was removed. */
static bool remove_oldest(int dirfd, struct census *census, uint64_t left) {
	bool any = false;
	if (census->count > 0)
		qsort(census->versions, census->count, sizeof *census->versions, by_use);
	for (size_t i = 0; i < census->count && census->bytes > left; i++) {
		any |= st_retry(unlinkat(dirfd, census->versions[i].name, 0)) == 0;
		census->bytes -= census->versions[i].size;
	}
	return any;
}

/*
 * Make room for `need` bytes, and an eighth of the limit more, so that not
 * every new version has to. The caller holds the lock. Returns the bytes that
 * remain, or -1 if the versions could not be counted.
 */
static int64_t prune_versions(int dirfd, uint64_t max, uint64_t need) {
	st_auto(census) census = {0};
	if (!count_versions(dirfd, &census))
		return -1;
	for (size_t i = 0; i < census.count; i++) {
		if (is_abandoned(&census.versions[i]) &&
		    st_retry(unlinkat(dirfd, census.versions[i].name, 0)) == 0) {
			census.bytes -= census.versions[i].size;
			census.versions[i].size = 0;
		}
	}
	uint64_t target = max - max / 8;
	if (census.bytes + need > max)
		(void)remove_oldest(dirfd, &census, target > need ? target - need : 0);
	return (int64_t)census.bytes;
}

static bool remove_half(int dirfd) {
	st_auto(census) census = {0};
	return dirfd >= 0 && count_versions(dirfd, &census) &&
	       remove_oldest(dirfd, &census, census.bytes / 2);
}

/* ---- counting bytes ---- */

/*
 * A file beside the versions holds the number of bytes that they take. A
 * process locks it from before it adds a version until after. A killed process
 * leaves the number too high at worst; if it leaves no room or is missing, we
 * count the versions again.
 */
#define USAGE_FILE ".room"

enum { LOCK_WAIT_MS = 1000, LOCK_TRIES = 100 };

struct usage {
	int fd, dirfd;
	uint64_t bytes;
};

static void usage_release(struct usage *usage) {
	/* Closing the descriptor drops the lock. */
	st_close_at(&usage->fd);
}

static bool is_own_file(int fd) {
	struct stat st;
	return fd >= 0 && st_retry(fstat(fd, &st)) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1 &&
	       st.st_uid == geteuid();
}

static int open_usage(int dirfd) {
	int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	st_autofd fd = st_retry(openat(dirfd, USAGE_FILE, flags, 0600));
	if (!is_own_file(fd)) {
		/* Not a file that stet made. */
		st_close_at(&fd);
		(void)st_retry(unlinkat(dirfd, USAGE_FILE, 0));
		fd = st_retry(openat(dirfd, USAGE_FILE, flags | O_EXCL, 0600));
	}
	int opened = fd;
	fd = -1;
	return opened;
}

/* Other processes hold the lock for as long as a rename takes. */
static bool lock_soon(int fd) {
	for (int i = 0; i < LOCK_TRIES; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return true;
		sched_yield();
	}
	return false;
}

/* Lock the file and read it; false with EBUSY if another process holds the lock for too long. */
static bool usage_begin(struct usage *usage, int dirfd, bool wait) {
	*usage = (struct usage){.fd = open_usage(dirfd), .dirfd = dirfd};
	if (usage->fd < 0)
		return false;
	if (!lock_soon(usage->fd) &&
	    (!wait || st_state_lock(usage->fd, LOCK_WAIT_MS, "The size of the versions", NULL) < 0)) {
		usage_release(usage);
		errno = EBUSY;
		return false;
	}
	if (st_retry(pread(usage->fd, &usage->bytes, sizeof usage->bytes, 0)) != sizeof usage->bytes)
		usage->bytes = UINT64_MAX / 2;
	return true;
}

static void usage_set(struct usage *usage, uint64_t bytes) {
	usage->bytes = bytes;
	/* Without a number, the next process counts again. */
	if (st_retry(pwrite(usage->fd, &bytes, sizeof bytes, 0)) != sizeof bytes)
		(void)st_retry(ftruncate(usage->fd, 0));
}

/* Add `need` bytes to the number, if they fit; with may_trim remove old versions to make room. */
static bool usage_add(struct usage *usage, uint64_t need, uint64_t max, bool may_trim) {
	if (usage->bytes > max || usage->bytes + need > max) {
		int64_t left = prune_versions(usage->dirfd, may_trim ? max : UINT64_MAX / 4, need);
		if (left < 0) {
			errno = ENOMEM;
			return false;
		}
		usage_set(usage, (uint64_t)left);
	}
	if (usage->bytes + need > max) {
		errno = EDQUOT;
		return false;
	}
	usage_set(usage, usage->bytes + need);
	return true;
}

/*
 * Remove a file and subtract its size, under the lock: otherwise a process that
 * counts the files in between would make us subtract it twice. True if the file
 * is gone, whoever removed it.
 */
static bool usage_remove(int dirfd, const char *name, uint64_t size) {
	struct usage usage;
	bool locked = usage_begin(&usage, dirfd, false);
	bool removed = st_retry(unlinkat(dirfd, name, 0)) == 0, gone = removed || errno == ENOENT;
	uint64_t need = disk_size(size);
	if (locked && removed && usage.bytes >= need && usage.bytes < UINT64_MAX / 2)
		usage_set(&usage, usage.bytes - need);
	if (locked)
		usage_release(&usage);
	return gone;
}

/* ---- storing and reading ---- */

static bool fits_limit(const struct st_versions *versions, size_t len) {
	return len <= ST_VERSIONS_FILE_MAX && disk_size(len) <= versions->max;
}

static bool may_be_moved(const struct st_versions *versions, const struct stat *st) {
	return S_ISREG(st->st_mode) && !(st->st_mode & 06000) && st->st_uid == geteuid() &&
	       st->st_nlink == 1 && fits_limit(versions, (size_t)st->st_size);
}

bool st_versions_move(struct st_versions *versions, int fd, int dirfd, const char *name,
                      const struct st_hash *hash) {
	struct stat st;
	struct usage usage;
	if (st_retry(fstat(fd, &st)) < 0 || !may_be_moved(versions, &st))
		return false;
	int moved = open_folder(versions, &versions->moved);
	if (moved < 0 || !usage_begin(&usage, moved, false))
		return false;
	uint64_t need = disk_size((uint64_t)st.st_size);
	bool done = usage_add(&usage, need, MOVED_MAX, false);
	if (done && st_retry(renameat2(dirfd, name, moved, name_of(hash).hex, RENAME_NOREPLACE)) < 0) {
		usage_set(&usage, usage.bytes - need);
		done = false;
	}
	usage_release(&usage);
	if (!done)
		return false;
	versions->used = true;
	if (versions->background)
		st_background_schedule(versions->background, &versions->task, ARCHIVE_AFTER_MS);
	return true;
}

/* Returns 0, or -1 with errno. */
static int store_version(int archive, size_t max, const char *name, struct st_str bytes) {
	struct usage usage;
	st_auto(st_buf) packed = ST_BUF_INIT;
	if (!pack(bytes, &packed)) {
		errno = ENOMEM;
		return -1;
	}
	if (!usage_begin(&usage, archive, true))
		return -1;
	int failed = usage_add(&usage, disk_size(packed.len), max, true) ? 0 : -1;
	if (!failed)
		failed = write_version(archive, name, st_buf_str(&packed));
	if (failed && errno == ENOSPC && remove_half(archive)) {
		/* The next process counts again. */
		(void)st_retry(ftruncate(usage.fd, 0));
		failed = write_version(archive, name, st_buf_str(&packed));
	}
	int errnum = errno;
	usage_release(&usage);
	errno = errnum;
	return failed;
}

bool st_versions_put(struct st_versions *versions, const struct st_hash *hash,
                     struct st_str bytes) {
	struct version_name name = name_of(hash);
	int archive = fits_limit(versions, bytes.len) ? open_folder(versions, &versions->archive) : -1;
	if (archive < 0)
		return false;
	if (use_version(archive, name.hex, bytes.len) ||
	    store_version(archive, versions->max, name.hex, bytes) == 0)
		return true;
	report_failure(versions, strerror(errno));
	return false;
}

static bool get_from(int dirfd, const char *name, bool archived, struct st_buf *out) {
	st_auto(st_file) file = ST_FILE_INIT;
	st_autofd fd = dirfd < 0 ? -1 : open_version(dirfd, name);
	int code = fd < 0 ? -1 : read_version(fd, name, archived, &file);
	if (code == 1)
		st_buf_move(out, &file.bytes);
	else if (code == 0)
		(void)st_retry(unlinkat(dirfd, name, 0));
	return code == 1;
}

/* In this order: the worker archives a file before it removes it from the moved ones. */
bool st_versions_get(struct st_versions *versions, const struct st_hash *hash, struct st_buf *out) {
	struct version_name name = name_of(hash);
	return get_from(find_folder(versions, &versions->moved), name.hex, false, out) ||
	       get_from(find_folder(versions, &versions->archive), name.hex, true, out);
}

/* Find any moved file; false if there is none. */
static bool find_moved(int dirfd, struct version_name *name) {
	DIR *dir = st_dir_stream(dirfd);
	bool found = false;
	for (struct dirent *entry; dir && !found && (entry = readdir(dir));) {
		found = strlen(entry->d_name) == ST_HASH_HEX && entry->d_type != DT_DIR;
		if (found)
			memcpy(name->hex, entry->d_name, sizeof name->hex);
	}
	if (dir)
		closedir(dir);
	return found;
}

/* Archive a moved file's bytes. True if that is done or can never succeed: then the file may go. */
static bool archive_bytes(struct st_versions *versions, int moved, const struct st_file *file) {
	if (!fits_limit(versions, file->bytes.len))
		return true;
	int archive = open_folder(versions, &versions->archive);
	if (archive < 0) {
		(void)prune_versions(moved, MOVED_MAX, 0);
		return false;
	}
	struct version_name name = name_of(&file->hash);
	return store_version(archive, versions->max, name.hex, st_buf_str(&file->bytes)) == 0 ||
	       !is_temporary(errno);
}

static bool archive_file(struct st_versions *versions, int moved, const char *name) {
	st_auto(st_file) file = ST_FILE_INIT;
	st_autofd fd = open_version(moved, name);
	if (fd < 0)
		return !is_temporary(errno) && (st_retry(unlinkat(moved, name, 0)) == 0 || errno == ENOENT);
	int code = read_version(fd, name, false, &file);
	if (code < 0 || (code == 1 && !archive_bytes(versions, moved, &file)))
		return false;
	return usage_remove(moved, name, file.bytes.len);
}

bool st_versions_archive(struct st_versions *versions) {
	struct version_name name;
	int moved = find_folder(versions, &versions->moved);
	return moved >= 0 && find_moved(moved, &name) && archive_file(versions, moved, name.hex);
}

/* ---- age ---- */

/* Its time says when a process last looked for old versions. */
#define EXPIRY_FILE ".expiry"

enum { EXPIRY_SECONDS = 3600, DAY_SECONDS = 86400 };

/* Whether it is time to look. If so, the next process waits for an hour. */
static bool begin_expiry(int dirfd) {
	static const struct timespec now[] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_NOW}};
	struct stat st;
	int64_t seconds = st_wall_ns() / 1000000000;
	bool looked = st_retry(fstatat(dirfd, EXPIRY_FILE, &st, AT_SYMLINK_NOFOLLOW)) == 0;
	if (looked && st.st_mtim.tv_sec <= seconds && seconds - st.st_mtim.tv_sec < EXPIRY_SECONDS)
		return false;
	st_autofd fd =
		st_retry(openat(dirfd, EXPIRY_FILE,
	                    O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600));
	return is_own_file(fd) && st_retry(futimens(fd, now)) == 0;
}

static void remove_before(int dirfd, int64_t seconds) {
	st_auto(census) census = {0};
	struct usage usage;
	if (!usage_begin(&usage, dirfd, false))
		return;
	bool counted = count_versions(dirfd, &census);
	for (size_t i = 0; i < census.count && counted; i++) {
		const struct version *version = &census.versions[i];
		if (version->used.tv_sec < seconds && st_retry(unlinkat(dirfd, version->name, 0)) == 0)
			census.bytes -= version->size;
	}
	if (counted)
		usage_set(&usage, census.bytes);
	usage_release(&usage);
}

void st_versions_expire(struct st_versions *versions) {
	int64_t days = versions->max_days;
	int archive = days > 0 ? find_folder(versions, &versions->archive) : -1;
	if (archive >= 0 && begin_expiry(archive))
		remove_before(archive, st_wall_ns() / 1000000000 - days * DAY_SECONDS);
}

static void archive_in_background(void *data) {
	struct st_versions *versions = data;
	if (st_versions_archive(versions))
		st_background_schedule(versions->background, &versions->task, 0);
	else
		st_versions_expire(versions);
}

bool st_versions_free_space(struct st_state_folder *folder) {
	return st_state_folder_exists(folder) == 1 && remove_half(st_state_folder_open(folder, NULL));
}

uint64_t st_versions_bytes(int state_fd) {
	uint64_t bytes = 0;
	for (int i = 0; i < 2; i++) {
		st_auto(census) census = {0};
		st_autofd dirfd = st_retry(
			openat(state_fd, i ? ARCHIVE : MOVED, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
		if (dirfd >= 0)
			(void)count_versions(dirfd, &census);
		bytes += census.bytes;
	}
	return bytes;
}

bool st_versions_has(int state_fd, const struct st_hash *hash) {
	static const char *const folders[] = {MOVED, ARCHIVE};
	struct version_name name = name_of(hash);
	for (size_t i = 0; i < 2; i++) {
		char path[sizeof ARCHIVE + 1 + sizeof name.hex];
		struct stat st;
		snprintf(path, sizeof path, "%s/%s", folders[i], name.hex);
		if (st_retry(fstatat(state_fd, path, &st, AT_SYMLINK_NOFOLLOW)) == 0)
			return true;
	}
	return false;
}

void st_versions_init(struct st_versions *versions, const struct st_root *root,
                      const char *state_dir, struct st_notices *notices,
                      struct st_background *background) {
	*versions = (struct st_versions){
		.notices = notices,
		.background = background,
		.task = {.run = archive_in_background, .data = versions},
		.max = ST_VERSIONS_MAX,
		.max_days = ST_VERSION_DAYS,
	};
	st_state_folder_init(&versions->moved, root, state_dir, MOVED);
	st_state_folder_init(&versions->archive, root, state_dir, ARCHIVE);
}

void st_versions_release(struct st_versions *versions) {
	if (versions->used)
		st_versions_expire(versions);
	for (int i = 0; i < ARCHIVED_AT_END && versions->used; i++)
		versions->used = st_versions_archive(versions);
	st_state_folder_release(&versions->moved);
	st_state_folder_release(&versions->archive);
}
