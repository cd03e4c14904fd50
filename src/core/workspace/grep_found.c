#include "core/workspace/grep_found.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/cancel.h"

/* How many files to keep at most, and how many bytes of paths. */
#define FILES_MAX ((size_t)1'000'000)
#define PATH_BYTES_MAX ((size_t)128 << 20)

/* The members of an item that few files have. */
struct rarity {
	const char *why;
	struct st_grep_hits *hits;
};

/* A file, in few bytes: there may be as many as the tree has. */
struct st_grep_found_item {
	uint32_t path;
	uint32_t lines;
	/* NULL for most. */
	struct rarity *rarity;
};

void st_grep_hits_free(struct st_grep_hits *hits) {
	if (hits)
		free(hits->list);
	free(hits);
}

static const char *path_of(const struct st_grep_found *found,
                           const struct st_grep_found_item *item) {
	return found->paths.ptr + item->path;
}

static bool is_complete(const struct st_grep_found_item *item) {
	return !item->rarity || !item->rarity->why;
}

static void item_release(struct st_grep_found_item *item) {
	if (item->rarity)
		st_grep_hits_free(item->rarity->hits);
	free(item->rarity);
}

struct st_grep_file st_grep_found_at(const struct st_grep_found *found, size_t i) {
	const struct st_grep_found_item *item = &found->items[i];
	const struct rarity *rarity = item->rarity;
	return (struct st_grep_file){
		.path = path_of(found, item),
		.lines = item->lines,
		.why = rarity ? rarity->why : NULL,
		.hits = rarity ? rarity->hits : NULL,
	};
}

/* ---- the order ---- */

/* A slash sorts before all other characters, so that a directory's contents follow it. */
static int rank(char c) {
	return c == '\0' ? 0 : c == '/' ? 1 : 1 + (unsigned char)c;
}

static int compare_paths(const char *one, const char *two) {
	size_t same = 0;
	while (one[same] && one[same] == two[same])
		same++;
	/* Paths may be long and share most of their length: count this as work. */
	st_cancel_progress(same);
	return rank(one[same]) - rank(two[same]);
}

static int by_path(const void *a, const void *b, void *found) {
	return compare_paths(path_of(found, a), path_of(found, b));
}

static void forget_double(struct st_grep_found *found, struct st_grep_found_item *item) {
	found->matched -= item->lines > 0;
	found->lines -= item->lines;
	found->complete -= is_complete(item);
	item_release(item);
}

void st_grep_found_sort(struct st_grep_found *found) {
	struct st_grep_found_item *items = found->items;
	size_t unique = 0;
	if (found->count > 1)
		qsort_r(items, found->count, sizeof *items, by_path, found);
	for (size_t i = 0; i < found->count; i++) {
		if (unique > 0 &&
		    strcmp(path_of(found, &items[unique - 1]), path_of(found, &items[i])) == 0)
			forget_double(found, &items[i]);
		else
			items[unique++] = items[i];
	}
	found->count = unique;
}

/* ---- the first ones ---- */

/* Whether the list is an eighth longer than it has to be: so sorting it takes little of the time. */
static bool is_long(const struct st_grep_found *found) {
	return found->most > 0 && found->complete > found->most + found->most / 8 + 8;
}

/* Move an item to another place, with its path. */
static void move_item(struct st_grep_found *found, size_t from, size_t to, struct st_buf *paths) {
	struct st_grep_found_item *item = &found->items[to];
	*item = found->items[from];
	const char *path = path_of(found, item);
	item->path = (uint32_t)paths->len;
	st_buf_add(paths, st_strn(path, strlen(path) + 1));
}

/* Keep only the first ones. */
static int keep_first(struct st_grep_found *found, struct stet_error *err) {
	st_auto(st_buf) paths = ST_BUF_INIT;
	size_t count = 0, complete = 0;
	/* Reserve for all: adding cannot fail then. */
	if (!st_buf_reserve(&paths, found->paths.len))
		return st_fail_nomem(err);
	st_grep_found_sort(found);
	for (size_t i = 0; i < found->count; i++) {
		bool is_wanted = !is_complete(&found->items[i]);
		if (!is_wanted && ++complete <= found->most) {
			is_wanted = true;
			found->last = paths.len;
		}
		if (is_wanted)
			move_item(found, i, count++, &paths);
		else
			item_release(&found->items[i]);
	}
	st_buf_move(&found->paths, &paths);
	found->count = count;
	found->complete = complete < found->most ? complete : found->most;
	/* If files were there twice, there may be too few now. */
	found->has_last = complete >= found->most;
	return 0;
}

/* Whether a file is one of the first. */
static bool is_first(const struct st_grep_found *found, const struct st_grep_file *file) {
	return file->why || !found->has_last ||
	       compare_paths(file->path, found->paths.ptr + found->last) < 0;
}

/* The file's hits are the item's then. */
static int make_item(struct st_grep_found *found, struct st_grep_file *file,
                     struct st_grep_found_item *item, struct stet_error *err) {
	*item = (struct st_grep_found_item){
		.path = (uint32_t)found->paths.len,
		.lines = file->lines < UINT32_MAX ? (uint32_t)file->lines : UINT32_MAX,
	};
	if (!file->why && !file->hits)
		return 0;
	item->rarity = malloc(sizeof *item->rarity);
	if (!item->rarity)
		return st_fail_nomem(err);
	*item->rarity = (struct rarity){.why = file->why, .hits = file->hits};
	file->hits = NULL;
	return 0;
}

static int keep_file(struct st_grep_found *found, struct st_grep_file *file,
                     struct stet_error *err) {
	struct st_grep_found_item item;
	if (!st_array_room(&found->items, found->count, sizeof *found->items) ||
	    !st_buf_reserve(&found->paths, strlen(file->path) + 1))
		return st_fail_nomem(err);
	int code = make_item(found, file, &item, err);
	if (code < 0)
		return code;
	st_buf_add(&found->paths, st_strn(file->path, strlen(file->path) + 1));
	found->items[found->count++] = item;
	found->complete += is_complete(&item);
	return is_long(found) ? keep_first(found, err) : 0;
}

int st_grep_found_add(struct st_grep_found *found, struct st_grep_file *file,
                      struct stet_error *err) {
	int code = 0;
	bool wanted = is_first(found, file);
	found->cut |= wanted && (found->count >= FILES_MAX ||
	                         found->paths.len + strlen(file->path) >= PATH_BYTES_MAX);
	if (wanted && !found->cut)
		code = keep_file(found, file, err);
	st_grep_hits_free(file->hits);
	file->hits = NULL;
	if (!found->cut && code == 0) {
		found->matched += file->lines > 0;
		found->lines += file->lines;
	}
	return code;
}

void st_grep_found_release(struct st_grep_found *found) {
	for (size_t i = 0; i < found->count; i++)
		item_release(&found->items[i]);
	free(found->items);
	st_buf_release(&found->paths);
	*found = (struct st_grep_found){0};
}
