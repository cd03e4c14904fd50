/**
 * A bounded map from byte strings to objects that forgets the least recently
 * used ones.
 *
 * Every entry has a cost; the sum of costs and the number of entries stay
 * within their limits, so that nothing built on this can grow without bound.
 *
 *     struct st_lru lru;
 *     st_lru_init(&lru, 50, 1 << 20, free);
 *     st_lru_put(&lru, ST_STR("key"), strdup("value"), 5);
 *     char *value = st_lru_get(&lru, ST_STR("key"));   // now the most recent
 *     st_lru_release(&lru);
 */
#ifndef STET_BASE_LRU_H
#define STET_BASE_LRU_H

#include "base/str.h"

struct st_lru_entry;

struct st_lru {
	size_t max_count;
	size_t max_cost;
	size_t count;
	size_t cost;
	/** Called for a value that is replaced, evicted or removed; may be NULL. */
	void (*free_value)(void *value);
	struct st_lru_entry **buckets;
	size_t bucket_count;
	struct st_lru_entry *newest;
	struct st_lru_entry *oldest;
};

void st_lru_init(struct st_lru *lru, size_t max_count, size_t max_cost,
                 void (*free_value)(void *value));
void st_lru_release(struct st_lru *lru);

/** Change the limits, and evict what no longer fits. */
void st_lru_limit(struct st_lru *lru, size_t max_count, size_t max_cost);

/** Remove every entry. */
void st_lru_clear(struct st_lru *lru);

/** The value for a key, now the most recently used; NULL if there is none. */
void *st_lru_get(struct st_lru *lru, struct st_str key);

/** As st_lru_get(), without changing the order. */
void *st_lru_peek(const struct st_lru *lru, struct st_str key);

/**
 * Store a value, taking ownership, and evict what no longer fits. The key is
 * copied. A value that costs more than max_cost alone is freed at once.
 *
 * @return true if the value is stored; false if it was freed (too costly, or
 *         out of memory).
 */
bool st_lru_put(struct st_lru *lru, struct st_str key, void *value, size_t cost);

/** Remove a key. True if it was there. */
bool st_lru_remove(struct st_lru *lru, struct st_str key);

/**
 * Step through the entries, the most recently used first: NULL to begin, the
 * last return value to go on, NULL at the end. No change meanwhile.
 */
const struct st_lru_entry *st_lru_next(const struct st_lru *lru, const struct st_lru_entry *entry);
struct st_str st_lru_key(const struct st_lru_entry *entry);
void *st_lru_value(const struct st_lru_entry *entry);

#endif
