/**
 * Benchmarks that print ratios. Every case and its floor run in turns, round by
 * round, so that other load on the machine affects them alike. The result is the
 * median of the rounds.
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
	/** Runs before each timing, and is not timed; may be NULL. */
	void (*prepare)(void *context);
	/** Operations per timing, if one is too fast to be timed alone; 0 for 1. */
	size_t batch;
	/** The highest acceptable ratio to the floor; 0 for none. */
	double target;
};

/** Run the cases in turns and print a line for each: median time, ratio to the first, target. */
void bench_run(const char *title, const struct bench_case *cases, size_t count, size_t rounds);

/** Make a temporary directory and change into it. bench_leave() removes it. */
void bench_enter(void);
void bench_leave(void);

/** Stop with a message if a condition does not hold. */
void bench_check(int holds, const char *what);

#endif
