/* The index lists every instruction file of a workspace, and says why stet would skip one. */
#include "core/instructions/list.h"
#include "base/array.h"
#include "fs/tree/walk.h"

/* A file whose name is one of the configured ones. */
struct hit {
	char *path;
	/* The length of its directory's path, and the rank of its name (st_instructions_rank()). */
	size_t dir_len;
	size_t rank;
	bool is_link;
};

struct hits {
	struct st_instructions_setup *setup;
	pthread_mutex_t lock;
	struct hit *list;
	size_t count;
	struct stet_instructions *notices;
};

static void hits_release(struct hits *hits) {
	for (size_t i = 0; i < hits->count; i++)
		free(hits->list[i].path);
	free(hits->list);
	pthread_mutex_destroy(&hits->lock);
}

static int push_hit(struct hits *hits, const struct hit *hit, struct stet_error *err) {
	if (!st_array_room(&hits->list, hits->count, sizeof *hits->list))
		return st_fail_nomem(err);
	hits->list[hits->count++] = *hit;
	return 0;
}

static int collect_hit(void *data, const struct st_walk_entry *entry, struct stet_error *err) {
	struct hits *hits = data;
	size_t rank = st_instructions_rank(hits->setup, entry->name);
	if (rank == hits->setup->name_count || entry->type == ST_WALK_DIR)
		return 0;
	size_t dir_len = entry->path.len - entry->name.len;
	struct hit hit = {
		.path = strndup(entry->path.ptr, entry->path.len),
		.dir_len = dir_len > 0 ? dir_len - 1 : 0,
		.rank = rank,
		.is_link = entry->type == ST_WALK_LINK,
	};
	if (!hit.path)
		return st_fail_nomem(err);
	pthread_mutex_lock(&hits->lock);
	int code = push_hit(hits, &hit, err);
	pthread_mutex_unlock(&hits->lock);
	if (code < 0)
		free(hit.path);
	return code;
}

static void on_skipped(void *data, struct st_str path, const struct stet_error *why) {
	struct hits *hits = data;
	st_auto(st_buf) text = ST_BUF_INIT;
	st_buf_adds(&text, st_quoted_str(path));
	st_buf_addf(&text, " was not searched: %s", why->message);
	pthread_mutex_lock(&hits->lock);
	/* If memory is short here, the walk is about to fail for the same reason. */
	if (!text.failed && st_instructions_list_notice(hits->notices, text.ptr, NULL) < 0)
		text.failed = true;
	pthread_mutex_unlock(&hits->lock);
}

/* Order by directory, parents first, then by rank. */
static int by_place(const void *a, const void *b) {
	const struct hit *one = a, *two = b;
	int order = st_str_cmp(st_strn(one->path, one->dir_len), st_strn(two->path, two->dir_len));
	return order ? order : (one->rank > two->rank) - (one->rank < two->rank);
}

/* The path of an earlier, usable entry with the same text; NULL if there is none. */
static const char *twin_of(const struct stet_instructions *list, const struct st_hash *hash) {
	for (size_t i = 0; i < list->count; i++) {
		const struct st_instructions_entry *entry = &list->entries[i];
		if (!entry->skipped && entry->has_hash && st_hash_eq(&entry->hash, hash))
			return entry->path;
	}
	return NULL;
}

static void set_reason(struct st_buf *why, const char *relation, const char *other) {
	st_buf_clear(why);
	st_buf_adds(why, relation);
	st_quote_name(why, st_str(other));
}

/*
 * Add one file to the list. `preferred` is the file of the same directory that
 * stet loads instead, or NULL. Returns 1 if stet would load this file.
 */
static int add_hit(struct st_instructions_setup *setup, const struct hit *hit,
                   const struct hit *preferred, struct stet_instructions *list,
                   struct stet_error *err) {
	st_auto(st_instructions_found) found = {0};
	st_auto(st_buf) why = ST_BUF_INIT;
	struct st_str path = st_strn(hit->path, strlen(hit->path));
	int look = st_instructions_lookup(setup, path, false, &found, &why, err);
	if (look < 0 || (look == ST_INSTRUCTIONS_NONE && !hit->is_link))
		return look;
	if (look == ST_INSTRUCTIONS_NONE)
		st_buf_adds(&why, "is a link that leads to no file");
	const char *twin = found.file && !preferred ? twin_of(list, &found.file->hash) : NULL;
	if (look == ST_INSTRUCTIONS_USABLE && preferred)
		set_reason(&why, "gives way to ", preferred->path);
	else if (look == ST_INSTRUCTIONS_USABLE && twin)
		set_reason(&why, "has the same text as ", twin);

	struct st_instructions_entry *entry = st_instructions_list_add(list, hit->path, found.file);
	if (!entry || why.failed)
		return st_fail_nomem(err);
	entry->change = ST_INSTRUCTIONS_LISTED;
	entry->skipped = why.len > 0 ? strdup(why.ptr) : NULL;
	if (why.len > 0 && !entry->skipped)
		return st_fail_nomem(err);
	return look == ST_INSTRUCTIONS_USABLE && !preferred;
}

static int add_hits(const struct hits *hits, struct stet_instructions *list,
                    struct stet_error *err) {
	const struct hit *preferred = NULL;
	for (size_t i = 0; i < hits->count; i++) {
		const struct hit *hit = &hits->list[i];
		if (preferred && !st_str_eq(st_strn(preferred->path, preferred->dir_len),
		                            st_strn(hit->path, hit->dir_len)))
			preferred = NULL;
		int code = add_hit(hits->setup, hit, preferred, list, err);
		if (code < 0)
			return code;
		if (code == 1)
			preferred = hit;
	}
	return 0;
}

static int fill_index(struct st_instructions_setup *setup, struct stet_instructions *list,
                      struct stet_error *err) {
	st_auto(hits) hits = {.setup = setup, .lock = PTHREAD_MUTEX_INITIALIZER, .notices = list};
	unsigned flags = st_instructions_ignore_flags(setup);
	struct st_walk walk = {
		.flags = (flags & ST_IGNORE_NO_BUILTIN ? ST_WALK_NO_BUILTIN : 0) |
	             (flags & ST_IGNORE_NO_FILES ? ST_WALK_NO_FILES : 0) | ST_WALK_IGNORED_FILES,
		.data = &hits,
		.on_entry = collect_hit,
		.skipped = on_skipped,
	};
	int code = st_walk_run(&walk, setup->root->fd, err);
	if (code < 0)
		return code;
	if (hits.count > 0)
		qsort(hits.list, hits.count, sizeof *hits.list, by_place);
	return add_hits(&hits, list, err);
}

int st_instructions_index(struct st_instructions_setup *setup, struct stet_instructions **out,
                          struct stet_error *err) {
	*out = NULL;
	struct stet_instructions *list = st_instructions_list_new();
	if (!list)
		return st_fail_nomem(err);
	int code = fill_index(setup, list, err);
	if (code < 0) {
		stet_instructions_free(list);
		return code;
	}
	*out = list;
	return 0;
}
