/**
 * Faults on demand: the n-th allocation or system call of the library fails.
 *
 * A program that links this is linked with --wrap for every function below
 * (tests/meson.build has the list), so that calls from the library and from
 * the test come here first. They go on to libc unless a fault is due.
 *
 *     for (unsigned n = 1;; n++) {
 *             fault_arm(FAULT_SYSTEM, n, EIO);
 *             int code = st_commit(...);
 *             fault_off();
 *             ... either code tells of it and nothing changed, or all is well
 *             if (!fault_fired())
 *                     break;
 *     }
 */
#ifndef STET_TESTS_LIB_FAULT_H
#define STET_TESTS_LIB_FAULT_H

#include <stdbool.h>
#include <stddef.h>

enum fault_kind {
	FAULT_ALLOC,
	FAULT_SYSTEM,
};

/**
 * Count calls of a kind from now on; the nth, from 1, fails with errnum and
 * does nothing (but for close(), which closes all the same). EINTR passes
 * over functions that never fail with it.
 */
void fault_arm(enum fault_kind kind, unsigned nth, int errnum);

/** As fault_arm(), and every call of the kind after the nth fails as well. */
void fault_arm_from(enum fault_kind kind, unsigned nth, int errnum);

/** No more faults. */
void fault_off(void);

/** From now on the filesystem lacks the flags of renameat2(), as some do, or has them again. */
void fault_lack_exchange(bool lack);

/** What came before and after a name changed. */
struct fault_order {
	bool renamed;
	unsigned synced_before, synced_after;
};

/** The counts since the last call. */
struct fault_order fault_order_take(void);

/** Whether the last one that was armed came to pass, and in which function. */
bool fault_fired(void);
const char *fault_where(void);

/** How often a fault fell on a function since the program began; 0 for an unknown name. */
size_t fault_hits(const char *name);

/** The name of the i-th function that is wrapped; NULL beyond the last. */
const char *fault_name(size_t i);

#endif
