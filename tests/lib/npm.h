/**
 * The packages of tests/npm in a unit test, and the real tokenizer among them.
 *
 *     struct counter counter = {0};
 *     counter_add(&counter, text);
 *     counter_run(&counter, dir);
 *     assert_true(counter.counts[0] <= 500);
 *     counter_release(&counter);
 */
#ifndef STET_TESTS_LIB_NPM_H
#define STET_TESTS_LIB_NPM_H

#include "base/buf.h"
#include "lib/test.h"

/** The directory that tools/npm prints. Skips the test where it can not be had. */
const char *npm_or_skip(const struct dir *dir);

/** Texts to be counted together, since starting Node takes its time. */
struct counter {
	struct st_buf texts;
	size_t count;
	/** By o200k, in the order of the texts; filled by counter_run(). */
	size_t *counts;
};

void counter_add(struct counter *counter, struct st_str text);

/** Count. Skips the test where there is no tokenizer, after releasing the counter. */
void counter_run(struct counter *counter, const struct dir *dir);
void counter_release(struct counter *counter);

#endif
