/*
 * stet grep and the tool grep, called in the library, against rg: on 70,000 text
 * files or on the tree given as argument, and on one large file.
 */
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/bench.h"
#include "lib/bigtree.h"
#include "stet/stet.h"

extern char **environ;

enum { ARGS_MAX = 12, ROUNDS = 9 };

#define HUGE_FILE "large.txt"
#define HUGE_BYTES ((size_t)60 << 20)

static char stet[PATH_MAX];
static char base[PATH_MAX];
static struct stet_session *session;

#define COUNTED(list) .rows = (list), .count = sizeof(list) / sizeof *(list)

/* One search: the arguments of rg, of stet grep and of the tool. */
struct row {
	const char *title;
	const char *rg[ARGS_MAX];
	const char *stet[ARGS_MAX];
	const char *tool;
	double target;
};

static const struct row tree_rows[] = {
	{"literal, few hits",
     {"-F", BIGTREE_NEEDLE},
     {"--literal", BIGTREE_NEEDLE},
     "{\"pattern\":\"" BIGTREE_NEEDLE "\",\"literal\":true}",
     0.8},
	{"literal, no hit",
     {"-F", "no_such_name"},
     {"--literal", "no_such_name"},
     "{\"pattern\":\"no_such_name\",\"literal\":true}",
     0.8},
	{"caseless literal",
     {"-i", "QUORUM_timeout"},
     {"--ignore-case", "QUORUM_timeout"},
     "{\"pattern\":\"QUORUM_timeout\",\"ignoreCase\":true}",
     0.8},
	{"files (-l)",
     {"-l", "MAX_queue_lock"},
     {"--mode", "files", "MAX_queue_lock"},
     "{\"pattern\":\"MAX_queue_lock\",\"mode\":\"files\"}",
     0.8},
	{"counts (-c)",
     {"-c", "MAX_queue_lock"},
     {"--mode", "count", "MAX_queue_lock"},
     "{\"pattern\":\"MAX_queue_lock\",\"mode\":\"count\"}",
     0.8},
	{"regex with a literal",
     {"quorum_\\w+ = \\d"},
     {"quorum_\\w+ = \\d"},
     "{\"pattern\":\"quorum_\\\\w+ = \\\\d\"}",
     0.8},
	{"regex without a literal",
     {"[a-z]{7}\\d{3}"},
     {"[a-z]{7}\\d{3}"},
     "{\"pattern\":\"[a-z]{7}\\\\d{3}\"}",
     1.0},
	{"many hits (-c)",
     {"-c", "\\w+_\\d+"},
     {"--mode", "count", "\\w+_\\d+"},
     "{\"pattern\":\"\\\\w+_\\\\d+\",\"mode\":\"count\"}",
     1.0},
	{"1,400 lines shown",
     {"MAX_queue_l"},
     {"MAX_queue_l"},
     "{\"pattern\":\"MAX_queue_l\",\"limit\":10000}",
     1.0},
};

static const struct row file_rows[] = {
	{"one file of 60 MB: literal, no hit",
     {"-F", "no_such_name", HUGE_FILE},
     {"--literal", "no_such_name", HUGE_FILE},
     "{\"pattern\":\"no_such_name\",\"literal\":true,\"path\":\"" HUGE_FILE "\"}",
     1.3},
	{"one file of 60 MB: a line shown",
     {"-F", "(state_node * 47", HUGE_FILE},
     {"--literal", "(state_node * 47", HUGE_FILE},
     "{\"pattern\":\"(state_node * 47\",\"literal\":true,\"path\":\"" HUGE_FILE "\"}",
     1.3},
	{"one file of 60 MB: many hits (-c)",
     {"-c", "MAX_", HUGE_FILE},
     {"--mode", "count", "MAX_", HUGE_FILE},
     "{\"pattern\":\"MAX_\",\"mode\":\"count\",\"path\":\"" HUGE_FILE "\"}",
     1.3},
	{"one file of 60 MB: regex (-c)",
     {"-c", "\\w+_\\d+", HUGE_FILE},
     {"--mode", "count", "\\w+_\\d+", HUGE_FILE},
     "{\"pattern\":\"\\\\w+_\\\\d+\",\"mode\":\"count\",\"path\":\"" HUGE_FILE "\"}",
     1.5},
};

/* ---- programs ---- */

/* Run a program with its output thrown away. @return Its peak memory in KB. */
static long run_program(const char *const *argv) {
	posix_spawn_file_actions_t actions;
	struct rusage usage;
	pid_t pid;
	int status;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	bench_check(
		posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv, environ) == 0,
		argv[0]);
	posix_spawn_file_actions_destroy(&actions);
	bench_check(wait4(pid, &status, 0, &usage) == pid, "wait4");
	bench_check(WIFEXITED(status) && WEXITSTATUS(status) <= 1, argv[0]);
	return usage.ru_maxrss;
}

static long run_rg(const struct row *row) {
	const char *argv[ARGS_MAX + 8] = {"rg", "--no-config", "-j2", "-n"};
	memcpy(argv + 4, row->rg, sizeof row->rg);
	return run_program(argv);
}

static long run_stet(const struct row *row) {
	const char *argv[ARGS_MAX + 8] = {stet, "grep"};
	memcpy(argv + 2, row->stet, sizeof row->stet);
	return run_program(argv);
}

/* ---- the rows ---- */

static void time_rg(void *context) {
	run_rg(context);
}

static void time_stet(void *context) {
	run_stet(context);
}

static void time_tool(void *context) {
	const struct row *row = context;
	struct stet_error err = {0};
	char *answer = NULL;
	int code = stet_call(session, "grep", row->tool, strlen(row->tool), &answer, NULL, &err);
	bench_check(code == 0, err.message);
	stet_free(answer);
}

static void bench_row(const struct row *row) {
	void *context = (void *)(uintptr_t)row;
	const struct bench_case cases[] = {
		{.name = "rg -j2", .run = time_rg, .context = context},
		{.name = "stet grep", .run = time_stet, .context = context, .target = row->target},
		{.name = "the tool grep", .run = time_tool, .context = context, .target = row->target},
	};
	bench_run(row->title, cases, 3, ROUNDS);
}

/* The median of three runs: threads take memory by chance. */
static long peak_of(long (*run)(const struct row *row), const struct row *row) {
	long a = run(row), b = run(row), c = run(row);
	long low = a < b ? a : b, high = a < b ? b : a;
	return c < low ? low : c > high ? high : c;
}

/* A child's peak begins with the memory of its parent, so this comes before anything large. */
static void print_memory(const struct row *row) {
	long theirs = peak_of(run_rg, row), ours = peak_of(run_stet, row);
	printf("  %-42s %6.1f MB, rg %.1f MB (target: at most rg's%s)\n", row->title,
	       (double)ours / 1024, (double)theirs / 1024, ours <= theirs ? "" : ", missed");
}

static void find_stet(void) {
	char self[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
	bench_check(len > 0, "/proc/self/exe");
	/* BUILD/bench/bench-grep and BUILD/stet */
	char *slash = memrchr(self, '/', (size_t)len);
	slash = memrchr(self, '/', (size_t)(slash - self));
	snprintf(stet, sizeof stet, "%.*s/stet", (int)(slash - self), self);
}

/* ---- main ---- */

/* Rows that search in the same directory. */
struct place {
	const char *dir;
	const struct row *rows;
	size_t count;
};

static void measure_memory(const struct place *place) {
	bench_check(chdir(place->dir) == 0, place->dir);
	for (size_t i = 0; i < place->count; i++)
		print_memory(&place->rows[i]);
	bench_check(chdir(base) == 0, base);
}

static void measure_time(const struct place *place) {
	struct stet_workspace *ws;
	struct stet_error err = {0};
	bench_check(chdir(place->dir) == 0, place->dir);
	bench_check(stet_workspace_open(".", &ws, &err) == 0, err.message);
	bench_check(stet_session_open(ws, NULL, &session, &err) == 0, err.message);
	for (size_t i = 0; i < place->count; i++)
		bench_row(&place->rows[i]);
	stet_session_close(session);
	stet_workspace_close(ws);
	bench_check(chdir(base) == 0, base);
}

static void make_places(const char *tree) {
	bench_check(mkdir("file", 0755) == 0, "mkdir");
	bigtree_make_file("file/" HUGE_FILE, HUGE_BYTES);
	if (tree)
		return;
	bench_check(mkdir("tree", 0755) == 0 && chdir("tree") == 0, "mkdir");
	bigtree_make_text();
	bench_check(chdir("..") == 0, "chdir");
}

int main(int argc, char **argv) {
	struct place tree = {.dir = argc > 1 ? argv[1] : "tree", COUNTED(tree_rows)};
	struct place file = {.dir = "file", COUNTED(file_rows)};
	find_stet();
	if (system("rg --version >/dev/null 2>&1") != 0) {
		puts("(rg is not installed)");
		return 0;
	}
	bench_enter();
	bench_check(getcwd(base, sizeof base) != NULL, "getcwd");
	make_places(argc > 1 ? argv[1] : NULL);
	puts("peak memory");
	measure_memory(&tree);
	measure_memory(&file);
	measure_time(&tree);
	measure_time(&file);
	bench_leave();
}
