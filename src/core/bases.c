#include "core/bases.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/cancel.h"

void st_blob_put(struct st_blob *blob) {
	if (!blob || __atomic_sub_fetch(&blob->references, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	free(blob->bytes);
	free(blob);
}

static void put_value(void *blob) {
	st_blob_put(blob);
}

static struct st_str key_of(const struct st_hash *hash) {
	return st_strn((const char *)hash->bytes, ST_HASH_SIZE);
}

void st_bases_init(struct st_bases *bases, size_t max_bytes) {
	pthread_mutex_init(&bases->lock, NULL);
	st_lru_init(&bases->lru, SIZE_MAX, max_bytes, put_value);
}

void st_bases_release(struct st_bases *bases) {
	st_lru_release(&bases->lru);
	pthread_mutex_destroy(&bases->lock);
}

void st_bases_limit(struct st_bases *bases, size_t max_bytes) {
	pthread_mutex_lock(&bases->lock);
	st_lru_limit(&bases->lru, SIZE_MAX, max_bytes);
	pthread_mutex_unlock(&bases->lock);
}

/* Whether it is worth to bring bytes; those that are there count as used. */
static bool wants(struct st_bases *bases, const struct st_hash *hash, size_t len) {
	pthread_mutex_lock(&bases->lock);
	bool wanted = !st_lru_get(&bases->lru, key_of(hash)) && len <= bases->lru.max_cost;
	pthread_mutex_unlock(&bases->lock);
	return wanted;
}

static void take(struct st_bases *bases, const struct st_hash *hash, struct st_buf *bytes) {
	struct st_blob *blob = malloc(sizeof *blob);
	if (!blob)
		return;
	*blob = (struct st_blob){.references = 1, .len = bytes->len, .bytes = bytes->ptr};
	size_t cost = sizeof *blob + bytes->cap;
	*bytes = (struct st_buf)ST_BUF_INIT;
	pthread_mutex_lock(&bases->lock);
	st_lru_put(&bases->lru, key_of(hash), blob, cost);
	pthread_mutex_unlock(&bases->lock);
}

void st_bases_put(struct st_bases *bases, const struct st_hash *hash, struct st_str bytes) {
	if (!wants(bases, hash, bytes.len))
		return;
	st_auto(st_buf) copy = ST_BUF_INIT;
	st_buf_add(&copy, bytes);
	st_cancel_tell(bytes.len);
	if (!copy.failed)
		take(bases, hash, &copy);
}

void st_bases_give(struct st_bases *bases, const struct st_hash *hash, struct st_buf *bytes) {
	if (wants(bases, hash, bytes->len))
		take(bases, hash, bytes);
}

void st_bases_drop(struct st_bases *bases, const struct st_hash *hash) {
	pthread_mutex_lock(&bases->lock);
	st_lru_remove(&bases->lru, key_of(hash));
	pthread_mutex_unlock(&bases->lock);
}

struct st_blob *st_bases_get(struct st_bases *bases, const struct st_hash *hash) {
	pthread_mutex_lock(&bases->lock);
	struct st_blob *blob = st_lru_get(&bases->lru, key_of(hash));
	if (blob)
		__atomic_add_fetch(&blob->references, 1, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&bases->lock);
	return blob;
}
