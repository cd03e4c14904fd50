/**
 * A root and a write context over the test's directory, for tests of commits; released
 * at the end of the block.
 *
 *     with_bench(dir);
 *     st_commit(&bench.root, &bench.writes, ...);
 */
#ifndef STET_TESTS_LIB_BENCH_H
#define STET_TESTS_LIB_BENCH_H

#include "fs/write/write_context.h"
#include "lib/test.h"

struct bench {
	struct st_root root;
	struct st_write_context writes;
};

static inline void bench_init(struct bench *bench, const struct dir *dir) {
	assert_int_equal(st_root_open(&bench->root, dir->path, NULL), 0);
	st_write_context_init(&bench->writes, &bench->root, ".stet", NULL);
}

static inline void bench_release(struct bench *bench) {
	st_write_context_release(&bench->writes);
	st_root_release(&bench->root);
}

#define with_bench(dir) \
	__attribute__((cleanup(bench_release))) struct bench bench; \
	bench_init(&bench, dir)

static inline struct st_hash hash_of(const char *text) {
	struct st_hash hash;
	assert_int_equal(st_hash_of(st_str(text), &hash, NULL), 0);
	return hash;
}

#endif
