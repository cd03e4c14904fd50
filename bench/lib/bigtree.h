/** A tree as large as a large repository: 80,000 files in 5,000 directories. */
#ifndef STET_BENCH_LIB_BIGTREE_H
#define STET_BENCH_LIB_BIGTREE_H

/** Make it in the working directory, with ignore rules, as a git repository. */
void bigtree_make(void);

#endif
