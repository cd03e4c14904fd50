#include "torture/mounted.h"

#include <linux/magic.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/vfs.h>
#include <sys/wait.h>

#include "torture/hostile.h"

#define SFTP_SERVER "/usr/lib/openssh/sftp-server"
#define HOW_TO_GET_THEM "apt-get install bindfs sshfs openssh-sftp-server"

/* How long a filesystem may take to come up. */
enum { PATIENCE_S = 30 };

const struct mounted_kind mounted_kinds[MOUNTED_KINDS] = {
	[MOUNTED_BINDFS] = {"bindfs", "fsname=below", false},
	[MOUNTED_BINDFS_CACHED] = {"bindfs", "attr_timeout=60,entry_timeout=60,kernel_cache", false},
	[MOUNTED_SSHFS] = {"sshfs", "passive", true},
	[MOUNTED_SSHFS_CACHED] = {"sshfs", "passive,kernel_cache,dcache_timeout=60,attr_timeout=60",
                              true},
};

static bool is_there(const char *program) {
	char path[300];
	for (const char *at = getenv("PATH"); at && *at; at += strcspn(at, ":"), at += *at == ':') {
		snprintf(path, sizeof path, "%.*s/%s", (int)strcspn(at, ":"), at, program);
		if (access(path, X_OK) == 0)
			return true;
	}
	return false;
}

static void skip_without(const struct mounted_kind *kind) {
	if (access("/dev/fuse", R_OK | W_OK) < 0)
		skip_because("there is no /dev/fuse to be used; modprobe fuse, or run as root");
	if (!is_there(kind->program) || (kind->speaks_sftp && access(SFTP_SERVER, X_OK) < 0))
		skip_because("bindfs or sshfs is not installed; " HOW_TO_GET_THEM);
}

/* In the child: its standard input and output lead to the socket, if there is one. */
static bool begin(int talk) {
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	return talk < 0 || (dup2(talk, 0) == 0 && dup2(talk, 1) == 1);
}

static pid_t start_server(int talk) {
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid > 0)
		return pid;
	if (begin(talk))
		execl(SFTP_SERVER, SFTP_SERVER, NULL);
	_exit(127);
}

static pid_t start(const struct mounted_kind *kind, const char *from, const char *to, int talk) {
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid > 0)
		return pid;
	if (begin(talk))
		execlp(kind->program, kind->program, "-f", "-o", kind->options, from, to, NULL);
	_exit(127);
}

static bool is_up(const char *path) {
	struct statfs fs;
	return statfs(path, &fs) == 0 && fs.f_type == FUSE_SUPER_MAGIC;
}

static void await(const struct mounted *mounted) {
	int64_t until_ns = now_ns() + (int64_t)PATIENCE_S * 1000000000;
	while (!is_up(mounted->path)) {
		if (now_ns() > until_ns || waitpid(mounted->pid, NULL, WNOHANG) != 0)
			fail_msg("the filesystem does not come up at %s", mounted->path);
		nap_ns(1000000);
	}
}

void mounted_begin(struct mounted *mounted, const struct mounted_kind *kind,
                   const struct dir *dir) {
	char below[300];
	int talk[2] = {-1, -1};
	skip_without(kind);
	*mounted = (struct mounted){.server = -1};
	snprintf(mounted->path, sizeof mounted->path, "%s.seen", dir->path);
	assert_int_equal(mkdir(mounted->path, 0755), 0);
	snprintf(below, sizeof below, "%s%s", kind->speaks_sftp ? ":" : "", dir->path);
	fflush(NULL);
	if (kind->speaks_sftp) {
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, talk), 0);
		mounted->server = start_server(talk[1]);
	}
	mounted->pid = start(kind, below, mounted->path, talk[0]);
	close(talk[0]);
	close(talk[1]);
	await(mounted);
}

static void stop(pid_t pid) {
	if (pid <= 0)
		return;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

void mounted_end(struct mounted *mounted) {
	umount2(mounted->path, MNT_DETACH);
	stop(mounted->pid);
	stop(mounted->server);
	rmdir(mounted->path);
}
