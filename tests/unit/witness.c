/* The witness as a process: it holds nothing of the agent's, ends when it is told to, and answers its own user alone. */
#include <dirent.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "lib/child.h"
#include "stet/stet.h"

#define READ \
	"\"hook_event_name\":\"PostToolUse\",\"tool_name\":\"Read\",\"tool_input\":{\"file_path\":" \
	"\"a.txt\"},\"tool_response\":{\"type\":\"text\",\"file\":{\"content\":\"one\\ntwo\\n\"," \
	"\"numLines\":3,\"startLine\":1,\"totalLines\":3}}"
#define EDIT(event) \
	"\"hook_event_name\":\"" event \
	"\",\"tool_name\":\"Edit\",\"tool_input\":{\"file_path\":" \
	"\"a.txt\",\"old_string\":\"one\",\"new_string\":\"ONE\"},\"tool_response\":{}"

/* Run an event. Returns the decision, "" for none; NULL if that failed. */
static const char *hook(const struct dir *dir, const char *members) {
	static char decision[8 << 10];
	char event[4 << 10], *out = NULL;
	int size = snprintf(event, sizeof event, "{\"session_id\":\"s\",\"cwd\":\"%s\",%s}", dir->path,
	                    members);
	if (stet_hook_run(event, (size_t)size, NULL, &out, NULL, NULL) < 0)
		return NULL;
	snprintf(decision, sizeof decision, "%s", out ? out : "");
	stet_free(out);
	return decision;
}

/* Begin a tool. Returns whether the hook lets it run. */
static bool begin_tool(const struct dir *dir) {
	const char *decision = hook(dir, READ) ? hook(dir, EDIT("PreToolUse")) : NULL;
	return decision && strcmp(decision, "") == 0;
}

static const struct dir *set_up(void **state) {
	struct dir *dir = *state;
	dir_write(dir, ".git/HEAD", "ref: refs/heads/main\n");
	dir_write(dir, "a.txt", "one\ntwo\n");
	return dir;
}

/* ---- the process ---- */

/* Begin a tool. Returns its witness, which is a child of this process: nobody else takes it. */
static pid_t begin_witnessed(const struct dir *dir) {
	char path[64];
	int pid = 0;
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	assert_true(begin_tool(dir));
	snprintf(path, sizeof path, "/proc/self/task/%d/children", getpid());
	FILE *children = fopen(path, "r");
	if (!children)
		skip_because("the kernel lists no children");
	assert_int_equal(fscanf(children, "%d", &pid), 1);
	fclose(children);
	return pid;
}

/* Wait for its end. Returns the signal that ended it, 0 for none. */
static int end_of(pid_t witness) {
	int status;
	assert_int_equal(waitpid(witness, &status, 0), witness);
	prctl(PR_SET_CHILD_SUBREAPER, 0);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

/* The socket that a process has; 0 for none. */
static unsigned long socket_of(pid_t pid) {
	char path[64], target[64];
	unsigned long inode = 0;
	snprintf(path, sizeof path, "/proc/%d/fd", pid);
	DIR *dir = opendir(path);
	assert_non_null(dir);
	for (struct dirent *entry; inode == 0 && (entry = readdir(dir));) {
		ssize_t len = readlinkat(dirfd(dir), entry->d_name, target, sizeof target - 1);
		target[len > 0 ? len : 0] = '\0';
		sscanf(target, "socket:[%lu]", &inode);
	}
	closedir(dir);
	return inode;
}

/* The address on which a witness listens. */
static struct sockaddr_un address_of(pid_t witness) {
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	unsigned long inode = socket_of(witness), other;
	char line[512], name[86];
	FILE *sockets = fopen("/proc/net/unix", "r");
	assert_non_null(sockets);
	while (fgets(line, sizeof line, sockets)) {
		if (sscanf(line, "%*s %*s %*s %*s %*s %*s %lu @%85[^@\n]", &other, name) == 2 &&
		    other == inode)
			snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "%s", name);
	}
	fclose(sockets);
	assert_memory_equal(address.sun_path + 1, "stet-witness-", 13);
	return address;
}

static bool knock(const struct sockaddr_un *address) {
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	return connect(fd, (const struct sockaddr *)address, sizeof *address) == 0;
}

/* Whether a process has a file open. */
static bool has_open(pid_t pid, ino_t ino) {
	char path[64];
	bool open = false;
	snprintf(path, sizeof path, "/proc/%d/fd", pid);
	DIR *dir = opendir(path);
	assert_non_null(dir);
	for (struct dirent *entry; !open && (entry = readdir(dir));) {
		struct stat st;
		open = fstatat(dirfd(dir), entry->d_name, &st, 0) == 0 && st.st_ino == ino;
	}
	closedir(dir);
	return open;
}

/* ---- claims ---- */

/* As on a kernel before 5.9. */
static void take_close_range_away(void) {
	struct sock_filter steps[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {sizeof steps / sizeof *steps, steps};
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	(void)prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* Whether an agent that reads the hook's output until its end gets there. */
static bool output_ends(const struct dir *dir, bool old_kernel) {
	enum { PATIENCE_MS = 20000 };
	int fds[2], status;
	assert_int_equal(pipe(fds), 0);
	fflush(NULL);
	pid_t child = fork();
	if (child == 0) {
		dup2(fds[1], STDOUT_FILENO);
		if (old_kernel)
			take_close_range_away();
		_exit(!begin_tool(dir));
	}
	close(fds[1]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	bool ends = poll(&(struct pollfd){.fd = fds[0], .events = POLLIN}, 1, PATIENCE_MS) == 1;
	close(fds[0]);
	return ends;
}

static void a_witness_leaves_the_pipes_of_the_agent(void **state) {
	const struct dir *dir = set_up(state);
	assert_true(output_ends(dir, false));
	assert_true(output_ends(dir, true));
}

/* stet mcp blocks the signals that end it, and reads them from a descriptor. */
static void a_signal_ends_a_witness_of_a_program_that_blocks_it(void **state) {
	const struct dir *dir = set_up(state);
	sigset_t set, before;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	assert_int_equal(sigprocmask(SIG_BLOCK, &set, &before), 0);
	pid_t witness = begin_witnessed(dir);
	assert_int_equal(sigprocmask(SIG_SETMASK, &before, NULL), 0);
	assert_int_equal(kill(witness, SIGTERM), 0);
	assert_int_equal(end_of(witness), SIGTERM);
}

static struct sockaddr_un foreign;

static void knock_as_another(const struct dir *dir) {
	(void)dir;
	hold(knock(&foreign), "connect to the witness");
}

static void another_user_ends_no_watch(void **state) {
	const struct dir *dir = set_up(state);
	if (geteuid() != 0)
		skip_because("only root can become another user");
	pid_t witness = begin_witnessed(dir);
	foreign = address_of(witness);
	child_as_nobody(dir, knock_as_another);
	int fd = open(dir_at(dir, "a.txt"), O_WRONLY | O_APPEND | O_CLOEXEC);
	assert_int_equal(write(fd, "late\n", 5), 5);
	close(fd);
	dir_write(dir, "a.txt", "ONE\ntwo\n");
	assert_non_null(strstr(hook(dir, EDIT("PostToolUse")), "+late"));
	assert_int_equal(end_of(witness), 0);
}

static void no_hook_waits_for_a_witness_that_hangs(void **state) {
	const struct dir *dir = set_up(state);
	pid_t witness = begin_witnessed(dir);
	struct sockaddr_un address = address_of(witness);
	assert_int_equal(kill(witness, SIGSTOP), 0);
	assert_int_equal(waitpid(witness, NULL, WUNTRACED), witness);
	while (knock(&address))
		;
	assert_string_equal(hook(dir, EDIT("PostToolUse")), "");
	assert_int_equal(kill(witness, SIGKILL), 0);
	assert_int_equal(end_of(witness), SIGKILL);
}

/* Two programs replace the file by a rename, one after the other: nobody else has the first one's version. */
static void a_version_that_a_rename_brought_is_seen(void **state) {
	const struct dir *dir = set_up(state);
	struct stat st;
	pid_t witness = begin_witnessed(dir);
	dir_write(dir, "new", "one\ntwo\nlate\n");
	assert_int_equal(stat(dir_at(dir, "new"), &st), 0);
	assert_int_equal(rename(dir_at(dir, "new"), dir_at(dir, "a.txt")), 0);
	for (int tries = 0; tries < 20000 && !has_open(witness, st.st_ino); tries++)
		assert_int_equal(usleep(1000), 0);
	dir_write(dir, "new", "ONE\ntwo\n");
	assert_int_equal(rename(dir_at(dir, "new"), dir_at(dir, "a.txt")), 0);
	assert_non_null(strstr(hook(dir, EDIT("PostToolUse")), "+late"));
	assert_int_equal(kill(witness, SIGTERM), 0);
	assert_int_equal(end_of(witness), SIGTERM);
}

/*
 * A program opens the file between the tool's truncation and its write. While the witness is stopped it
 * sees none of the bytes, only the events, of which the kernel merges the two closes.
 */
static const char *write_at_once(const struct dir *dir, int flags) {
	pid_t witness = begin_witnessed(dir);
	assert_int_equal(kill(witness, SIGSTOP), 0);
	assert_int_equal(waitpid(witness, NULL, WUNTRACED), witness);
	int tool = open(dir_at(dir, "a.txt"), O_WRONLY | O_TRUNC | O_CLOEXEC);
	int other = open(dir_at(dir, "a.txt"), flags | O_CLOEXEC);
	if (flags != O_RDONLY)
		assert_int_equal(write(other, "late\n", 5), 5);
	assert_int_equal(write(tool, "ONE\ntwo\n", 8), 8);
	if (flags == O_RDONLY)
		close(other);
	close(tool);
	if (flags != O_RDONLY)
		close(other);
	assert_int_equal(kill(witness, SIGCONT), 0);
	const char *decision = hook(dir, EDIT("PostToolUse"));
	assert_int_equal(kill(witness, SIGTERM), 0);
	(void)end_of(witness);
	return decision;
}

static void a_writer_that_closes_after_the_tool_is_noticed(void **state) {
	assert_non_null(
		strstr(write_at_once(set_up(state), O_WRONLY | O_APPEND), "at the same moment"));
}

static void a_reader_between_two_writes_is_no_writer(void **state) {
	assert_string_equal(write_at_once(set_up(state), O_RDONLY), "");
}

int main(void) {
	const struct CMUnitTest tests[] = {
		claim(a_witness_leaves_the_pipes_of_the_agent),
		claim(a_signal_ends_a_witness_of_a_program_that_blocks_it),
		claim(another_user_ends_no_watch),
		claim(a_version_that_a_rename_brought_is_seen),
		claim(no_hook_waits_for_a_witness_that_hangs),
		claim(a_writer_that_closes_after_the_tool_is_noticed),
		claim(a_reader_between_two_writes_is_no_writer),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
