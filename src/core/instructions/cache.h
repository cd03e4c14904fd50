/**
 * The contents of instruction files, so that an unchanged one costs a look
 * and not a read. Bounded by number and bytes, the least recently used going
 * first; by path below the root. Safe to use from several threads.
 */
#ifndef STET_CORE_INSTRUCTIONS_CACHE_H
#define STET_CORE_INSTRUCTIONS_CACHE_H

#include <pthread.h>

#include "base/lru.h"
#include "fs/file/file.h"

enum {
	ST_INSTRUCTIONS_CACHE_COUNT = 50,
	ST_INSTRUCTIONS_CACHE_BYTES = 1 << 20,
	/** The largest instruction file that is read. */
	ST_INSTRUCTIONS_FILE_MAX = 1 << 20,
};

/** One version of a file, shared by whoever holds a reference; never changed. */
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
 * Load a file, from the cache if its stat still is what it was.
 *
 * @path   Its path below the root, links resolved.
 * @st     What stat says of it now.
 * @out    Receives the version, to be handed back with st_instructions_file_put().
 * @return 0, or the codes of st_file_load().
 */
[[nodiscard]] int st_instructions_cache_load(struct st_instructions_cache *cache,
                                             const struct st_root *root, const char *path,
                                             const struct stat *st,
                                             struct st_instructions_file **out,
                                             struct stet_error *err);

/** Forget a file. True if it was there. */
bool st_instructions_cache_forget(struct st_instructions_cache *cache, const char *path);

/** One more reference. Returns the file. */
struct st_instructions_file *st_instructions_file_keep(struct st_instructions_file *file);

/** Give a reference back; NULL is fine. */
void st_instructions_file_put(struct st_instructions_file *file);

static inline struct st_str st_instructions_file_text(const struct st_instructions_file *file) {
	return st_strn(file->bytes, file->len);
}

#endif
