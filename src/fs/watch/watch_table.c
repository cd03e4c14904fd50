#include "fs/watch/watch_table.h"

#include <assert.h>
#include <stdlib.h>

enum { BUCKETS_MIN = 64 };

/* The last step of splitmix64: every input bit affects every output bit. */
static uint64_t hash_mix(uint64_t hash, uint64_t value) {
	hash = (hash ^ value) + 0x9E3779B97F4A7C15u;
	hash = (hash ^ (hash >> 30)) * 0xBF58476D1CE4E5B9u;
	hash = (hash ^ (hash >> 27)) * 0x94D049BB133111EBu;
	return hash ^ (hash >> 31);
}

uint64_t st_watch_fingerprint_inode(dev_t dev, ino_t ino) {
	return hash_mix(hash_mix(0, dev), ino);
}

uint64_t st_watch_fingerprint(const struct stat *st) {
	uint64_t hash = st_watch_fingerprint_inode(st->st_dev, st->st_ino);
	hash = hash_mix(hash, st->st_mode);
	hash = hash_mix(hash, (uint64_t)st->st_size);
	hash = hash_mix(hash, (uint64_t)st->st_mtim.tv_sec);
	hash = hash_mix(hash, (uint64_t)st->st_mtim.tv_nsec);
	hash = hash_mix(hash, (uint64_t)st->st_ctim.tv_sec);
	return hash_mix(hash, (uint64_t)st->st_ctim.tv_nsec);
}

/* ---- nodes ---- */

static struct st_watch_node *node_new(struct st_str name) {
	assert(name.len <= UINT8_MAX);
	struct st_watch_node *node = malloc(sizeof *node + name.len + 1);
	if (!node)
		return NULL;
	*node = (struct st_watch_node){.name_len = (uint8_t)name.len};
	memcpy(node->name, name.ptr, name.len);
	node->name[name.len] = '\0';
	return node;
}

static void node_free(struct st_watch_node *node) {
	if (node->dir)
		st_ignore_drop(node->dir->ignore);
	free(node->dir);
	free(node->change);
	free(node);
}

bool st_watch_make_dir(struct st_watch_node *node) {
	if (node->dir)
		return true;
	node->dir = malloc(sizeof *node->dir);
	if (node->dir)
		*node->dir = (struct st_watch_dir){.node = node, .wd = -1};
	return node->dir != NULL;
}

static uint32_t name_hash(const struct st_watch_node *dir, struct st_str name) {
	uint64_t hash = hash_mix(name.len, (uintptr_t)dir);
	for (size_t at = 0; at < name.len; at += sizeof(uint64_t)) {
		uint64_t word = 0;
		size_t left = name.len - at;
		memcpy(&word, name.ptr + at, left < sizeof word ? left : sizeof word);
		hash = hash_mix(hash, word);
	}
	return (uint32_t)hash;
}

static struct st_watch_node **bucket_of(const struct st_watch_table *table, uint32_t hash) {
	return &table->buckets[hash & (table->bucket_count - 1)];
}

static bool grow_buckets(struct st_watch_table *table) {
	size_t count = table->bucket_count ? table->bucket_count * 2 : BUCKETS_MIN;
	struct st_watch_node **old = table->buckets, **buckets = calloc(count, sizeof *buckets);
	if (!buckets)
		return false;
	size_t old_count = table->bucket_count;
	table->buckets = buckets;
	table->bucket_count = count;
	for (size_t i = 0; i < old_count; i++) {
		for (struct st_watch_node *node = old[i], *next; node; node = next) {
			next = node->chain;
			struct st_watch_node **bucket = bucket_of(table, node->hash);
			node->chain = *bucket;
			*bucket = node;
		}
	}
	free(old);
	return true;
}

bool st_watch_table_init(struct st_watch_table *table, size_t max_changes) {
	*table = (struct st_watch_table){.max_changes = max_changes, .tick = 1};
	table->root = node_new(ST_STR(""));
	if (table->root && st_watch_make_dir(table->root) && grow_buckets(table))
		return true;
	st_watch_table_release(table);
	return false;
}

/* Without recursion, since the tree may be deep: free each node once it has no entries left. */
void st_watch_table_release(struct st_watch_table *table) {
	for (struct st_watch_node *node = table->root, *next; node; node = next) {
		struct st_watch_node *first = node->dir ? node->dir->first : NULL;
		if (first) {
			node->dir->first = first->next;
			next = first;
		} else {
			next = node->parent;
			node_free(node);
		}
	}
	free(table->buckets);
	*table = (struct st_watch_table){0};
}

static struct st_watch_node *find_node(const struct st_watch_table *table,
                                       const struct st_watch_node *dir, struct st_str name,
                                       uint32_t hash) {
	struct st_watch_node *node = *bucket_of(table, hash);
	while (node && (node->hash != hash || node->parent != dir || node->name_len != name.len ||
	                memcmp(node->name, name.ptr, name.len) != 0))
		node = node->chain;
	return node;
}

struct st_watch_node *st_watch_find(const struct st_watch_table *table,
                                    const struct st_watch_node *dir, struct st_str name) {
	return find_node(table, dir, name, name_hash(dir, name));
}

static struct st_watch_node *link_node(struct st_watch_node *dir, struct st_str name,
                                       uint32_t hash) {
	if (name.len > UINT8_MAX || !st_watch_make_dir(dir))
		return NULL;
	struct st_watch_node *node = node_new(name);
	if (!node)
		return NULL;
	node->hash = hash;
	node->parent = dir;
	node->next = dir->dir->first;
	if (node->next)
		node->next->prev = node;
	dir->dir->first = node;
	return node;
}

static void unlink_from_dir(struct st_watch_node *node) {
	if (node->prev)
		node->prev->next = node->next;
	else
		node->parent->dir->first = node->next;
	if (node->next)
		node->next->prev = node->prev;
}

static void insert_node(struct st_watch_table *table, struct st_watch_node *node) {
	/* If the table cannot grow, it is only slower. */
	if (table->count >= table->bucket_count)
		(void)grow_buckets(table);
	struct st_watch_node **bucket = bucket_of(table, node->hash);
	node->chain = *bucket;
	*bucket = node;
	table->count++;
}

struct st_watch_node *st_watch_entry(struct st_watch_table *table, struct st_watch_node *dir,
                                     struct st_str name) {
	uint32_t hash = name_hash(dir, name);
	struct st_watch_node *node = find_node(table, dir, name, hash);
	if (node)
		return node;
	node = link_node(dir, name, hash);
	if (node)
		insert_node(table, node);
	return node;
}

struct st_watch_node *st_watch_add(struct st_watch_node *dir, struct st_str name,
                                   struct st_watch_node *others) {
	struct st_watch_node *node = link_node(dir, name, name_hash(dir, name));
	if (node)
		node->chain = others;
	return node;
}

void st_watch_insert_added(struct st_watch_table *table, struct st_watch_node *added) {
	for (struct st_watch_node *node = added, *next; node; node = next) {
		next = node->chain;
		if (find_node(table, node->parent, st_strn(node->name, node->name_len), node->hash)) {
			unlink_from_dir(node);
			node_free(node);
			continue;
		}
		insert_node(table, node);
		table->files += node->present;
	}
}

struct st_watch_node *st_watch_entry_at(struct st_watch_table *table, struct st_str path) {
	struct st_watch_node *node = table->root;
	for (size_t start = 0, end; node && start < path.len; start = end + 1) {
		const char *slash = memchr(path.ptr + start, '/', path.len - start);
		end = slash ? (size_t)(slash - path.ptr) : path.len;
		node = st_watch_entry(table, node, st_str_slice(path, start, end));
	}
	return node;
}

static void unlink_node(struct st_watch_table *table, struct st_watch_node *node) {
	struct st_watch_node **place = bucket_of(table, node->hash);
	while (*place != node)
		place = &(*place)->chain;
	*place = node->chain;
	unlink_from_dir(node);
	table->count--;
	table->freed++;
}

static bool is_needed(const struct st_watch_node *node) {
	const struct st_watch_dir *dir = node->dir;
	return node->present || node->change || node->pending || node->users > 0 || !node->parent ||
	       (dir && (dir->present || dir->first || dir->queued));
}

void st_watch_prune(struct st_watch_table *table, struct st_watch_node *node) {
	while (!is_needed(node)) {
		struct st_watch_node *parent = node->parent;
		unlink_node(table, node);
		node_free(node);
		node = parent;
	}
}

void st_watch_path(const struct st_watch_node *node, struct st_buf *path) {
	size_t len = 0;
	for (const struct st_watch_node *at = node; at->parent; at = at->parent)
		len += at->name_len + (size_t)(at->parent->parent != NULL);
	st_buf_clear(path);
	if (!st_buf_reserve(path, len))
		return;
	char *end = path->ptr + len;
	path->len = len;
	*end = '\0';
	for (const struct st_watch_node *at = node; at->parent; at = at->parent) {
		end -= at->name_len;
		memcpy(end, at->name, at->name_len);
		if (at->parent->parent)
			*--end = '/';
	}
}

struct st_watch_node *st_watch_next(const struct st_watch_node *top, struct st_watch_node *node) {
	if (node->dir && node->dir->first)
		return node->dir->first;
	while (node != top && !node->next)
		node = node->parent;
	return node == top ? NULL : node->next;
}

/* ---- changes ---- */

static void unlink_change(struct st_watch_table *table, struct st_watch_change *change) {
	if (change->newer)
		change->newer->older = change->older;
	else
		table->newest = change->older;
	if (change->older)
		change->older->newer = change->newer;
	else
		table->oldest = change->newer;
	table->changes--;
}

void st_watch_forget_changes(struct st_watch_table *table, size_t left) {
	while (table->changes > left) {
		struct st_watch_change *change = table->oldest;
		struct st_watch_node *node = change->node;
		table->forgotten = change->tick;
		unlink_change(table, change);
		node->change = NULL;
		free(change);
		st_watch_prune(table, node);
	}
}

bool st_watch_changed(struct st_watch_table *table, struct st_watch_node *node, bool born) {
	struct st_watch_change *change = node->change;
	if (change) {
		unlink_change(table, change);
	} else {
		change = malloc(sizeof *change);
		if (!change) {
			table->forgotten = table->tick;
			return false;
		}
		*change = (struct st_watch_change){.node = node};
		node->change = change;
	}
	change->tick = table->tick;
	if (born)
		change->born = table->tick;
	change->newer = NULL;
	change->older = table->newest;
	if (change->older)
		change->older->newer = change;
	else
		table->oldest = change;
	table->newest = change;
	table->changes++;
	return true;
}
