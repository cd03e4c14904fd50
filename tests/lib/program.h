/**
 * What the program under test (STET in the environment) says about itself, so
 * that a test of every command notices a new one.
 *
 *     static void expect_tried(void *data, const char *name, const char *usage) {...}
 *     program_each_command(dir, expect_tried, NULL);
 */
#ifndef STET_TESTS_LIB_PROGRAM_H
#define STET_TESTS_LIB_PROGRAM_H

#include "lib/run.h"

/** Call a function with the name of each command and the line of --help that says how it is used. */
void program_each_command(const struct dir *dir,
                          void (*each)(void *data, const char *name, const char *usage),
                          void *data);

#endif
