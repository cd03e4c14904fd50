#include "net/tokens.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "fs/path/sys.h"
#include "fs/versions/state_dir.h"

enum {
	FILE_MAX = 64 << 10,
	TOKEN_BYTES = 32,
};

static int check_file(const char *path, const struct stat *st, struct stet_error *err) {
	if (!S_ISREG(st->st_mode))
		return st_fail(err, STET_E_KIND, "The token file %s is not a regular file.", path);
	if (st->st_uid != geteuid() && st->st_uid != 0)
		return st_fail(err, STET_E_ACCESS,
		               "The token file %s is not allowed: it belongs to another user. Make one of "
		               "your own.",
		               path);
	if (st->st_mode & 077)
		return st_fail(
			err, STET_E_ACCESS,
			"The token file %s is not allowed: its mode %04o gives other users access. Run "
			"chmod 600 on it, and replace its tokens if somebody may have read them.",
			path, st->st_mode & 07777);
	if (st->st_size > FILE_MAX)
		return st_fail(err, STET_E_LIMIT, "The token file %s is larger than %d bytes.", path,
		               FILE_MAX);
	return 0;
}

static int read_tokens(struct st_gate *gate, int fd, const char *path, struct stet_error *err) {
	char text[FILE_MAX];
	ssize_t len = pread(fd, text, sizeof text, 0);
	if (len < 0)
		return st_fail_errno(err, errno, "Cannot read the token file %s", path);
	int code = st_gate_add_tokens(gate, st_strn(text, (size_t)len), err);
	explicit_bzero(text, sizeof text);
	return code;
}

int st_tokens_load(struct st_gate *gate, const char *path, struct stet_error *err) {
	struct stat st;
	st_autofd fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) < 0)
		return st_fail_errno(err, errno, "Cannot open the token file %s", path);
	int code = check_file(path, &st, err);
	return code < 0 ? code : read_tokens(gate, fd, path, err);
}

static bool make_token(char text[2 * TOKEN_BYTES + 2]) {
	unsigned char random[TOKEN_BYTES];
	if (getrandom(random, sizeof random, 0) != sizeof random)
		return false;
	for (size_t i = 0; i < sizeof random; i++)
		snprintf(text + 2 * i, 3, "%02x", random[i]);
	memcpy(text + 2 * sizeof random, "\n", 2);
	explicit_bzero(random, sizeof random);
	return true;
}

static bool write_token(int dir, const char *name, const char *text) {
	st_autofd fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	ssize_t len = (ssize_t)strlen(text);
	return fd >= 0 && write(fd, text, (size_t)len) == len && fsync(fd) == 0;
}

/* Link the complete file to its name. If two servers start at once, the first link wins. */
static bool store_token(int dir) {
	char text[2 * TOKEN_BYTES + 2], name[64];
	snprintf(name, sizeof name, ".token-%d", (int)getpid());
	if (!make_token(text))
		return false;
	(void)unlinkat(dir, name, 0);
	bool stored = write_token(dir, name, text) &&
	              (linkat(dir, name, dir, "token", 0) == 0 || errno == EEXIST);
	int saved = errno;
	(void)unlinkat(dir, name, 0);
	explicit_bzero(text, sizeof text);
	errno = saved;
	return stored;
}

int st_tokens_own(struct st_buf *path, struct stet_error *err) {
	st_buf_clear(path);
	if (!st_user_state_path(path))
		return path->failed ? st_fail_nomem(err)
		                    : st_fail(err, STET_E_INVALID,
		                              "No directory for the server's token: set HOME or "
		                              "XDG_STATE_HOME, or use --token-file.");
	st_autofd dir = st_user_state_open(".");
	if (dir < 0 && errno == EACCES)
		return st_fail(
			err, STET_E_ACCESS,
			"%s is not allowed for the server's token: other users can change it, or you "
			"cannot. Make it yours with mode 0700, or give --token-file.",
			st_buf_cstr(path));
	if (dir < 0 || (faccessat(dir, "token", F_OK, AT_SYMLINK_NOFOLLOW) < 0 && !store_token(dir)))
		return st_fail_errno(err, errno, "Cannot store the server's token in %s",
		                     st_buf_cstr(path));
	st_buf_adds(path, "/token");
	return path->failed ? st_fail_nomem(err) : 0;
}
