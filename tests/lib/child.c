#include "lib/child.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>

enum { NOBODY = 65534, FAILED = 1, SKIPPED = 77 };

static bool in_child;

void hold(bool condition, const char *what) {
	if (condition)
		return;
	if (!in_child)
		fail_msg("%s", what);
	fprintf(stderr, "in a child process: %s\n", what);
	_exit(FAILED);
}

void child_skip(const char *reason) {
	printf("# skip: %s\n", reason);
	fflush(stdout);
	_exit(SKIPPED);
}

/* Wait for a child; it has said why it failed or has to be skipped. */
static void reap(pid_t child) {
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED)
		skip();
	assert_int_equal(status, 0);
}

static void become_nobody(void) {
	hold(geteuid() != 0 ||
	         (setresgid(NOBODY, NOBODY, NOBODY) == 0 && setresuid(NOBODY, NOBODY, NOBODY) == 0),
	     "become an ordinary user");
}

void child_as_nobody(const struct dir *dir, child_fn *function) {
	fflush(NULL);
	pid_t child = fork();
	if (child == 0) {
		in_child = true;
		become_nobody();
		function(dir);
		_exit(0);
	}
	reap(child);
}

static bool put_line(const char *path, const char *line) {
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool written = fd >= 0 && write(fd, line, strlen(line)) == (ssize_t)strlen(line);
	close(fd);
	return written;
}

/* Become root in a user namespace. */
static bool enter_own_world(void) {
	char user[32], group[32];
	snprintf(user, sizeof user, "0 %u 1", geteuid());
	snprintf(group, sizeof group, "0 %u 1", getegid());
	return unshare(CLONE_NEWUSER) == 0 && put_line("/proc/self/setgroups", "deny") &&
	       put_line("/proc/self/uid_map", user) && put_line("/proc/self/gid_map", group);
}

bool child_may_mount(void) {
	if (geteuid() != 0 && !enter_own_world())
		return false;
	return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

void child_with_mounts(const struct dir *dir, child_fn *function) {
	fflush(NULL);
	pid_t child = fork();
	if (child == 0) {
		in_child = true;
		if (!child_may_mount())
			child_skip("filesystems cannot be mounted here");
		function(dir);
		_exit(0);
	}
	reap(child);
}

void child_with_limit(const struct dir *dir, const char *limit, const char *value,
                      child_fn *function) {
	char path[64];
	snprintf(path, sizeof path, "/proc/sys/user/%s", limit);
	fflush(NULL);
	pid_t child = fork();
	if (child == 0) {
		in_child = true;
		if (!enter_own_world() || !put_line(path, value))
			child_skip("limits cannot be set here");
		function(dir);
		_exit(0);
	}
	reap(child);
}
