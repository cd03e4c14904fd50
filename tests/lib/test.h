/**
 * What every unit test starts from: cmocka with the headers it forgets, and a
 * temporary directory per test.
 *
 *     static void a_claim(void **state) {
 *             struct dir *dir = *state;
 *             dir_write(dir, "a.txt", "hello");
 *             ...
 *     }
 *     cmocka_unit_test_setup_teardown(a_claim, dir_setup, dir_teardown)
 */
#ifndef STET_TESTS_LIB_TEST_H
#define STET_TESTS_LIB_TEST_H

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/** One claim with a directory of its own as *state. */
#define claim(function) cmocka_unit_test_setup_teardown(function, dir_setup, dir_teardown)

/** End this test as skipped, with the reason that make check will list. */
#define skip_because(reason) \
	do { \
		print_message("# skip: %s\n", reason); \
		skip(); \
	} while (0)

/** A temporary directory, removed with everything in it after the test. */
struct dir {
	char path[256];
	int fd;
};

int dir_setup(void **state);
int dir_teardown(void **state);

/** The absolute path of a name in it; one of a ring of eight static buffers. */
const char *dir_at(const struct dir *dir, const char *name);

/** Write a file in place, as an editor that truncates would; directories in the name are made. */
void dir_write(const struct dir *dir, const char *name, const char *text);
void dir_write_bytes(const struct dir *dir, const char *name, const void *bytes, size_t len);

/** The contents of a file, NUL-ended, until the next call. Fails the test if it cannot be read. */
const char *dir_read(const struct dir *dir, const char *name);

/** Whether a name exists, links not followed. */
bool dir_has(const struct dir *dir, const char *name);

/** How many entries a directory holds, "." and ".." apart. */
int dir_count(const struct dir *dir, const char *name);

/**
 * Let time pass: for claims about clocks and stamps, and between two looks at
 * a condition. Never to wait for another process or thread: wait for what it does.
 */
void sleep_ms(int ms);

/** Whether a process sleeps: it waits for something. A thread of it may run. */
bool is_asleep(pid_t pid);

/** Wait for that, at most thirty seconds, then fail the test. A process that has ended is not asleep. */
void wait_until_asleep(pid_t pid);

#endif
