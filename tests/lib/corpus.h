/**
 * Markdown to test with: real files and the examples of the CommonMark
 * specification, from the directory `md-corpus` beside the repository. Where
 * that is absent the tests that need it are skipped.
 *
 *     struct corpus corpus;
 *     corpus_open(&corpus);
 *     while (corpus_next(&corpus))
 *             check(st_buf_str(&corpus.text));
 */
#ifndef STET_TESTS_LIB_CORPUS_H
#define STET_TESTS_LIB_CORPUS_H

#include "base/buf.h"

struct corpus {
	/** Which file, and its text. */
	size_t index;
	const char *name;
	struct st_buf text;
	/** The specification, and where in it the next example is. */
	struct st_buf spec;
	size_t at;
};

/** Begin; skips the test if there is no corpus. */
void corpus_open(struct corpus *corpus);

/** The next file, as name and text. False after the last, with everything released. */
bool corpus_next(struct corpus *corpus);

/** The next example of the specification, as text. False after the last, likewise. */
bool corpus_next_example(struct corpus *corpus);

/**
 * Have every recorded run of an agent, from the directory `trajectories` beside
 * the repository. Skips the test if there is none.
 */
void corpus_each_run(void (*each)(void *data, const char *name, struct st_str rows), void *data);

/** Replace what is in a buffer by the contents of a file, which must be there. */
void read_path(const char *path, struct st_buf *out);

/**
 * Run a program, which must be there, with a text as its input, and append
 * what it prints. Fails the test unless it exits with 0.
 */
void run_filter(const char *const argv[], struct st_str input, struct st_buf *output);

#endif
