/**
 * The library's system calls, one step at a time.
 *
 * Programs that are linked with --wrap for the calls in steps.c (the build
 * file has the list) can have something happen before the n-th of them, for
 * every n: another process writes, or this one dies. So each moment of a
 * commit is tried, not only those that chance picks.
 *
 *     steps_watch(hook, arg);
 *     code = stet_session_edit(...);
 *     int count = steps_watch(NULL, NULL);
 *
 * One thread at a time; the hook's own calls are not counted.
 */
#ifndef STET_TESTS_TORTURE_STEPS_H
#define STET_TESTS_TORTURE_STEPS_H

#include <stdbool.h>

struct step {
	/** The call that comes next. */
	const char *call;
	/** Its number since steps_watch(), from 1. */
	int number;
	/** It is a renameat2() with RENAME_EXCHANGE. */
	bool is_exchange;
};

typedef void step_fn(const struct step *step, void *arg);

/** Begin to count and to call the hook, or stop (NULL). Returns how many steps there were before. */
int steps_watch(step_fn *hook, void *arg);

/** The feature that the filesystem lacks from now on, as a network filesystem might. */
enum steps_lack {
	STEPS_LACK_NOTHING,
	STEPS_LACK_LEASES = 1,
	STEPS_LACK_EXCHANGE = 2,
	/** It says that it is one in user space; only where a device has no number of its own, as in memory. */
	STEPS_LACK_TRUST = 4,
};

void steps_lack(unsigned lacks);

#endif
