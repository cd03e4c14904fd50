/**
 * The contents of instruction files, so that an unchanged one costs a look
 * and not a read. Bounded by number and bytes, the least recently used going
 * first; by path below the root. Safe to use from several threads.
 */
#ifndef STET_CORE_AGENTS_CACHE_H
#define STET_CORE_AGENTS_CACHE_H

#include <pthread.h>

#include "base/lru.h"
#include "fs/file.h"

enum {
	ST_AGENTS_CACHE_COUNT = 50,
	ST_AGENTS_CACHE_BYTES = 1 << 20,
	/** The largest instruction file that is read. */
	ST_AGENTS_FILE_MAX = 1 << 20,
};

/** One version of a file, shared by whoever holds a reference; never changed. */
struct st_agents_file {
	int references;
	struct st_hash hash;
	struct st_stamp stamp;
	size_t len;
	char bytes[];
};

struct st_agents_cache {
	pthread_mutex_t lock;
	struct st_lru lru;
};

void st_agents_cache_init(struct st_agents_cache *cache);
void st_agents_cache_release(struct st_agents_cache *cache);

/**
 * Load a file, from the cache if its stat still is what it was.
 *
 * @path   Its path below the root, links resolved.
 * @st     What stat says of it now.
 * @out    Receives the version, to be handed back with st_agents_file_put().
 * @return 0, or the codes of st_file_load().
 */
[[nodiscard]] int st_agents_cache_load(struct st_agents_cache *cache, const struct st_root *root,
                                       const char *path, const struct stat *st,
                                       struct st_agents_file **out, struct stet_error *err);

/** Forget a file. True if it was there. */
bool st_agents_cache_forget(struct st_agents_cache *cache, const char *path);

/** One more reference. Returns the file. */
struct st_agents_file *st_agents_file_keep(struct st_agents_file *file);

/** Give a reference back; NULL is fine. */
void st_agents_file_put(struct st_agents_file *file);

static inline struct st_str st_agents_file_text(const struct st_agents_file *file) {
	return st_strn(file->bytes, file->len);
}

#endif
