#include "lib/run.h"

#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

/* The machine's git configuration must not influence a test. */
static void forget_git_setup(void) {
	setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
	setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1);
	unsetenv("GIT_DIR");
	unsetenv("GIT_WORK_TREE");
	unsetenv("GIT_INDEX_FILE");
}

static void read_all(int fd, struct st_buf *output) {
	char chunk[65536];
	ssize_t len;

	while ((len = read(fd, chunk, sizeof chunk)) > 0)
		st_buf_add(output, st_strn(chunk, (size_t)len));
	assert_int_equal(len, 0);
}

int run(const struct dir *dir, struct st_buf *output, const char *const *argv) {
	int fds[2] = {-1, -1};
	posix_spawn_file_actions_t actions;

	forget_git_setup();
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addchdir_np(&actions, dir->path);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (output) {
		assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
		posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
	}
	pid_t pid;
	int code = posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (code != 0)
		fail_msg("cannot run %s: %s", argv[0], strerror(code));

	if (output) {
		close(fds[1]);
		st_buf_clear(output);
		read_all(fds[0], output);
		close(fds[0]);
	}
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}
