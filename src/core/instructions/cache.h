/**
 * A cache of instruction files: an unchanged file costs a stat instead of a
 * read. The key is the path below the root. The cache is bounded by number and
 * bytes and evicts the least recently used file. Thread-safe.
 */
#ifndef STET_CORE_INSTRUCTIONS_CACHE_H
#define STET_CORE_INSTRUCTIONS_CACHE_H

#include <pthread.h>

#include "base/lru.h"
#include "fs/file/file.h"

enum {
	ST_INSTRUCTIONS_CACHE_COUNT = 50,
	ST_INSTRUCTIONS_CACHE_BYTES = 1 << 20,
	/** Larger instruction files are skipped. */
	ST_INSTRUCTIONS_FILE_MAX = 1 << 20,
};

/** One version of a file: reference counted and immutable. */
struct st_instructions_file {
	int references;
	struct st_hash hash;
	struct st_stamp stamp;
	size_t len;
	char bytes[];
};

struct st_instructions_cache {
	pthread_mutex_t lock;
	struct st_lru lru;
};

void st_instructions_cache_init(struct st_instructions_cache *cache);
void st_instructions_cache_release(struct st_instructions_cache *cache);

/**
 * Load a file, from the cache if its stamp has not changed.
 *
 * @path   Its path below the root, links resolved.
 * @st     What stat says of it now.
 * @out    Receives the version; release it with st_instructions_file_put().
 * @return 0, or the codes of st_file_load().
 */
[[nodiscard]] int st_instructions_cache_load(struct st_instructions_cache *cache,
                                             const struct st_root *root, const char *path,
                                             const struct stat *st,
                                             struct st_instructions_file **out,
                                             struct stet_error *err);

/** Remove a file from the cache. Returns whether it was there. */
bool st_instructions_cache_forget(struct st_instructions_cache *cache, const char *path);

/** Take a reference. Returns the file. */
struct st_instructions_file *st_instructions_file_keep(struct st_instructions_file *file);

/** Drop a reference. The file may be NULL. */
void st_instructions_file_put(struct st_instructions_file *file);

static inline struct st_str st_instructions_file_text(const struct st_instructions_file *file) {
	return st_strn(file->bytes, file->len);
}

#endif
