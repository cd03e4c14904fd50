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

/* The user's state directory, by the XDG Base Directory Specification. */
static int add_state_home(struct st_buf *path, struct stet_error *err) {
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	if (state && state[0] == '/')
		st_buf_adds(path, state);
	else if (home && home[0] == '/')
		st_buf_addf(path, "%s/.local/state", home);
	else
		return st_fail(err, STET_E_INVALID,
		               "No directory for the server's token: set HOME or XDG_STATE_HOME, or use "
		               "--token-file.");
	return 0;
}

/* Make a directory and its missing parents. */
static bool make_directories(char *path) {
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		bool made = mkdir(path, 0700) == 0 || errno == EEXIST;
		*slash = '/';
		if (!made)
			return false;
	}
	return mkdir(path, 0700) == 0 || errno == EEXIST;
}

/* Open the directory. Refuse it if another user can change it, since that user could replace the token. */
static int open_directory(char *path, int *out, struct stet_error *err) {
	struct stat st;
	st_autofd fd = -1;
	if (make_directories(path))
		fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return st_fail_errno(err, errno, "Cannot store the server's token in %s", path);
	if (st.st_uid != geteuid() || (st.st_mode & 022))
		return st_fail(err, STET_E_ACCESS,
		               "%s is not allowed for the server's token: other users can change it. Make "
		               "it yours with mode 0700, or give --token-file.",
		               path);
	*out = fd;
	fd = -1;
	return 0;
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
	st_autofd dir = -1;
	st_buf_clear(path);
	int code = add_state_home(path, err);
	if (code < 0)
		return code;
	st_buf_adds(path, "/stet");
	if (path->failed)
		return st_fail_nomem(err);
	code = open_directory(path->ptr, &dir, err);
	if (code < 0)
		return code;
	if (faccessat(dir, "token", F_OK, AT_SYMLINK_NOFOLLOW) < 0 && !store_token(dir))
		return st_fail_errno(err, errno, "Cannot store the server's token in %s",
		                     st_buf_cstr(path));
	st_buf_adds(path, "/token");
	return path->failed ? st_fail_nomem(err) : 0;
}
