/**
 * A bounded map from byte strings to objects that evicts the least recently used
 * entries. Both the number of entries and the sum of their costs are limited.
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

/** Change the limits, and evict entries that no longer fit. */
void st_lru_limit(struct st_lru *lru, size_t max_count, size_t max_cost);

/** Remove every entry. */
void st_lru_clear(struct st_lru *lru);

/** The value of a key, which becomes the most recently used; NULL if not found. */
void *st_lru_get(struct st_lru *lru, struct st_str key);

/** Like st_lru_get(), without changing the order. */
void *st_lru_peek(const struct st_lru *lru, struct st_str key);

/**
 * Store a value, and evict entries that no longer fit. The map owns the value
 * and copies the key.
 *
 * @return False if the value was freed instead: its cost exceeds max_cost, or
 *         memory ran out.
 */
bool st_lru_put(struct st_lru *lru, struct st_str key, void *value, size_t cost);

/** Remove a key. True if it existed. */
bool st_lru_remove(struct st_lru *lru, struct st_str key);

/**
 * Iterate, the most recently used entry first: pass NULL, then the previous
 * entry; returns NULL at the end. The map must not change meanwhile.
 */
const struct st_lru_entry *st_lru_next(const struct st_lru *lru, const struct st_lru_entry *entry);
struct st_str st_lru_key(const struct st_lru_entry *entry);
void *st_lru_value(const struct st_lru_entry *entry);

#endif
