/**
 * The floor of everything that goes through a tree: every directory opened,
 * listed and closed by two threads, and no more than the caller adds.
 */
#ifndef STET_BENCH_LIB_BARE_H
#define STET_BENCH_LIB_BARE_H

/**
 * Go through a tree.
 *
 * @enter  Called for an open directory before it is listed; may be NULL.
 * @file   Called for everything in it that is no directory; may be NULL.
 */
void bare_walk(int root, void (*enter)(int dir), void (*file)(int dir, const char *name));

#endif
