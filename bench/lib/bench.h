/**
 * Benchmarks that print ratios: every case and the floor it is measured
 * against run in turns, round by round, so that whatever else the machine does
 * hits them alike. The median of the rounds counts.
 *
 *     struct bench_case cases[] = {
 *             {.name = "write + rename", .run = floor_run},
 *             {.name = "commit, relaxed", .run = commit_run, .target = 1.5},
 *     };
 *     bench_run("4 KB", cases, 2, 200);
 *
 * The first case is the floor.
 */
#ifndef STET_BENCH_LIB_BENCH_H
#define STET_BENCH_LIB_BENCH_H

#include <stddef.h>

struct bench_case {
	const char *name;
	/** One operation. */
	void (*run)(void *context);
	void *context;
	/** Operations per timing, for those too quick to be timed alone; 0 for 1. */
	size_t batch;
	/** The ratio to the floor that it should not exceed; 0 for none. */
	double target;
};

/** Run the cases in turns and print a line for each: median time, ratio to the first, target. */
void bench_run(const char *title, const struct bench_case *cases, size_t count, size_t rounds);

/** A temporary directory for the benchmark, removed by bench_leave(); the working directory is moved there. */
void bench_enter(void);
void bench_leave(void);

/** Stop with a message if a condition does not hold. */
void bench_check(int holds, const char *what);

#endif
