/*
 * Many processes write, and half of them are killed. At no moment may .stet take
 * more of the disk than docs/state.md promises.
 */
#include <dirent.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "core/session/session.h"
#include "core/state/store.h"
#include "fs/versions/rescued.h"
#include "lib/child.h"
#include "lib/gen.h"
#include "lib/test.h"
#include "stet/state.h"

enum { WORKERS_MAX = 200 };
enum { MIB = 1 << 20, EDIT_BYTES = 256 << 10, VERSIONS_MAX = 16 * MIB, MOVED_MAX = 64 * MIB };

/* Blocks that files below a directory have on the disk, in bytes. */
static uint64_t disk_use(const char *path) {
	uint64_t bytes = 0;
	DIR *dir = opendir(path);
	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		struct stat st;
		char name[600];
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
		    fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		bytes += (uint64_t)st.st_blocks * 512;
		snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
		if (S_ISDIR(st.st_mode))
			bytes += disk_use(name);
	}
	if (dir)
		closedir(dir);
	return bytes;
}

static void expect_within(const struct dir *dir, uint64_t *most) {
	uint64_t moved = disk_use(dir_at(dir, ".stet/moved"));
	uint64_t versions = disk_use(dir_at(dir, ".stet/versions"));
	uint64_t all = disk_use(dir_at(dir, ".stet"));
	*most = all > *most ? all : *most;
	if (moved > MOVED_MAX || versions > VERSIONS_MAX)
		fail_msg("moved: %llu, versions: %llu bytes", (unsigned long long)moved,
		         (unsigned long long)versions);
	assert_true(all <=
	            MOVED_MAX + VERSIONS_MAX + ST_RESCUED_MAX_BYTES + 2 * (uint64_t)ST_STORE_MAX);
}

/* A process that edits a file of its own. */
struct worker {
	pid_t pid;
	/** How many edits it has made, in memory that it shares with the test. */
	atomic_size_t *done;
	/** After how many of them it is killed; 0 if it ends by itself. */
	size_t killed_after;
};

static _Noreturn void edit_on(const struct dir *dir, size_t number, size_t edits,
                              atomic_size_t *done) {
	struct stet_workspace *ws = NULL;
	struct stet_session *session = NULL;
	struct gen gen = gen_new(number + 1);
	char name[32];
	char *text = malloc(EDIT_BYTES);
	snprintf(name, sizeof name, "file-%zu", number);
	if (!text || stet_workspace_open(dir->path, &ws, NULL) < 0 ||
	    stet_workspace_set(ws, STET_OPTION_STATE, 2, NULL) < 0 ||
	    stet_workspace_set(ws, STET_OPTION_DURABLE, 0, NULL) < 0 ||
	    stet_workspace_set(ws, STET_OPTION_MAX_BASES, VERSIONS_MAX, NULL) < 0 ||
	    stet_session_open(ws, NULL, &session, NULL) < 0)
		_exit(1);
	while (*done < edits) {
		memset(text, 'a' + (int)(*done % 26), EDIT_BYTES);
		for (size_t at = 0; at < 64; at++)
			text[at] = (char)('a' + gen_below(&gen, 26));
		int code = stet_session_write(session, name, text, EDIT_BYTES, NULL, NULL, NULL);
		if (code < 0 && code != STET_E_BUSY)
			_exit(2);
		*done += code == 0;
	}
	stet_session_close(session);
	stet_workspace_close(ws);
	free(text);
	_exit(0);
}

static void start_worker(struct worker *worker, const struct dir *dir, size_t number,
                         size_t edits) {
	worker->pid = fork();
	if (worker->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		edit_on(dir, number, worker->killed_after ? SIZE_MAX : edits, worker->done);
	}
	assert_true(worker->pid > 0);
}

/* Whether a worker has ended. A worker that has made enough edits is killed during the next one. */
static bool has_ended(const struct worker *worker) {
	int status;
	if (worker->killed_after && *worker->done >= worker->killed_after)
		kill(worker->pid, SIGKILL);
	if (waitpid(worker->pid, &status, WNOHANG) == 0)
		return false;
	if (worker->killed_after)
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	else
		assert_int_equal(status, 0);
	return true;
}

/*
 * The test kills every other process; the next one makes the edits that the
 * killed one did not. Ten work at a time: more would only wait for the same
 * two processors.
 */
static void the_state_stays_within_its_bounds(void **state) {
	enum { AT_ONCE = 10 };
	const struct dir *dir = *state;
	size_t count = gen_rounds(20, WORKERS_MAX), edits = gen_rounds(100, 500);
	size_t total = 0, killed = 0, left_over = 0, running = 0, size = WORKERS_MAX * sizeof(size_t);
	uint64_t most = 0;
	struct gen gen = gen_new(gen_seed());
	struct worker workers[AT_ONCE];
	atomic_size_t *done =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(done, MAP_FAILED);
	for (size_t begun = 0; begun < count || running > 0;) {
		for (; running < AT_ONCE && begun < count; begun++, running++) {
			size_t after = begun % 2 == 0 ? gen_below(&gen, edits) + 1 : 0;
			workers[running] = (struct worker){.done = &done[begun], .killed_after = after};
			start_worker(&workers[running], dir, begun, edits + left_over);
			left_over = after ? edits - after : 0;
		}
		expect_within(dir, &most);
		for (size_t i = running; i-- > 0;) {
			if (!has_ended(&workers[i]))
				continue;
			killed += workers[i].killed_after > 0;
			total += *workers[i].done;
			workers[i] = workers[--running];
		}
	}
	munmap(done, size);
	print_message("# %zu edits by %zu processes, %zu of them killed: at most %llu MiB in .stet\n",
	              total, count, killed, (unsigned long long)(most / MIB));
	assert_int_equal(killed, count / 2);
	assert_true(total >= count * edits);
}

/*
 * Replaced files are held for two seconds. This process may have 40
 * descriptors in all, fewer than replaced files are held elsewhere.
 */
static void edit_with_few_descriptors(const struct dir *dir) {
	struct stet_workspace *ws = NULL;
	struct stet_session *session = NULL;
	struct stet_error err = {0};
	const struct rlimit few = {40, 40};
	hold(setrlimit(RLIMIT_NOFILE, &few) == 0, "40 descriptors");
	hold(stet_workspace_open(dir->path, &ws, NULL) == 0, "open the workspace");
	hold(stet_workspace_set(ws, STET_OPTION_DURABLE, 0, NULL) == 0, "relaxed");
	hold(stet_workspace_set(ws, STET_OPTION_STATE, 2, NULL) == 0, "keep all");
	hold(stet_session_open(ws, "agent", &session, NULL) == 0, "a session");
	for (int i = 0; i < 300; i++) {
		char text[32];
		int len = snprintf(text, sizeof text, "%d\n", i);
		int code = stet_session_write(session, "a.txt", text, (size_t)len, NULL, NULL, &err);
		hold(code == 0, code == 0 ? "write" : err.message);
	}
	stet_session_close(session);
	stet_workspace_close(ws);
}

static void few_descriptors_are_enough(void **state) {
	const struct dir *dir = *state;
	pid_t child = fork();
	if (child == 0) {
		edit_with_few_descriptors(dir);
		_exit(0);
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_string_equal(dir_read(dir, "a.txt"), "299\n");
}

int main(void) {
	const struct CMUnitTest tests[] = {
		claim(the_state_stays_within_its_bounds),
		claim(few_descriptors_are_enough),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
