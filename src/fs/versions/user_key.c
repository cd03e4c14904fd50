#include "fs/versions/user_key.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "fs/path/sys.h"

enum { KEY_SIZE = 32, MARKED_MAX = 256 };

#define KEY_NAME "key"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static unsigned char key[KEY_SIZE];
static bool has_key;

static int open_or_make(int dirfd, const char *name) {
	if (dirfd < 0 || (st_retry(mkdirat(dirfd, name, 0700)) < 0 && errno != EEXIST))
		return -1;
	return st_retry(openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

/* Open $XDG_STATE_HOME or ~/.local/state; -1 if there is neither. */
static int open_state_home(void) {
	const char *state = secure_getenv("XDG_STATE_HOME"), *home = secure_getenv("HOME");
	if (state && state[0] == '/')
		return st_retry(open(state, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	if (!home || home[0] != '/')
		return -1;
	st_autofd dir = st_retry(open(home, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	st_autofd local = open_or_make(dir, ".local");
	return open_or_make(local, "state");
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
	st_autofd home = open_state_home();
	st_autofd dir = open_or_make(home, "stet");
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
