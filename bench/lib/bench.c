#include "lib/bench.h"

#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { CASES_MAX = 16 };

static double now_us(void) {
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

void bench_check(int holds, const char *what) {
	if (!holds) {
		fprintf(stderr, "benchmark failed: %s\n", what);
		exit(1);
	}
}

static double time_one(const struct bench_case *one) {
	size_t batch = one->batch ? one->batch : 1;
	if (one->prepare)
		one->prepare(one->context);
	double start = now_us();
	for (size_t i = 0; i < batch; i++)
		one->run(one->context);
	return (now_us() - start) / (double)batch;
}

static int by_value(const void *a, const void *b) {
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double median(double *values, size_t count) {
	qsort(values, count, sizeof *values, by_value);
	return values[count / 2];
}

static void print_line(const struct bench_case *one, double time, double floor) {
	printf("  %-42s %10.2f us  %6.2f x", one->name, time, time / floor);
	if (one->target > 0)
		printf("  (target %.2f x%s)", one->target, time / floor <= one->target ? "" : ", missed");
	putchar('\n');
}

/* Shuffle the order in each round: a case that always followed a sync, say, would be slower. */
static void shuffle(size_t *order, size_t count) {
	static uint64_t random = 1;
	for (size_t i = 0; i < count; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		size_t k = (size_t)(random >> 33) % (i + 1);
		order[i] = order[k];
		order[k] = i;
	}
}

void bench_run(const char *title, const struct bench_case *cases, size_t count, size_t rounds) {
	bench_check(count <= CASES_MAX, "too many cases");
	double *times = calloc(count * rounds, sizeof *times);
	bench_check(times != NULL, "out of memory");
	for (size_t i = 0; i < count; i++)
		time_one(&cases[i]);
	for (size_t round = 0; round < rounds; round++) {
		size_t order[CASES_MAX];
		shuffle(order, count);
		for (size_t turn = 0; turn < count; turn++)
			times[order[turn] * rounds + round] = time_one(&cases[order[turn]]);
	}
	printf("%s\n", title);
	double floor = median(times, rounds);
	for (size_t i = 0; i < count; i++)
		print_line(&cases[i], median(times + i * rounds, rounds), floor);
	fflush(stdout);
	free(times);
}

static char directory[] = "bench-XXXXXX";
static char origin[4096];
static char path[4096];

void bench_enter(void) {
	const char *base = getenv("TMPDIR");
	bench_check(getcwd(origin, sizeof origin) != NULL, "no working directory");
	snprintf(path, sizeof path, "%s/stet-%s", base ? base : "/tmp", directory);
	bench_check(mkdtemp(path) != NULL && chdir(path) == 0, "no temporary directory");
}

static int remove_entry(const char *name, const struct stat *st, int type, struct FTW *walk) {
	(void)st;
	(void)type;
	(void)walk;
	return remove(name);
}

void bench_leave(void) {
	bench_check(chdir(origin) == 0, "cannot go back");
	nftw(path, remove_entry, 32, FTW_DEPTH | FTW_PHYS);
}
