/**
 * Memory that runs out at a chosen moment. Every test program is linked with
 * these in place of malloc(), calloc() and realloc().
 *
 *     bool failed = true;
 *     for (size_t n = 1; failed; n++) {
 *             alloc_fail_at(n);
 *             int code = st_thing(...);
 *             failed = alloc_has_failed();
 *             assert_int_equal(code, failed ? STET_E_NOMEM : 0);
 *     }
 */
#ifndef STET_TESTS_LIB_ALLOC_H
#define STET_TESTS_LIB_ALLOC_H

#include <stdbool.h>
#include <stddef.h>

/** Let the n-th allocation from now fail, once. */
void alloc_fail_at(size_t n);

/** The same, and all that come after it. */
void alloc_fail_from(size_t n);

/** Whether it has failed. No other will, until the next alloc_fail_at(). */
bool alloc_has_failed(void);

#endif
