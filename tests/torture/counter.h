/**
 * Counters in a file, one per line, that several sessions count up at once by
 * reading and editing. The sums tell whether an acknowledged edit got lost.
 */
#ifndef STET_TESTS_TORTURE_COUNTER_H
#define STET_TESTS_TORTURE_COUNTER_H

#include "lib/test.h"
#include "stet/session.h"

/** Write the file `counters` with all of them at 0: a, b, c, d and all. */
void counters_write(const struct dir *dir);

/** Count up once: read, edit, and from the start if somebody was quicker. False if that fails. */
bool count_up(struct stet_session *session, const char *label);

/** What a counter says. */
void assert_counter(const struct dir *dir, const char *label, int number);

#endif
