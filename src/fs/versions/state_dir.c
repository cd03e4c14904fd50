#include "fs/versions/state_dir.h"

#include <linux/magic.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/vfs.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "fs/tree/gitindex.h"
#include "fs/path/filesystem.h"
#include "fs/path/sys.h"

bool st_state_is_name(const char *name) {
	size_t len = strlen(name);
	return len > 0 && len <= 64 && !strchr(name, '/') && strcmp(name, ".") != 0 &&
	       strcmp(name, "..") != 0 &&
	       (strcmp(name, ST_STATE_DIR) == 0 || !st_path_is_protected(name, ST_STATE_DIR));
}

int st_state_fail_name(const char *name, struct stet_error *err) {
	return st_fail(
		err, STET_E_INVALID,
		"\"%.100s\" is not allowed as the state directory; use a single name of up to 64 "
		"bytes, such as .stet.",
		name);
}

static int fail_untrusted(struct stet_error *err, const char *name, const char *why,
                          const char *cure) {
	return st_fail(err, STET_E_ACCESS,
	               "The state directory %s is not used: it %s. Work goes on without it. %s", name,
	               why, cure);
}

/* Best effort: without a .gitignore, git status shows one more line. */
static void ignore_itself(int dirfd) {
	st_autofd fd =
		st_retry(openat(dirfd, ".gitignore", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
	if (fd >= 0 && st_retry(write(fd, "*\n", 2)) != 2)
		unlinkat(dirfd, ".gitignore", 0);
}

static int make_state_dir(const struct st_root *root, const char *name, struct stet_error *err) {
	if (st_retry(mkdirat(root->fd, name, 0700)) < 0 && errno != EEXIST)
		return st_fail_errno(
			err, errno, "The state directory %s cannot be made, so nothing is kept in it", name);
	int fd = st_retry(openat(root->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
	if (fd < 0)
		return st_fail_errno(err, errno, "The state directory %s cannot be opened", name);
	ignore_itself(fd);
	return fd;
}

/* Returns 0 if stet may trust the directory. */
static int check_trust(const struct st_root *root, const char *name, int fd,
                       struct stet_error *err) {
	struct stat st;
	if (st_retry(fstat(fd, &st)) < 0)
		return st_fail_errno(err, errno, "Cannot stat the state directory %s", name);
	if (st.st_uid != geteuid())
		return fail_untrusted(err, name, "belongs to another user",
		                      "Remove it to have a new one made.");
	if (st.st_mode & 077)
		return fail_untrusted(err, name, "is accessible to other users",
		                      "Remove it to have a new one made.");
	struct stet_error why = {0};
	int tracked = st_gitindex_has(root, name, &why);
	if (tracked < 0)
		return st_fail(err, tracked == STET_E_INVALID ? STET_E_ACCESS : tracked,
		               "The state directory %s is not used: git may track it, so that it may have "
		               "come from somebody else. %s",
		               name, why.message);
	if (tracked)
		return fail_untrusted(err, name,
		                      "is tracked by git, so it may have come from somebody else",
		                      "Remove it, and commit that, to have a new one made.");
	return 0;
}

static int open_checked(const struct st_root *root, const char *name, bool may_make,
                        struct stet_error *err) {
	st_autofd fd =
		st_retry(openat(root->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
	if (fd < 0 && errno == ENOENT && may_make)
		fd = make_state_dir(root, name, err);
	else if (fd < 0 && (errno == ELOOP || errno == ENOTDIR))
		return fail_untrusted(err, name, "is a symbolic link or a file, not a directory",
		                      "Remove it to have a new one made.");
	else if (fd < 0)
		return st_fail_errno(err, errno, "The state directory %s cannot be opened", name);
	int code = fd < 0 ? fd : check_trust(root, name, fd, err);
	if (code < 0)
		return code;
	int result = fd;
	fd = -1;
	return result;
}

int st_state_open(const struct st_root *root, const char *name, struct stet_error *err) {
	return open_checked(root, name, true, err);
}

int st_state_find(const struct st_root *root, const char *name, struct stet_error *err) {
	return open_checked(root, name, false, err);
}

void st_state_folder_init(struct st_state_folder *folder, const struct st_root *root,
                          const char *state_dir, const char *name) {
	*folder =
		(struct st_state_folder){.root = root, .state_dir = state_dir, .name = name, .fd = -1};
	pthread_mutex_init(&folder->lock, NULL);
}

void st_state_folder_release(struct st_state_folder *folder) {
	st_close_at(&folder->fd);
	pthread_mutex_destroy(&folder->lock);
}

static int stat_folder(const struct st_state_folder *folder, const char *name, struct stat *st) {
	char path[300];
	snprintf(path, sizeof path, "%s/%s", folder->state_dir, name);
	return st_retry(fstatat(folder->root->fd, path, st, AT_SYMLINK_NOFOLLOW));
}

int st_state_folder_exists(const struct st_state_folder *folder) {
	struct stat st;
	if (stat_folder(folder, folder->name, &st) == 0)
		return 1;
	if (errno == ENOENT && folder->former && stat_folder(folder, folder->former, &st) == 0)
		return 1;
	return errno == ENOENT || errno == ENOTDIR ? 0 : -1;
}

static int open_folder(const struct st_state_folder *folder, struct stet_error *err) {
	st_autofd state = st_state_open(folder->root, folder->state_dir, err);
	if (state < 0)
		return state;
	/* The rename fails unless the new folder is missing or empty. */
	if (folder->former)
		(void)st_retry(renameat(state, folder->former, state, folder->name));
	if (st_retry(mkdirat(state, folder->name, 0700)) < 0 && errno != EEXIST)
		return st_fail_errno(err, errno, "Cannot make %s/%s", folder->state_dir, folder->name);
	int fd = st_retry(openat(state, folder->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
	if (fd < 0)
		return st_fail_errno(err, errno, "Cannot open %s/%s", folder->state_dir, folder->name);
	return fd;
}

/* Whether the folder's name still leads to it: another process may have removed or renamed it. */
static bool is_still_named(const struct st_state_folder *folder, int fd) {
	struct stat own, named;
	return fd >= 0 && st_retry(fstat(fd, &own)) == 0 &&
	       stat_folder(folder, folder->name, &named) == 0 && own.st_dev == named.st_dev &&
	       own.st_ino == named.st_ino;
}

int st_state_folder_open(struct st_state_folder *folder, struct stet_error *err) {
	pthread_mutex_lock(&folder->lock);
	int known = folder->fd;
	pthread_mutex_unlock(&folder->lock);
	if (is_still_named(folder, known))
		return known;
	int opened = open_folder(folder, err);
	if (opened < 0)
		return opened;
	pthread_mutex_lock(&folder->lock);
	if (folder->fd < 0) {
		folder->fd = opened;
	} else {
		/* Keep the descriptor's number: other threads may be using it. */
		(void)st_retry(dup3(opened, folder->fd, O_CLOEXEC));
		close(opened);
		opened = folder->fd;
	}
	pthread_mutex_unlock(&folder->lock);
	return opened;
}

int st_state_lock(int fd, int wait_ms, const char *what, struct stet_error *err) {
	for (int64_t until = st_now_ms() + wait_ms; st_now_ms() <= until;) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return 0;
		if (errno != EWOULDBLOCK && errno != EINTR)
			return st_fail_errno(err, errno, "%s cannot be locked", what);
		if (st_cancel_sleep(5, NULL) < 0)
			break;
	}
	return st_fail(err, STET_E_BUSY, "%s is locked by another process. Try again.", what);
}

/* Missing in some versions of linux/magic.h. */
#define MAGIC_CIFS 0xFF534D42u
#define MAGIC_FUSE 0x65735546u
#define MAGIC_SMB2 0xFE534D42u
#define MAGIC_CEPH 0x00C36400u

bool st_state_is_remote(int fd) {
	struct statfs fs;
	if (fstatfs(fd, &fs) < 0)
		return true;
	switch ((uint32_t)fs.f_type) {
	case NFS_SUPER_MAGIC:
	case V9FS_MAGIC:
	case AFS_SUPER_MAGIC:
	case CODA_SUPER_MAGIC:
	case MAGIC_CIFS:
	case MAGIC_FUSE:
	case MAGIC_SMB2:
	case MAGIC_CEPH:
		return true;
	default:
		return false;
	}
}

void st_state_origin(int fd, int64_t origin[2]) {
	struct statx st;
	origin[0] = origin[1] = 0;
	if (st_retry(statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &st)) < 0)
		return;
	/* A server may assign new inode numbers with each mount. */
	if (!st_state_is_remote(fd))
		origin[0] = (int64_t)st.stx_ino;
	if (st.stx_mask & STATX_BTIME)
		origin[1] = st.stx_btime.tv_sec * 1000000000 + st.stx_btime.tv_nsec;
}

bool st_state_has_small_blocks(int fd) {
	struct statfs fs;
	return fstatfs(fd, &fs) == 0 && fs.f_bsize > 0 && fs.f_bsize < sysconf(_SC_PAGESIZE);
}

/* ---- the key of this user ---- */

enum { KEY_SIZE = 32, MARKED_MAX = 256 };

#define KEY_NAME "key"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static unsigned char key[KEY_SIZE];
static bool has_key;

static int open_or_make(int dirfd, const char *name) {
	if ((dirfd < 0 && dirfd != AT_FDCWD) ||
	    (st_retry(mkdirat(dirfd, name, 0700)) < 0 && errno != EEXIST))
		return -1;
	return st_retry(openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

bool st_user_state_path(struct st_buf *path) {
	const char *state = secure_getenv("XDG_STATE_HOME"), *home = secure_getenv("HOME");
	if (state && state[0] == '/')
		st_buf_addf(path, "%s/stet", state);
	else if (home && home[0] == '/' && faccessat(AT_FDCWD, home, F_OK, 0) == 0)
		st_buf_addf(path, "%s/.local/state/stet", home);
	else
		return false;
	return !path->failed;
}

/* Open what st_user_state_path() names, made with the directories above it if missing. */
static int open_user_state(void) {
	st_auto(st_buf) path = ST_BUF_INIT;
	errno = ENOENT;
	if (!st_user_state_path(&path))
		return -1;
	for (char *slash = strchr(path.ptr + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)st_retry(mkdirat(AT_FDCWD, path.ptr, 0700));
		*slash = '/';
	}
	return open_or_make(AT_FDCWD, path.ptr);
}

/* Refuse a key file that other users may have read or written. */
static bool read_key(int dirfd) {
	struct stat st;
	st_autofd fd = st_retry(
		openat(dirfd, KEY_NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
	return fd >= 0 && st_retry(fstat(fd, &st)) == 0 && S_ISREG(st.st_mode) &&
	       st.st_uid == geteuid() && !(st.st_mode & 077) && st.st_size == KEY_SIZE &&
	       st_retry(pread(fd, key, KEY_SIZE, 0)) == KEY_SIZE;
}

/* Write the key to a temporary file and link it, so that it is complete and replaces no other key. */
static void write_key(int dirfd) {
	char name[40];
	uint64_t random;
	if (st_retry(getrandom(&random, sizeof random, 0)) < 0)
		return;
	snprintf(name, sizeof name, KEY_NAME ".%016llx", (unsigned long long)random);
	st_autofd fd =
		st_retry(openat(dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
	if (fd < 0)
		return;
	if (st_retry(write(fd, key, KEY_SIZE)) == KEY_SIZE && st_retry(fsync(fd)) == 0)
		(void)st_retry(linkat(dirfd, name, dirfd, KEY_NAME, 0));
	(void)st_retry(unlinkat(dirfd, name, 0));
}

static void init_key(void) {
	st_autofd dir = open_user_state();
	has_key = dir >= 0 && read_key(dir);
	if (has_key)
		return;
	has_key = st_retry(getrandom(key, KEY_SIZE, 0)) == KEY_SIZE;
	if (!has_key || dir < 0)
		return;
	write_key(dir);
	/* Another process may have written its key first. If no key can be read, use ours. */
	unsigned char own[KEY_SIZE];
	memcpy(own, key, KEY_SIZE);
	if (!read_key(dir))
		memcpy(key, own, KEY_SIZE);
}

int st_user_state_open(const char *name) {
	struct stat st;
	st_autofd own = open_user_state();
	int dir = open_or_make(own, name);
	if (dir < 0 || (st_retry(fstat(dir, &st)) == 0 && st.st_uid == geteuid() &&
	                !(st.st_mode & (S_IWGRP | S_IWOTH))))
		return dir;
	close(dir);
	errno = EACCES;
	return -1;
}

/* Showing only a quarter of the hash of key and text prevents length extension. */
int st_user_mark(struct st_str text, char mark[ST_MARK + 1], struct stet_error *err) {
	unsigned char bytes[KEY_SIZE + MARKED_MAX];
	struct st_hash hash;
	pthread_once(&once, init_key);
	if (!has_key || text.len > MARKED_MAX)
		return st_fail(err, STET_E_IO, "Cannot get a random number.");
	memcpy(bytes, key, KEY_SIZE);
	memcpy(bytes + KEY_SIZE, text.ptr, text.len);
	int code = st_hash_of(st_strn((const char *)bytes, KEY_SIZE + text.len), &hash, err);
	if (code == 0)
		st_hash_hex(&hash, mark, ST_MARK);
	return code;
}
