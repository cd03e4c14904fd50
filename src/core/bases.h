/**
 * The base store: bytes that sessions saw, by hash.
 *
 * From a base a conflict gets its diff and a merge its parent. The store is
 * bounded by bytes; the least recently used go first, and what is gone costs a
 * diff, never a wrong answer. Safe to use from several threads.
 */
#ifndef STET_CORE_BASES_H
#define STET_CORE_BASES_H

#include <pthread.h>

#include "base/buf.h"
#include "base/lru.h"
#include "fs/hash.h"

/** Bytes shared by whoever holds a reference; never changed. */
struct st_blob {
	int references;
	size_t len;
	char *bytes;
};

struct st_bases {
	pthread_mutex_t lock;
	struct st_lru lru;
};

void st_bases_init(struct st_bases *bases, size_t max_bytes);
void st_bases_release(struct st_bases *bases);

/** Change the bound; what no longer fits goes. */
void st_bases_limit(struct st_bases *bases, size_t max_bytes);

/** Remember bytes under their hash. Too many bytes, or too little memory: they are not remembered. */
void st_bases_put(struct st_bases *bases, const struct st_hash *hash, struct st_str bytes);

/** As st_bases_put(), of bytes that nobody else needs: they are taken. */
void st_bases_give(struct st_bases *bases, const struct st_hash *hash, struct st_buf *bytes);

/** Forget bytes, for now: they are stored elsewhere. */
void st_bases_drop(struct st_bases *bases, const struct st_hash *hash);

/** The bytes of a hash, to be handed back with st_blob_put(); NULL if they are not there. */
struct st_blob *st_bases_get(struct st_bases *bases, const struct st_hash *hash);

/** Give a reference back; NULL is fine. */
void st_blob_put(struct st_blob *blob);

#endif
