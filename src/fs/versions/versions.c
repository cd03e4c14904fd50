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

/* Begins the name of a version in the making; all others are hashes. */
#define NEW_PREFIX "new-"

/* How much may wait to be archived, since it comes quicker than that is done. */
#define MOVED_MAX ((size_t)64 << 20)

/* When late writes are no longer to be expected: one that comes in time shows in the bytes. */
enum { ARCHIVE_AFTER_MS = 2500 };

/* How many files a process that ends archives. The next process finds the others. */
enum { ARCHIVED_AT_END = 100 };

/* ---- folders ---- */

/* Once; where nothing may be kept at all, the store says so. */
static void tell(struct st_versions *versions, const char *why) {
	if (!atomic_exchange(&versions->told, true))
		st_notices_add(versions->notices,
		               "Earlier versions of files cannot be kept below %s, so that writes may not "
		               "be taken back later: %s",
		               versions->moved.state_dir, why);
}

/* Where there may be no state directory, each write need not try again. */
static bool is_denied(const struct st_state_folder *folder, int code) {
	if (code != STET_E_ACCESS)
		return false;
	st_autofd state = st_state_find(folder->root, folder->state_dir, NULL);
	return state < 0;
}

/* -1 if it cannot be had. */
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
		tell(versions, err.message);
	return -1;
}

/* Without making it. */
static int find_folder(struct st_versions *versions, struct st_state_folder *folder) {
	return st_state_folder_exists(folder) == 1 ? open_folder(versions, folder) : -1;
}

struct name {
	char hex[ST_HASH_HEX + 1];
};

static struct name name_of(const struct st_hash *hash) {
	struct name name;
	st_hash_hex(hash, name.hex, ST_HASH_HEX);
	return name;
}

/* ---- versions ---- */

/* zstd stores short texts as they are; with all bits inverted, grep does not find them. */
static void invert(char *bytes, size_t len) {
	for (size_t i = 0; i < len; i++)
		bytes[i] = (char)~bytes[i];
}

/* False without memory. */
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

/* 1, 0 if it is no frame of zstd, or -1 without memory. */
static int unpack(struct st_str frame, struct st_buf *out) {
	/* Larger than any version if it is none, or does not tell. */
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

/* After an error: whether it may be gone the next time. */
static bool may_pass(int errnum) {
	return errnum == EMFILE || errnum == ENFILE || errnum == ENOMEM || errnum == EBUSY;
}

/* 1 if the bytes have the hash of their name, 0 if not, -1 without the memory to find out. */
static int has_its_name(const char *name, struct st_file *file) {
	if (st_hash_of(st_buf_str(&file->bytes), &file->hash, NULL) < 0)
		return -1;
	return strcmp(name, name_of(&file->hash).hex) == 0;
}

/* Versions of stet 0.1.0 are not compressed. Their bytes may look like a frame of zstd: the hash decides. */
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

/* 1 for a version; 0 if a file is none, by its name; -1 without the memory to find out. */
static int read_version(int fd, const char *name, bool archived, struct st_file *file) {
	size_t max = archived ? ZSTD_COMPRESSBOUND(ST_VERSIONS_FILE_MAX) : ST_VERSIONS_FILE_MAX;
	int code = st_file_fetch(fd, name, max, file, NULL);
	if (code < 0)
		return code == STET_E_NOMEM ? -1 : 0;
	return archived ? unpack_version(name, file) : has_its_name(name, file);
}

/* Complete before it has its name. Nobody waits for the disk: its hash tells whether it is whole. 0, or -1 with errno. */
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

/* The size of the version in a file, as its first bytes say. A crash may leave zeros, or nothing. */
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

/* Whether a version is there, by its name and size; if so, it is used now. */
static bool use_version(int dirfd, const char *name, size_t len) {
	static const struct timespec now[] = {{.tv_nsec = UTIME_OMIT}, {.tv_nsec = UTIME_NOW}};
	st_autofd fd = open_version(dirfd, name);
	return fd >= 0 && has_size(fd, len) && st_retry(futimens(fd, now)) == 0;
}

/* ---- room ---- */

/* A file takes whole blocks, and has an inode and an entry in a directory, too. */
enum { BLOCK = 4096, OVERHEAD = 1024 };

static uint64_t room_of(uint64_t size) {
	return (size + BLOCK - 1) / BLOCK * BLOCK + OVERHEAD;
}

struct version {
	char name[ST_HASH_HEX + 1];
	struct timespec used;
	uint64_t size;
};

/* What there is; zeroed, nothing. */
struct census {
	struct version *versions;
	size_t count;
	uint64_t bytes;
};

static void census_release(struct census *census) {
	free(census->versions);
}

static bool note(struct census *census, const char *name, const struct stat *st) {
	if (!st_array_room(&census->versions, census->count, sizeof *census->versions))
		return false;
	struct version *version = &census->versions[census->count++];
	version->used = st->st_mtim;
	version->size = room_of((uint64_t)st->st_size);
	snprintf(version->name, sizeof version->name, "%s", name);
	census->bytes += version->size;
	return true;
}

static bool take_census(int dirfd, struct census *census) {
	DIR *dir = st_dir_stream(dirfd);
	bool counted = dir != NULL;
	for (struct dirent *entry; counted && (entry = readdir(dir));) {
		struct stat st;
		if (entry->d_name[0] == '.' || strlen(entry->d_name) > ST_HASH_HEX ||
		    st_retry(fstatat(dirfd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW)) < 0)
			continue;
		counted = note(census, entry->d_name, &st);
	}
	if (dir)
		closedir(dir);
	return counted;
}

/* What a process that was killed left half written: whoever lives holds the lock meanwhile. */
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

/* The least recently used go, until so many bytes are left. Whether any did. */
static bool trim(int dirfd, struct census *census, uint64_t left) {
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
 * Room for so many bytes more; the caller holds the lock. Somewhat more than is needed, so that not every
 * version has to make room. Returns how many bytes are left, or -1 if they
 * could not be counted.
 */
static int64_t make_room(int dirfd, uint64_t max, uint64_t need) {
	st_auto(census) census = {0};
	if (!take_census(dirfd, &census))
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
		(void)trim(dirfd, &census, target > need ? target - need : 0);
	return (int64_t)census.bytes;
}

/* Of a disk that is full we give back half of what we have. Whether there was anything. */
static bool halve(int dirfd) {
	st_auto(census) census = {0};
	return dirfd >= 0 && take_census(dirfd, &census) && trim(dirfd, &census, census.bytes / 2);
}

/* ---- counting ---- */

/*
 * How many bytes are in a directory, counted over all processes: a number in
 * a file beside them, which is locked from before a file is added until after.
 * A process that is killed leaves it too high at worst; where it says that there
 * is no room, or is missing, the files themselves are counted.
 */
#define ROOM ".room"

enum { ROOM_WAIT_MS = 1000, ROOM_TRIES = 100 };

struct room {
	int fd, dirfd;
	uint64_t bytes;
};

static void room_release(struct room *room) {
	/* Closing the descriptor drops the lock. */
	st_close_at(&room->fd);
}

static bool is_own_file(int fd) {
	struct stat st;
	return fd >= 0 && st_retry(fstat(fd, &st)) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1 &&
	       st.st_uid == geteuid();
}

static int open_room(int dirfd) {
	int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	st_autofd fd = st_retry(openat(dirfd, ROOM, flags, 0600));
	if (!is_own_file(fd)) {
		/* Whatever has the name was not made for it. */
		st_close_at(&fd);
		(void)st_retry(unlinkat(dirfd, ROOM, 0));
		fd = st_retry(openat(dirfd, ROOM, flags | O_EXCL, 0600));
	}
	int opened = fd;
	fd = -1;
	return opened;
}

/* Others have it for as long as a rename takes. */
static bool lock_soon(int fd) {
	for (int i = 0; i < ROOM_TRIES; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return true;
		sched_yield();
	}
	return false;
}

/* Lock it and see what it says; false, with EBUSY, if somebody holds it for long. */
static bool room_begin(struct room *room, int dirfd, bool wait) {
	*room = (struct room){.fd = open_room(dirfd), .dirfd = dirfd};
	if (room->fd < 0)
		return false;
	if (!lock_soon(room->fd) &&
	    (!wait || st_state_lock(room->fd, ROOM_WAIT_MS, "The room for versions", NULL) < 0)) {
		room_release(room);
		errno = EBUSY;
		return false;
	}
	if (st_retry(pread(room->fd, &room->bytes, sizeof room->bytes, 0)) != sizeof room->bytes)
		room->bytes = UINT64_MAX / 2;
	return true;
}

static void room_set(struct room *room, uint64_t bytes) {
	room->bytes = bytes;
	/* What cannot be noted has to be counted. */
	if (st_retry(pwrite(room->fd, &bytes, sizeof bytes, 0)) != sizeof bytes)
		(void)st_retry(ftruncate(room->fd, 0));
}

/* Count so many bytes in, if there is room for them, which is made if others may go. */
static bool room_take(struct room *room, uint64_t need, uint64_t max, bool may_trim) {
	if (room->bytes > max || room->bytes + need > max) {
		int64_t left = make_room(room->dirfd, may_trim ? max : UINT64_MAX / 4, need);
		if (left < 0) {
			errno = ENOMEM;
			return false;
		}
		room_set(room, (uint64_t)left);
	}
	if (room->bytes + need > max) {
		errno = EDQUOT;
		return false;
	}
	room_set(room, room->bytes + need);
	return true;
}

/*
 * Remove a file of this size and count it out, under the lock: who counts the
 * files meanwhile would count it out once more. Whether it is gone; another
 * process may have been quicker.
 */
static bool room_remove(int dirfd, const char *name, uint64_t size) {
	struct room room;
	bool locked = room_begin(&room, dirfd, false);
	bool removed = st_retry(unlinkat(dirfd, name, 0)) == 0, gone = removed || errno == ENOENT;
	uint64_t need = room_of(size);
	if (locked && removed && room.bytes >= need && room.bytes < UINT64_MAX / 2)
		room_set(&room, room.bytes - need);
	if (locked)
		room_release(&room);
	return gone;
}

/* ---- in and out ---- */

static bool fits(const struct st_versions *versions, size_t len) {
	return len <= ST_VERSIONS_FILE_MAX && room_of(len) <= versions->max;
}

static bool may_be_moved(const struct st_versions *versions, const struct stat *st) {
	return S_ISREG(st->st_mode) && !(st->st_mode & 06000) && st->st_uid == geteuid() &&
	       st->st_nlink == 1 && fits(versions, (size_t)st->st_size);
}

bool st_versions_move(struct st_versions *versions, int fd, int dirfd, const char *name,
                      const struct st_hash *hash) {
	struct stat st;
	struct room room;
	if (st_retry(fstat(fd, &st)) < 0 || !may_be_moved(versions, &st))
		return false;
	int moved = open_folder(versions, &versions->moved);
	if (moved < 0 || !room_begin(&room, moved, false))
		return false;
	uint64_t need = room_of((uint64_t)st.st_size);
	bool done = room_take(&room, need, MOVED_MAX, false);
	if (done && st_retry(renameat2(dirfd, name, moved, name_of(hash).hex, RENAME_NOREPLACE)) < 0) {
		room_set(&room, room.bytes - need);
		done = false;
	}
	room_release(&room);
	if (!done)
		return false;
	versions->used = true;
	if (versions->background)
		st_background_schedule(versions->background, &versions->task, ARCHIVE_AFTER_MS);
	return true;
}

/* 0, or -1 with errno. */
static int store(int archive, size_t max, const char *name, struct st_str bytes) {
	struct room room;
	st_auto(st_buf) packed = ST_BUF_INIT;
	if (!pack(bytes, &packed)) {
		errno = ENOMEM;
		return -1;
	}
	if (!room_begin(&room, archive, true))
		return -1;
	int failed = room_take(&room, room_of(packed.len), max, true) ? 0 : -1;
	if (!failed)
		failed = write_version(archive, name, st_buf_str(&packed));
	if (failed && errno == ENOSPC && halve(archive)) {
		/* To be counted anew. */
		(void)st_retry(ftruncate(room.fd, 0));
		failed = write_version(archive, name, st_buf_str(&packed));
	}
	int errnum = errno;
	room_release(&room);
	errno = errnum;
	return failed;
}

bool st_versions_put(struct st_versions *versions, const struct st_hash *hash,
                     struct st_str bytes) {
	struct name name = name_of(hash);
	int archive = fits(versions, bytes.len) ? open_folder(versions, &versions->archive) : -1;
	if (archive < 0)
		return false;
	if (use_version(archive, name.hex, bytes.len) ||
	    store(archive, versions->max, name.hex, bytes) == 0)
		return true;
	tell(versions, strerror(errno));
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

/* In this order: a file is in the archive before it is removed from the moved ones. */
bool st_versions_get(struct st_versions *versions, const struct st_hash *hash, struct st_buf *out) {
	struct name name = name_of(hash);
	return get_from(find_folder(versions, &versions->moved), name.hex, false, out) ||
	       get_from(find_folder(versions, &versions->archive), name.hex, true, out);
}

/* Any file that was moved; false if there is none. */
static bool find_moved(int dirfd, struct name *name) {
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

/* Its bytes are in the archive, or there is no way to put them there. */
static bool is_done_with(struct st_versions *versions, int moved, const struct st_file *file) {
	if (!fits(versions, file->bytes.len))
		return true;
	int archive = open_folder(versions, &versions->archive);
	if (archive < 0) {
		(void)make_room(moved, MOVED_MAX, 0);
		return false;
	}
	struct name name = name_of(&file->hash);
	return store(archive, versions->max, name.hex, st_buf_str(&file->bytes)) == 0 ||
	       !may_pass(errno);
}

static bool archive_file(struct st_versions *versions, int moved, const char *name) {
	st_auto(st_file) file = ST_FILE_INIT;
	st_autofd fd = open_version(moved, name);
	if (fd < 0)
		return !may_pass(errno) && (st_retry(unlinkat(moved, name, 0)) == 0 || errno == ENOENT);
	int code = read_version(fd, name, false, &file);
	if (code < 0 || (code == 1 && !is_done_with(versions, moved, &file)))
		return false;
	return room_remove(moved, name, file.bytes.len);
}

bool st_versions_archive(struct st_versions *versions) {
	struct name name;
	int moved = find_folder(versions, &versions->moved);
	return moved >= 0 && find_moved(moved, &name) && archive_file(versions, moved, name.hex);
}

static void archive_in_background(void *data) {
	struct st_versions *versions = data;
	if (st_versions_archive(versions))
		st_background_schedule(versions->background, &versions->task, 0);
}

bool st_versions_spare(struct st_state_folder *folder) {
	return st_state_folder_exists(folder) == 1 && halve(st_state_folder_open(folder, NULL));
}

uint64_t st_versions_bytes(int state_fd) {
	uint64_t bytes = 0;
	for (int i = 0; i < 2; i++) {
		st_auto(census) census = {0};
		st_autofd dirfd = st_retry(
			openat(state_fd, i ? ARCHIVE : MOVED, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
		if (dirfd >= 0)
			(void)take_census(dirfd, &census);
		bytes += census.bytes;
	}
	return bytes;
}

void st_versions_init(struct st_versions *versions, const struct st_root *root,
                      const char *state_dir, struct st_notices *notices,
                      struct st_background *background) {
	*versions = (struct st_versions){
		.notices = notices,
		.background = background,
		.task = {.run = archive_in_background, .data = versions},
		.max = ST_VERSIONS_MAX,
	};
	st_state_folder_init(&versions->moved, root, state_dir, MOVED);
	st_state_folder_init(&versions->archive, root, state_dir, ARCHIVE);
}

void st_versions_release(struct st_versions *versions) {
	for (int i = 0; i < ARCHIVED_AT_END && versions->used; i++)
		versions->used = st_versions_archive(versions);
	st_state_folder_release(&versions->moved);
	st_state_folder_release(&versions->archive);
}
