#include "fs/watch_table.h"

#include <assert.h>
#include <stdlib.h>

enum { BUCKETS_MIN = 64 };

/* The last step of splitmix64: every bit of the input moves every bit of the output. */
static uint64_t mix(uint64_t hash, uint64_t value) {
	hash = (hash ^ value) + 0x9E3779B97F4A7C15u;
	hash = (hash ^ (hash >> 30)) * 0xBF58476D1CE4E5B9u;
	hash = (hash ^ (hash >> 27)) * 0x94D049BB133111EBu;
	return hash ^ (hash >> 31);
}

uint64_t st_watch_print(const struct stat *st) {
	uint64_t hash = mix(0, st->st_dev);
	hash = mix(hash, st->st_ino);
	hash = mix(hash, st->st_mode);
	hash = mix(hash, (uint64_t)st->st_size);
	hash = mix(hash, (uint64_t)st->st_mtim.tv_sec);
	hash = mix(hash, (uint64_t)st->st_mtim.tv_nsec);
	hash = mix(hash, (uint64_t)st->st_ctim.tv_sec);
	return mix(hash, (uint64_t)st->st_ctim.tv_nsec);
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

static size_t bucket_of(const struct st_watch_table *table, const struct st_watch_node *dir,
                        struct st_str name) {
	uint64_t hash = 14695981039346656037u;
	for (size_t i = 0; i < name.len; i++)
		hash = (hash ^ (unsigned char)name.ptr[i]) * 1099511628211u;
	return (size_t)mix((uint64_t)(uintptr_t)dir, hash) & (table->bucket_count - 1);
}

static size_t bucket_of_node(const struct st_watch_table *table, const struct st_watch_node *node) {
	return bucket_of(table, node->parent, st_strn(node->name, node->name_len));
}

static bool grow(struct st_watch_table *table) {
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
			struct st_watch_node **bucket = &buckets[bucket_of_node(table, node)];
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
	if (table->root && st_watch_make_dir(table->root) && grow(table))
		return true;
	st_watch_table_release(table);
	return false;
}

void st_watch_table_release(struct st_watch_table *table) {
	for (size_t i = 0; i < table->bucket_count; i++) {
		for (struct st_watch_node *node = table->buckets[i], *next; node; node = next) {
			next = node->chain;
			node_free(node);
		}
	}
	if (table->root)
		node_free(table->root);
	free(table->buckets);
	*table = (struct st_watch_table){0};
}

struct st_watch_node *st_watch_find(const struct st_watch_table *table,
                                    const struct st_watch_node *dir, struct st_str name) {
	struct st_watch_node *node = table->buckets[bucket_of(table, dir, name)];
	while (node && (node->parent != dir || node->name_len != name.len ||
	                memcmp(node->name, name.ptr, name.len) != 0))
		node = node->chain;
	return node;
}

struct st_watch_node *st_watch_entry(struct st_watch_table *table, struct st_watch_node *dir,
                                     struct st_str name) {
	struct st_watch_node *node = st_watch_find(table, dir, name);
	if (node || name.len > UINT8_MAX)
		return node;
	/* A table that cannot grow is only slower. */
	if (table->count >= table->bucket_count)
		(void)grow(table);
	node = node_new(name);
	if (!node || !st_watch_make_dir(dir)) {
		free(node);
		return NULL;
	}
	node->parent = dir;
	node->next = dir->dir->first;
	if (node->next)
		node->next->prev = node;
	dir->dir->first = node;
	struct st_watch_node **bucket = &table->buckets[bucket_of(table, dir, name)];
	node->chain = *bucket;
	*bucket = node;
	table->count++;
	return node;
}

struct st_watch_node *st_watch_at(struct st_watch_table *table, struct st_str path) {
	struct st_watch_node *node = table->root;
	for (size_t start = 0, end; node && start < path.len; start = end + 1) {
		const char *slash = memchr(path.ptr + start, '/', path.len - start);
		end = slash ? (size_t)(slash - path.ptr) : path.len;
		node = st_watch_entry(table, node, st_str_slice(path, start, end));
	}
	return node;
}

static void unlink_node(struct st_watch_table *table, struct st_watch_node *node) {
	struct st_watch_node **place = &table->buckets[bucket_of_node(table, node)];
	while (*place != node)
		place = &(*place)->chain;
	*place = node->chain;
	if (node->prev)
		node->prev->next = node->next;
	else
		node->parent->dir->first = node->next;
	if (node->next)
		node->next->prev = node->prev;
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

void st_watch_age(struct st_watch_table *table, size_t left) {
	while (table->changes > left) {
		struct st_watch_change *change = table->oldest;
		struct st_watch_node *node = change->node;
		table->aged = change->tick;
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
			table->aged = table->tick;
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
