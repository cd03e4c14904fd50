/* Find tracked files that vanished, under other names in the tree. */
#include "base/clock.h"
#include "core/state/repo_track.h"
#include "fs/path/sys.h"
#include "fs/tree/walk.h"
#include "fs/write/temp.h"

/* How many files to stat: in a larger tree, a moved file may count as deleted. */
enum { STATS_MAX = 100000 };

/* A missing file, and where it was found. */
struct found {
	const struct st_tracked *old;
	char *path;
	struct st_version version;
};

struct search {
	struct st_repo *repo;
	/* Sorted by inode. */
	const struct st_tracked *lost;
	size_t lost_count;
	struct found *found;
	size_t count;
	size_t stats;
};

static int by_inode(const void *a, const void *b) {
	const struct st_tracked *left = a, *right = b;
	uint64_t one = left->version.stamp.ino, other = right->version.stamp.ino;
	return (one > other) - (one < other);
}

/* The missing file that has this stat; the caller compares the bytes. */
static const struct st_tracked *find_lost(const struct search *search, const struct stat *st) {
	const struct st_tracked key = {.version.stamp = st_stamp_of(st)};
	const struct st_tracked *lost =
		bsearch(&key, search->lost, search->lost_count, sizeof *search->lost, by_inode);
	return lost && st_stamp_eq_content(&key.version.stamp, &lost->version.stamp) ? lost : NULL;
}

static int add_found(struct search *search, const struct st_tracked *old, struct st_place *place,
                     const struct st_file *file, struct stet_error *err) {
	struct found *found = reallocarray(search->found, search->count + 1, sizeof *search->found);
	if (!found)
		return st_fail_nomem(err);
	search->found = found;
	found[search->count++] = (struct found){old, place->path, st_file_version(file)};
	place->path = NULL;
	return 0;
}

static int check_entry(void *data, const struct st_walk_entry *entry, struct stet_error *err) {
	struct search *search = data;
	struct stet_workspace *ws = search->repo->ws;
	struct stat st;
	if (entry->type != ST_WALK_FILE)
		return st_str_eq(entry->path, st_str(ws->writes.state_dir)) ? ST_WALK_SKIP : 0;
	if (st_temp_is_own(entry->name.ptr))
		return 0;
	if (search->count == search->lost_count || ++search->stats > STATS_MAX)
		return STET_E_LIMIT;
	if (st_retry(fstatat(entry->dir, entry->name.ptr, &st, AT_SYMLINK_NOFOLLOW)) < 0)
		return 0;
	const struct st_tracked *old = find_lost(search, &st);
	if (!old)
		return 0;
	st_auto(st_place) place = ST_PLACE_INIT;
	st_auto(st_file) file = ST_FILE_INIT;
	struct stet_error why = {0};
	int code = st_file_load_known(&ws->root, entry->path, ws->max_file, NULL, &place, &file, &why);
	if (code == STET_E_NOMEM || code == STET_E_CANCELLED)
		return st_fail(err, code, "%s", why.message);
	if (code < 0 || !st_hash_eq(&file.hash, &old->version.hash))
		return 0;
	return add_found(search, old, &place, &file, err);
}

static int store_found(struct st_store *store, void *data, struct stet_error *err) {
	const struct search *search = data;
	struct st_repo *repo = search->repo;
	int code = 0;
	for (size_t i = 0; i < search->count && code >= 0; i++) {
		const struct found *found = &search->found[i];
		code = st_repo_apply_move(repo, found->old, found->path, &found->version.stamp, err);
	}
	if (code >= 0)
		code = st_store_set(store, "updated_at", st_wall_ns(), err);
	return code;
}

int st_repo_find_moved(struct st_repo *repo, struct st_tracked *lost, size_t count,
                       struct stet_error *err) {
	struct search search = {.repo = repo, .lost = lost, .lost_count = count};
	struct st_walk walk = {.threads = 1, .data = &search, .on_entry = check_entry};
	qsort(lost, count, sizeof *lost, by_inode);
	int code = st_walk_run(&walk, repo->ws->root.fd, err);
	/* Store what was found even if the search stopped early. */
	bool stored = code != STET_E_NOMEM && search.count > 0 &&
	              st_store_do(repo->store, ST_STORE_WRITE, store_found, &search, NULL) == 0;
	for (size_t i = 0; i < search.count; i++)
		free(search.found[i].path);
	free(search.found);
	return code == STET_E_NOMEM || code == STET_E_CANCELLED ? code : stored;
}
