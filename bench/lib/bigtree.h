/** A tree as large as a large repository: 80,000 files in 5,000 directories. */
#ifndef STET_BENCH_LIB_BIGTREE_H
#define STET_BENCH_LIB_BIGTREE_H

#include <stddef.h>

/** Make it in the working directory, with ignore rules, as a git repository. */
void bigtree_make(void);

/** The same with 2 KB of lines as in code in every file, and BIGTREE_NEEDLE in one file of 1,000. */
void bigtree_make_text(void);

/** A word that no generated line contains by chance. */
#define BIGTREE_NEEDLE "quorum_timeout"

/** Write a file of at least so many bytes of such lines. */
void bigtree_make_file(const char *name, size_t bytes);

#endif
