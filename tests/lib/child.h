/**
 * What a test does in a child process: as another user, or with mounts of its
 * own. Asserts do not reach the test from there; hold() does, from both.
 *
 *     static void try(const struct dir *dir) {
 *             hold(rmdir(dir->path) < 0, "the directory is not ours");
 *     }
 *     child_as_nobody(dir, try);
 */
#ifndef STET_TESTS_LIB_CHILD_H
#define STET_TESTS_LIB_CHILD_H

#include "lib/test.h"

typedef void child_fn(const struct dir *dir);

/** Fail the test, also from its child process, unless the condition holds. */
void hold(bool condition, const char *what);

/** Run as an ordinary user, which the test may be already. */
void child_as_nobody(const struct dir *dir, child_fn *function);

/**
 * Run in a mount namespace, which ends with the process; skips the test if that is not
 * possible.
 */
void child_with_mounts(const struct dir *dir, child_fn *function);

/**
 * Give this process mounts of its own, if it is a child already or the whole test;
 * false if that is not possible.
 */
bool child_may_mount(void);

/**
 * Run under a limit of the system's, which holds for the child alone; the test
 * is skipped if that cannot be.
 *
 * @limit  A name in /proc/sys/user, such as "max_inotify_watches".
 */
void child_with_limit(const struct dir *dir, const char *limit, const char *value,
                      child_fn *function);

/** From such a child: skip the test for this reason. */
_Noreturn void child_skip(const char *reason);

#endif
