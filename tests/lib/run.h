/**
 * Running programs as oracles: git, diff, patch.
 *
 *     st_auto(st_buf) output = ST_BUF_INIT;
 *     int status = run(dir, &output, (const char *[]){"git", "merge-file", "-p", ..., NULL});
 */
#ifndef STET_TESTS_LIB_RUN_H
#define STET_TESTS_LIB_RUN_H

#include "base/buf.h"
#include "lib/test.h"

/**
 * Run a program in a directory, without input and without the user's git
 * configuration, and wait for it. Fails the test if it cannot be started or
 * dies of a signal.
 *
 * @output  Receives what it prints in place of what it held; NULL to let it pass.
 * @return  Its exit status.
 */
int run(const struct dir *dir, struct st_buf *output, const char *const *argv);

#endif
