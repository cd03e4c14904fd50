#include "base/lru.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

struct st_lru_entry {
	struct st_lru_entry *chain;
	struct st_lru_entry *newer;
	struct st_lru_entry *older;
	void *value;
	size_t cost;
	uint64_t hash;
	size_t key_len;
	char key[];
};

/* No keyed hash is needed: a client that floods one bucket only slows down itself. */
static uint64_t key_hash(struct st_str key) {
	return st_str_sum(ST_STR_SUM, key);
}

static struct st_lru_entry **slot_of(const struct st_lru *lru, struct st_str key, uint64_t hash) {
	struct st_lru_entry **slot = &lru->buckets[hash & (lru->bucket_count - 1)];
	while (*slot && !((*slot)->hash == hash && st_str_eq(st_lru_key(*slot), key)))
		slot = &(*slot)->chain;
	return slot;
}

static void unlink_entry(struct st_lru *lru, struct st_lru_entry *entry) {
	*(entry->newer ? &entry->newer->older : &lru->newest) = entry->older;
	*(entry->older ? &entry->older->newer : &lru->oldest) = entry->newer;
}

static void link_newest(struct st_lru *lru, struct st_lru_entry *entry) {
	entry->newer = NULL;
	entry->older = lru->newest;
	*(lru->newest ? &lru->newest->newer : &lru->oldest) = entry;
	lru->newest = entry;
}

static void discard_value(struct st_lru *lru, void *value) {
	if (lru->free_value && value)
		lru->free_value(value);
}

static void drop_entry(struct st_lru *lru, struct st_lru_entry **slot) {
	struct st_lru_entry *entry = *slot;
	*slot = entry->chain;
	unlink_entry(lru, entry);
	lru->count--;
	lru->cost -= entry->cost;
	discard_value(lru, entry->value);
	free(entry);
}

static void evict(struct st_lru *lru) {
	while (lru->count > lru->max_count || lru->cost > lru->max_cost) {
		assert(lru->oldest);
		drop_entry(lru, slot_of(lru, st_lru_key(lru->oldest), lru->oldest->hash));
	}
}

/* Without memory for a larger table, the old one just gets slower. */
static bool grow_buckets(struct st_lru *lru) {
	if (lru->buckets && lru->count < lru->bucket_count)
		return true;
	size_t count = lru->buckets ? lru->bucket_count * 2 : 16;
	struct st_lru_entry **buckets = calloc(count, sizeof *buckets);
	if (!buckets)
		return lru->buckets != NULL;
	for (struct st_lru_entry *e = lru->newest; e; e = e->older) {
		struct st_lru_entry **head = &buckets[e->hash & (count - 1)];
		e->chain = *head;
		*head = e;
	}
	free(lru->buckets);
	lru->buckets = buckets;
	lru->bucket_count = count;
	return true;
}

void st_lru_init(struct st_lru *lru, size_t max_count, size_t max_cost,
                 void (*free_value)(void *value)) {
	*lru = (struct st_lru){.max_count = max_count, .max_cost = max_cost, .free_value = free_value};
}

void st_lru_limit(struct st_lru *lru, size_t max_count, size_t max_cost) {
	lru->max_count = max_count;
	lru->max_cost = max_cost;
	evict(lru);
}

void st_lru_clear(struct st_lru *lru) {
	while (lru->oldest)
		drop_entry(lru, slot_of(lru, st_lru_key(lru->oldest), lru->oldest->hash));
}

void st_lru_release(struct st_lru *lru) {
	st_lru_clear(lru);
	free(lru->buckets);
	lru->buckets = NULL;
	lru->bucket_count = 0;
}

void *st_lru_peek(const struct st_lru *lru, struct st_str key) {
	if (!lru->buckets)
		return NULL;
	struct st_lru_entry *entry = *slot_of(lru, key, key_hash(key));
	return entry ? entry->value : NULL;
}

void *st_lru_get(struct st_lru *lru, struct st_str key) {
	if (!lru->buckets)
		return NULL;
	struct st_lru_entry *entry = *slot_of(lru, key, key_hash(key));
	if (!entry)
		return NULL;
	unlink_entry(lru, entry);
	link_newest(lru, entry);
	return entry->value;
}

bool st_lru_put(struct st_lru *lru, struct st_str key, void *value, size_t cost) {
	st_lru_remove(lru, key);
	struct st_lru_entry *entry = NULL;
	if (cost <= lru->max_cost && lru->max_count > 0 && grow_buckets(lru))
		entry = malloc(sizeof *entry + key.len);
	if (!entry) {
		discard_value(lru, value);
		return false;
	}
	*entry = (struct st_lru_entry){
		.value = value, .cost = cost, .hash = key_hash(key), .key_len = key.len};
	if (key.len)
		memcpy(entry->key, key.ptr, key.len);

	struct st_lru_entry **head = &lru->buckets[entry->hash & (lru->bucket_count - 1)];
	entry->chain = *head;
	*head = entry;
	link_newest(lru, entry);
	lru->count++;
	lru->cost += cost;
	evict(lru);
	return true;
}

bool st_lru_remove(struct st_lru *lru, struct st_str key) {
	if (!lru->buckets)
		return false;
	struct st_lru_entry **slot = slot_of(lru, key, key_hash(key));
	if (!*slot)
		return false;
	drop_entry(lru, slot);
	return true;
}

const struct st_lru_entry *st_lru_next(const struct st_lru *lru, const struct st_lru_entry *entry) {
	return entry ? entry->older : lru->newest;
}

struct st_str st_lru_key(const struct st_lru_entry *entry) {
	return st_strn(entry->key, entry->key_len);
}

void *st_lru_value(const struct st_lru_entry *entry) {
	return entry->value;
}
