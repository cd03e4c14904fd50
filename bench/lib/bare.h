/**
 * The floor for every walk over a tree: two threads open, list and close each
 * directory and do no more than the caller adds.
 */
#ifndef STET_BENCH_LIB_BARE_H
#define STET_BENCH_LIB_BARE_H

/**
 * Walk a tree.
 *
 * @enter  Called for each open directory before it is listed; may be NULL.
 * @file   Called for each entry that is not a directory; may be NULL.
 */
void bare_walk(int root, void (*enter)(int dir), void (*file)(int dir, const char *name));

#endif
