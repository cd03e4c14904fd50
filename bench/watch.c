/*
 * The watcher on a generated tree of 80,000 files in 5,000 directories, or on the
 * tree given as argument: start to ready, memory, latency, and changes since a
 * clock.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/watch/watcher.h"
#include "lib/bare.h"
#include "lib/bench.h"
#include "lib/bigtree.h"
#include "stet/stet.h"

static int root;

/* ---- start to ready ---- */

static int queue;

static void watch_one(int dir) {
	char path[32];
	snprintf(path, sizeof path, "/proc/self/fd/%d", dir);
	bench_check(inotify_add_watch(queue, path, IN_ALL_EVENTS | IN_ONLYDIR) >= 0,
	            "inotify_add_watch");
}

static void stat_one(int dir, const char *name) {
	struct stat st;
	bench_check(fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0, "fstatat");
}

static void floor_watch(void *context) {
	queue = inotify_init1(IN_CLOEXEC);
	bare_walk(root, watch_one, context ? stat_one : NULL);
	close(queue);
}

static struct stet_watcher *new_watcher(stet_watch_callback *callback, void *data, int debounce) {
	struct stet_watcher *watcher;
	bench_check(stet_watcher_new(".", callback, data, &watcher, NULL) == 0, "watcher");
	bench_check(stet_watcher_set(watcher, STET_WATCH_DEBOUNCE, debounce, NULL) == 0, "debounce");
	bench_check(stet_watcher_start(watcher, NULL) == 0, "start");
	return watcher;
}

static void start_watch(void *context) {
	(void)context;
	stet_watcher_free(new_watcher(NULL, NULL, 100));
}

/* Start inotifywait, and wait until it says that its watches are established. */
static void start_inotifywait(void *context) {
	(void)context;
	int out[2];
	bench_check(pipe2(out, O_CLOEXEC) == 0, "pipe");
	pid_t child = fork();
	if (child == 0) {
		dup2(out[1], STDERR_FILENO);
		execlp("inotifywait", "inotifywait", "-mr", ".", (char *)NULL);
		_exit(127);
	}
	close(out[1]);
	FILE *lines = fdopen(out[0], "r");
	char line[256];
	bool ready = false;
	while (lines && !ready && fgets(line, sizeof line, lines))
		ready = strstr(line, "established") != NULL;
	bench_check(ready, "inotifywait");
	fclose(lines);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static void start_watchman(void *context) {
	(void)context;
	bench_check(system("watchman watch . >/dev/null && watchman query . "
	                   "'{\"fields\": [\"name\"], \"suffix\": \"none\"}' >/dev/null && "
	                   "watchman watch-del . >/dev/null") == 0,
	            "watchman");
}

static size_t add_peers(struct bench_case *cases) {
	size_t count = 0;
	if (system("command -v inotifywait >/dev/null") == 0)
		cases[count++] = (struct bench_case){.name = "inotifywait -mr", .run = start_inotifywait};
	else
		puts("(inotifywait is not installed)");
	if (system("command -v watchman >/dev/null") == 0)
		cases[count++] = (struct bench_case){.name = "watchman watch", .run = start_watchman};
	else
		puts("(watchman is not installed)");
	return count;
}

/* ---- memory ---- */

static long resident_kb(void) {
	FILE *status = fopen("/proc/self/status", "r");
	char line[128];
	long kb = 0;
	while (status && fgets(line, sizeof line, status)) {
		if (sscanf(line, "VmRSS: %ld", &kb) == 1)
			break;
	}
	if (status)
		fclose(status);
	return kb;
}

/* Measure in a fresh process. */
static void print_memory(void) {
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		long before = resident_kb();
		struct stet_watcher *watcher = new_watcher(NULL, NULL, 100);
		struct stet_changes *all;
		long after = resident_kb();
		bench_check(stet_watcher_since(watcher, "", &all, NULL) == 0, "since");
		printf(
			"memory\n  %zu files: RSS %.1f MB, of which %.1f MB for the table (target 16 MB%s)\n",
			stet_changes_count(all), (double)after / 1024, (double)(after - before) / 1024,
			after <= 16 * 1024 ? "" : ", missed");
		stet_changes_free(all);
		stet_watcher_free(watcher);
		fflush(stdout);
		_exit(0);
	}
	bench_check(child > 0 && waitpid(child, NULL, 0) == child, "fork");
}

/* ---- verifying ---- */

static void floor_verify(void *context) {
	(void)context;
	bare_walk(root, NULL, stat_one);
}

/* Read and compare the whole tree again, as after lost events. */
static void verify(void *context) {
	struct stet_watcher *watcher = context;
	st_watch_rescan(&watcher->watch);
	bench_check(stet_watcher_sync(watcher, 60000, NULL) == 0, "sync");
}

static void bench_verify(void) {
	struct stet_watcher *watcher = new_watcher(NULL, NULL, 100);
	struct bench_case cases[] = {
		{.name = "bare list, and stat every file; 2 threads", .run = floor_verify},
		{.name = "verify every file by stat", .run = verify, .context = watcher, .target = 1.3},
	};
	bench_run("verify", cases, 2, 7);
	stet_watcher_free(watcher);
}

/* ---- latency ---- */

static int number;

static void write_file(void) {
	char text[16];
	int fd = open("latency.txt", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	snprintf(text, sizeof text, "%d", number++);
	bench_check(fd >= 0 && write(fd, text, strlen(text)) > 0, "write");
	close(fd);
}

static void await_readable(int fd) {
	struct pollfd wait = {.fd = fd, .events = POLLIN};
	bench_check(poll(&wait, 1, 10000) == 1, "no event came");
}

/* Write a file, and read the inotify event. */
static void floor_latency(void *context) {
	char buffer[4096];
	int fd = *(int *)context;
	write_file();
	await_readable(fd);
	bench_check(read(fd, buffer, sizeof buffer) > 0, "read");
}

static size_t reports;

static void count_report(void *data, const char *path, const char *event) {
	(void)data;
	(void)path;
	(void)event;
	reports++;
}

static void watch_latency(void *context) {
	size_t before = reports;
	write_file();
	while (reports == before)
		bench_check(stet_watcher_dispatch(context, 10000, NULL) == 0, "dispatch");
}

static void bench_latency(void) {
	int bare = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	bench_check(inotify_add_watch(bare, ".", IN_MODIFY | IN_CLOSE_WRITE | IN_CREATE) >= 0, "watch");
	write_file();
	struct stet_watcher *watcher = new_watcher(count_report, NULL, 0);
	struct bench_case cases[] = {
		{.name = "write, and the bare event", .run = floor_latency, .context = &bare},
		{.name = "write, and the report, no debounce", .run = watch_latency, .context = watcher},
	};
	bench_run("latency (target 1200 us)", cases, 2, 501);
	stet_watcher_free(watcher);
	close(bare);
	unlink("latency.txt");
}

/* ---- since ---- */

struct question {
	struct stet_watcher *watcher;
	char clock[64];
	size_t answers;
};

static void ask(void *context) {
	struct question *question = context;
	struct stet_changes *changes;
	bench_check(stet_watcher_since(question->watcher, question->clock, &changes, NULL) == 0,
	            "since");
	bench_check(stet_changes_count(changes) == question->answers, "another number of changes");
	stet_changes_free(changes);
}

static void stat_root(void *context) {
	struct stat st;
	(void)context;
	bench_check(stat(".", &st) == 0, "stat");
}

static void bench_since(void) {
	struct stet_watcher *watcher = new_watcher(NULL, NULL, 0);
	struct question many = {.watcher = watcher, .answers = 100}, none = {.watcher = watcher};
	char name[32];
	snprintf(many.clock, sizeof many.clock, "%s", stet_watcher_clock(watcher));
	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof name, "since-%d.txt", i);
		close(open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
	}
	bench_check(stet_watcher_sync(watcher, 10000, NULL) == 0, "sync");
	snprintf(none.clock, sizeof none.clock, "%s", stet_watcher_clock(watcher));
	struct bench_case cases[] = {
		{.name = "one stat", .run = stat_root, .batch = 1000},
		{.name = "nothing changed (target 300 us)", .run = ask, .context = &none, .batch = 1000},
		{.name = "100 files changed (target 2000 us)", .run = ask, .context = &many, .batch = 100},
	};
	bench_run("since a clock", cases, 3, 21);
	stet_watcher_free(watcher);
	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof name, "since-%d.txt", i);
		unlink(name);
	}
}

int main(int argc, char **argv) {
	if (argc > 1) {
		bench_check(chdir(argv[1]) == 0, "no such tree");
	} else {
		bench_enter();
		bigtree_make();
	}
	root = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	print_memory();
	struct bench_case cases[8] = {
		{.name = "bare open, watch, list; 2 threads", .run = floor_watch},
		{.name = "and stat every file", .run = floor_watch, .context = &root},
		{.name = "start to ready", .run = start_watch, .target = 1.7},
	};
	bench_run("start", cases, 3 + add_peers(cases + 3), 7);
	bench_verify();
	bench_latency();
	bench_since();
	close(root);
	if (argc <= 1)
		bench_leave();
	return 0;
}
