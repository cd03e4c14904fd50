/*
 * A diff of 10,000 lines with 100 changes, against `diff -u` on the same two
 * files. Both run in turns; the medians count.
 */
#include "text/diff/unified.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>

enum { LINES = 10000, CHANGES = 100, ROUNDS = 101 };

extern char **environ;

static char old_path[] = "/tmp/stet-bench-old-XXXXXX";
static char new_path[] = "/tmp/stet-bench-new-XXXXXX";

_Noreturn static void die(const char *what) {
	perror(what);
	exit(1);
}

static double now(void) {
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static void make_texts(struct st_buf *old, struct st_buf *new) {
	for (int n = 0; n < LINES; n++) {
		st_buf_addf(old, "\tint value_%d = compute(%d, &state); /* step */\n", n % 5000, n);
		if (n % (LINES / CHANGES) == 50)
			st_buf_addf(new, "\tint changed_%d = other(%d);\n", n, n);
		else
			st_buf_addf(new, "\tint value_%d = compute(%d, &state); /* step */\n", n % 5000, n);
	}
}

static void write_file(char *path, const struct st_buf *text) {
	int fd = mkstemp(path);
	if (fd < 0 || write(fd, text->ptr, text->len) != (ssize_t)text->len || close(fd) < 0)
		die(path);
}

static double time_stet(const struct st_buf *old, const struct st_buf *new) {
	st_auto(st_buf) out = ST_BUF_INIT;
	struct st_diff_opts opts = ST_DIFF_OPTS("file.c");

	double start = now();
	if (st_diff_unified(st_buf_str(old), st_buf_str(new), &opts, &out, NULL, NULL) < 0)
		die("st_diff_unified");
	return now() - start;
}

static double time_diff(void) {
	char *argv[] = {(char[]){"diff"}, (char[]){"-u"}, old_path, new_path, NULL};
	posix_spawn_file_actions_t actions;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);

	double start = now();
	pid_t pid;
	int status;
	if (posix_spawnp(&pid, "diff", &actions, NULL, argv, environ) != 0 ||
	    waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 1)
		die("diff -u");
	double took = now() - start;
	posix_spawn_file_actions_destroy(&actions);
	return took;
}

static int by_value(const void *a, const void *b) {
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double median(double *values) {
	qsort(values, ROUNDS, sizeof *values, by_value);
	return values[ROUNDS / 2];
}

int main(void) {
	st_auto(st_buf) old = ST_BUF_INIT;
	st_auto(st_buf) new = ST_BUF_INIT;
	double stet[ROUNDS], diff[ROUNDS];

	make_texts(&old, &new);
	write_file(old_path, &old);
	write_file(new_path, &new);
	for (int i = 0; i < ROUNDS; i++) {
		stet[i] = time_stet(&old, &new);
		diff[i] = time_diff();
	}
	unlink(old_path);
	unlink(new_path);

	double ours = median(stet), theirs = median(diff);
	printf("diff of %d lines, %d changes: stet %.2f ms, diff -u %.2f ms, ratio %.2f (target 1)\n",
	       LINES, CHANGES, ours, theirs, ours / theirs);
	return 0;
}
