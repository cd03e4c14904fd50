#include "core/places/git.h"

#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "fs/path/sys.h"
#include "fs/versions/state_dir.h"

enum { OUTPUT_MAX = 64 << 20, ENV_MAX = 24 };

/* ---- the program ---- */

/* Find git in the absolute entries of PATH: a relative one could lead into a repository. */
static char *find_program(void) {
	const char *path = secure_getenv("PATH");
	for (path = path ? path : "/usr/bin:/bin"; *path; path += *path == ':') {
		char file[PATH_MAX];
		size_t len = strcspn(path, ":");
		int size = snprintf(file, sizeof file, "%.*s/git", (int)len, path);
		if (*path == '/' && size > 0 && (size_t)size < sizeof file && access(file, X_OK) == 0)
			return strdup(file);
		path += len;
	}
	return NULL;
}

/* ---- our git directory ---- */

static bool make_file(int dir, const char *name, const char *text) {
	if (faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return true;
	char temporary[64];
	snprintf(temporary, sizeof temporary, ".%s-%d-%lld", name, (int)getpid(),
	         (long long)st_now_us());
	st_autofd fd = st_retry(
		openat(dir, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
	ssize_t len = (ssize_t)strlen(text);
	bool made = fd >= 0 && st_retry(write(fd, text, (size_t)len)) == len &&
	            st_retry(renameat(dir, temporary, dir, name)) == 0;
	if (!made)
		(void)st_retry(unlinkat(dir, temporary, 0));
	return made;
}

static bool make_dir(int dir, const char *name) {
	return st_retry(mkdirat(dir, name, 0700)) == 0 || errno == EEXIST;
}

static bool make_git_dir(int dir, bool sha256) {
	static const char plain[] = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n";
	static const char with_sha256[] =
		"[core]\n\trepositoryformatversion = 1\n\tbare = false\n"
		"[extensions]\n\tobjectformat = sha256\n";
	return make_dir(dir, "objects") && make_dir(dir, "refs") &&
	       make_file(dir, "config", sha256 ? with_sha256 : plain) &&
	       make_file(dir, "HEAD", "ref: refs/heads/none\n");
}

/* The path of the git directory, made if it is missing; NULL if that fails. */
static char *find_git_dir(bool sha256) {
	char link[40], path[PATH_MAX];
	st_autofd dir = st_user_state_open(sha256 ? "git-sha256" : "git-sha1");
	if (dir < 0 || !make_git_dir(dir, sha256))
		return NULL;
	snprintf(link, sizeof link, "/proc/self/fd/%d", dir);
	ssize_t len = readlink(link, path, sizeof path - 1);
	return len > 0 ? strndup(path, (size_t)len) : NULL;
}

/* ---- the files that git may read ---- */

/* Append a path to a list that has colons between paths, quoted as git wants it. */
static void add_to_list(struct st_buf *list, const char *common) {
	if (list->len > 0 && list->ptr[list->len - 1] != '=')
		st_buf_addc(list, ':');
	st_buf_addc(list, '"');
	for (const char *at = common; *at; at++) {
		if (*at == '"' || *at == '\\')
			st_buf_addc(list, '\\');
		if (*at == '\n')
			st_buf_adds(list, "\\n");
		else
			st_buf_addc(list, *at);
	}
	st_buf_adds(list, "/objects\"");
}

static int name_objects(struct st_git *git, const struct st_checkout *const *checkouts,
                        size_t count, struct stet_error *err) {
	st_auto(st_buf) list = ST_BUF_INIT;
	st_buf_adds(&list, "GIT_ALTERNATE_OBJECT_DIRECTORIES=");
	for (size_t i = 1; i < count; i++) {
		if (strcmp(checkouts[i]->common, checkouts[0]->common) != 0)
			add_to_list(&list, checkouts[i]->common);
	}
	if (asprintf(&git->objects, "GIT_OBJECT_DIRECTORY=%s/objects", checkouts[0]->common) < 0)
		git->objects = NULL;
	if (asprintf(&git->shallow, "GIT_SHALLOW_FILE=%s/shallow", checkouts[0]->common) < 0)
		git->shallow = NULL;
	git->alternates = list.failed ? NULL : strdup(list.ptr);
	return git->objects && git->shallow && git->alternates ? 0 : st_fail_nomem(err);
}

int st_git_open(struct st_git *git, const struct st_checkout *const *checkouts, size_t count,
                bool sha256, int64_t deadline_ms, struct stet_error *err) {
	*git = (struct st_git)ST_GIT_INIT;
	git->deadline_ms = deadline_ms;
	git->program = find_program();
	if (!git->program)
		return st_fail(err, STET_E_NOT_FOUND,
		               "git not found in PATH: install it to compare checkouts.");
	git->dir = find_git_dir(sha256);
	if (!git->dir)
		return st_fail(err, STET_E_IO, "The directory for reading git objects cannot be made.");
	return name_objects(git, checkouts, count, err);
}

/* ---- processes ---- */

struct environment {
	const char *entries[ENV_MAX];
	/* Which of them to free. */
	char *owned[4];
};

static void environment_release(struct environment *environment) {
	for (size_t i = 0; i < 4; i++)
		free(environment->owned[i]);
}

static bool fill_environment(const struct st_git *git, const struct st_checkout *at,
                             struct environment *env) {
	static const char *const fixed[] = {
		"PATH=/usr/bin:/bin",          "LC_ALL=C",
		"HOME=/nonexistent",           "XDG_CONFIG_HOME=/nonexistent",
		"GIT_CONFIG_NOSYSTEM=1",       "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_CONFIG_SYSTEM=/dev/null", "GIT_ATTR_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0",       "GIT_OPTIONAL_LOCKS=0",
		"GIT_NO_LAZY_FETCH=1",         "GIT_NO_REPLACE_OBJECTS=1",
		"GIT_PROTOCOL_FROM_USER=0",    "GIT_ALLOW_PROTOCOL=none",
	};
	size_t count = sizeof fixed / sizeof *fixed;
	memcpy(env->entries, fixed, sizeof fixed);
	bool made = asprintf(&env->owned[0], "GIT_DIR=%s", git->dir) >= 0;
	env->entries[count++] = env->owned[0];
	env->entries[count++] = git->objects;
	env->entries[count++] = git->alternates;
	env->entries[count++] = git->shallow;
	if (at) {
		made = asprintf(&env->owned[1], "GIT_INDEX_FILE=%s/index", at->gitdir) >= 0 && made;
		made = asprintf(&env->owned[2], "GIT_WORK_TREE=%s", at->top) >= 0 && made;
		env->entries[count++] = env->owned[1];
		env->entries[count++] = env->owned[2];
	}
	return made;
}

/* Start git with these descriptors; neither signals nor other descriptors are passed on. */
static int spawn(const struct st_git *git, const struct st_checkout *at, const char *const *argv,
                 int in, int out, pid_t *pid) {
	st_auto(environment) env = {0};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, all;
	if (!fill_environment(git, at, &env))
		return ENOMEM;
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &all);
	int code = posix_spawn_file_actions_addchdir_np(&actions, git->dir);
	code |= posix_spawn_file_actions_adddup2(&actions, in, 0);
	code |= posix_spawn_file_actions_adddup2(&actions, out, 1);
	code |= posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	code |= posix_spawn_file_actions_addclosefrom_np(&actions, 3);
	if (code == 0)
		code = posix_spawn(pid, git->program, &actions, &attributes, (char *const *)(uintptr_t)argv,
		                   (char *const *)(uintptr_t)env.entries);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return code;
}

static int64_t time_left(const struct st_git *git) {
	int64_t left = git->deadline_ms - st_now_ms();
	return left > 0 ? left : 0;
}

static int fail_late(struct stet_error *err) {
	return st_fail(err, STET_E_BUSY, "git took too long.");
}

/* Wait until a descriptor can be read. Returns 0 or STET_E_BUSY. */
static int wait_to_read(const struct st_git *git, int fd, struct stet_error *err) {
	struct pollfd poller = {.fd = fd, .events = POLLIN};
	int ready = st_retry(poll(&poller, 1, (int)time_left(git)));
	return ready > 0 ? 0 : fail_late(err);
}

/* Read some bytes into a buffer. Returns their number, 0 at the end, or a code. */
static ssize_t read_some(const struct st_git *git, int fd, struct st_buf *out, size_t most,
                         struct stet_error *err) {
	size_t room = most < 65536 ? most : 65536;
	int code = wait_to_read(git, fd, err);
	if (code < 0)
		return code;
	if (!st_buf_reserve(out, room))
		return st_fail_nomem(err);
	ssize_t got = st_retry(read(fd, out->ptr + out->len, room));
	if (got < 0)
		return st_fail_errno(err, errno, "git cannot be read");
	out->len += (size_t)got;
	out->ptr[out->len] = '\0';
	return got;
}

static int read_all(const struct st_git *git, int fd, struct st_buf *out, struct stet_error *err) {
	ssize_t got;
	while ((got = read_some(git, fd, out, 65536, err)) > 0) {
		if (out->len > OUTPUT_MAX)
			return st_fail(err, STET_E_TOO_BIG, "git printed more than %d bytes.", OUTPUT_MAX);
	}
	return (int)got;
}

/* The exit status; 0 if a host program has waited for all children itself. */
static int wait_for(pid_t pid) {
	int status = 0;
	if (st_retry(waitpid(pid, &status, 0)) < 0)
		return 0;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

enum { ARGS_MAX = 24 };

int st_git_run(struct st_git *git, const struct st_checkout *at, const char *const *argv,
               struct st_buf *out, struct stet_error *err) {
	const char *args[ARGS_MAX] = {"git"};
	int pipes[2];
	pid_t pid = 0;
	for (size_t i = 0; argv[i] && i + 2 < ARGS_MAX; i++)
		args[i + 1] = argv[i];
	st_buf_clear(out);
	if (pipe2(pipes, O_CLOEXEC) < 0)
		return st_fail_errno(err, errno, "git cannot be started");
	st_autofd from = pipes[0], to = pipes[1];
	st_autofd null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int failed = null < 0 ? errno : spawn(git, at, args, null, to, &pid);
	if (failed)
		return st_fail_errno(err, failed, "git cannot be started");
	st_close_at(&to);
	int code = read_all(git, from, out, err);
	if (code < 0)
		kill(pid, SIGKILL);
	int status = wait_for(pid);
	return code < 0 ? code : status;
}

/* ---- blobs ---- */

static void end_batch(struct st_git *git) {
	if (git->batch > 0) {
		kill(git->batch, SIGKILL);
		(void)wait_for(git->batch);
	}
	git->batch = 0;
	st_close_at(&git->to);
}

static int begin_batch(struct st_git *git, struct stet_error *err) {
	static const char *const argv[] = {"git", "cat-file", "--batch", NULL};
	int ends[2];
	if (git->batch > 0)
		return 0;
	/* A socket, because writing to one need not raise SIGPIPE. */
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return st_fail_errno(err, errno, "git cannot be started");
	st_autofd theirs = ends[1];
	git->to = ends[0];
	int failed = spawn(git, NULL, argv, theirs, theirs, &git->batch);
	if (!failed)
		return 0;
	git->batch = 0;
	end_batch(git);
	return st_fail_errno(err, failed, "git cannot be started");
}

/* Read until the first line is complete; more may have arrived with it. */
static int read_head(struct st_git *git, struct st_buf *out, size_t *len, struct stet_error *err) {
	for (;;) {
		const char *end = out->len ? memchr(out->ptr, '\n', out->len) : NULL;
		if (end) {
			*len = (size_t)(end - out->ptr) + 1;
			return 1;
		}
		ssize_t got = out->len > 200 ? 0 : read_some(git, git->to, out, 4096, err);
		if (got <= 0)
			return got < 0 ? (int)got : st_fail(err, STET_E_IO, "git cat-file ended.");
	}
}

/* The size in "OID blob SIZE"; -1 for any other line. */
static long long size_in(const char *head) {
	char type[16];
	long long size = -1;
	return sscanf(head, "%*64s %15s %lld", type, &size) == 2 && strcmp(type, "blob") == 0 ? size
	                                                                                      : -1;
}

static int read_blob(struct st_git *git, size_t max, struct st_buf *out, struct stet_error *err) {
	size_t head = 0;
	int code = read_head(git, out, &head, err);
	if (code < 0)
		return code;
	long long size = size_in(out->ptr);
	if (size < 0 || (unsigned long long)size > max) {
		/* Missing: nothing follows. Anything else would have to be read to its end. */
		if (!memmem(out->ptr, out->len, " missing\n", 9))
			end_batch(git);
		return size < 0 ? 0 : st_fail(err, STET_E_TOO_BIG, "A blob is larger than %zu bytes.", max);
	}
	size_t whole = head + (size_t)size + 1;
	while (out->len < whole) {
		ssize_t got = read_some(git, git->to, out, whole - out->len, err);
		if (got <= 0)
			return got < 0 ? (int)got : st_fail(err, STET_E_IO, "git cat-file ended.");
	}
	memmove(out->ptr, out->ptr + head, (size_t)size);
	st_buf_truncate(out, (size_t)size);
	return 1;
}

int st_git_blob(struct st_git *git, const char *oid, size_t max, struct st_buf *out,
                struct stet_error *err) {
	char line[ST_OID_MAX + 2];
	st_buf_clear(out);
	int code = begin_batch(git, err);
	if (code < 0)
		return code;
	int len = snprintf(line, sizeof line, "%s\n", oid);
	if (st_retry(send(git->to, line, (size_t)len, MSG_NOSIGNAL)) != len)
		code = st_fail_errno(err, errno, "git cat-file ended");
	if (code == 0)
		code = read_blob(git, max, out, err);
	if (code < 0)
		end_batch(git);
	return code;
}

void st_git_release(struct st_git *git) {
	end_batch(git);
	free(git->program);
	free(git->dir);
	free(git->objects);
	free(git->alternates);
	free(git->shallow);
	*git = (struct st_git)ST_GIT_INIT;
}
