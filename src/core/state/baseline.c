#include "core/state/baseline.h"

#include <stdlib.h>

#include "fs/path/sys.h"
#include "fs/tree/walk.h"
#include "fs/write/temp.h"

/* How many files with a racy stamp the scan reads: more are rare, and each takes time. */
enum { READS_MAX = 1000 };

void st_baseline_release(struct st_baseline *baseline) {
	for (size_t i = 0; i < baseline->count; i++) {
		void *path = (void *)(uintptr_t)baseline->files[i].path;
		free(path);
	}
	free(baseline->files);
	*baseline = (struct st_baseline){0};
}

/* ---- collecting ---- */

struct collect {
	struct stet_workspace *ws;
	struct st_baseline *baseline;
	size_t reads;
};

static struct st_tracked *add_file(struct st_baseline *baseline, struct st_str path,
                                   struct stet_error *err) {
	if (baseline->count == baseline->cap) {
		size_t cap = baseline->cap ? baseline->cap * 2 : 256;
		struct st_tracked *files = reallocarray(baseline->files, cap, sizeof *files);
		if (!files) {
			(void)st_fail_nomem(err);
			return NULL;
		}
		baseline->files = files;
		baseline->cap = cap;
	}
	struct st_tracked *file = &baseline->files[baseline->count];
	*file = (struct st_tracked){.path = strndup(path.ptr, path.len)};
	if (!file->path) {
		(void)st_fail_nomem(err);
		return NULL;
	}
	baseline->count++;
	return file;
}

/* Read a file whose stamp is racy. If that fails, its bytes stay unknown. */
static int read_racy(struct collect *collect, struct st_tracked *file, struct stet_error *err) {
	struct stet_workspace *ws = collect->ws;
	st_auto(st_place) place = ST_PLACE_INIT;
	st_auto(st_file) now = ST_FILE_INIT;
	struct stet_error why = {0};
	int code =
		st_file_load_known(&ws->root, st_str(file->path), ws->max_file, NULL, &place, &now, &why);
	if (code == STET_E_NOMEM || code == STET_E_CANCELLED)
		return st_fail(err, code, "%s", why.message);
	if (code == 0)
		file->version = st_file_version(&now);
	return 0;
}

static int collect_entry(void *data, const struct st_walk_entry *entry, struct stet_error *err) {
	struct collect *collect = data;
	struct stat st;
	if (entry->type != ST_WALK_FILE)
		return st_str_eq(entry->path, st_str(collect->ws->writes.state_dir)) ? ST_WALK_SKIP : 0;
	if (st_temp_is_own(entry->name.ptr) ||
	    st_retry(fstatat(entry->dir, entry->name.ptr, &st, AT_SYMLINK_NOFOLLOW)) < 0)
		return 0;
	if (collect->baseline->count == ST_BASELINE_MAX)
		return STET_E_LIMIT;
	struct st_tracked *file = add_file(collect->baseline, entry->path, err);
	if (!file)
		return STET_E_NOMEM;
	file->version.stamp = st_stamp_take(-1, &st);
	if (file->version.stamp.racy && collect->reads++ < READS_MAX)
		return read_racy(collect, file, err);
	return 0;
}

int st_baseline_collect(struct stet_workspace *ws, struct st_baseline *baseline,
                        struct stet_error *err) {
	struct collect collect = {.ws = ws, .baseline = baseline};
	struct st_walk walk = {.threads = 1, .data = &collect, .on_entry = collect_entry};
	int code = st_walk_run(&walk, ws->root.fd, err);
	baseline->complete = code == 0;
	return code == STET_E_LIMIT ? 0 : code;
}

/* ---- storing and finding ---- */

int st_baseline_store(struct st_store *store, const struct st_baseline *baseline,
                      struct stet_error *err) {
	int64_t epoch;
	int code = st_store_baseline_clear(store, err);
	for (size_t i = 0; i < baseline->count && code == 0 && baseline->complete; i++)
		code = st_store_baseline_add(store, &baseline->files[i], err);
	if (code == 0)
		code = st_store_get(store, "epoch", &epoch, err);
	bool usable = code == 0 && baseline->complete && epoch < INT64_MAX;
	return code == 0 ? st_store_set(store, "scanned", usable ? epoch + 1 : 0, err) : code;
}

int st_baseline_exists(struct st_store *store, struct stet_error *err) {
	int64_t epoch, scanned;
	int code = st_store_get(store, "epoch", &epoch, err);
	if (code == 0)
		code = st_store_get(store, "scanned", &scanned, err);
	/* A database may hold any number. */
	return code < 0 ? code : scanned > 0 && scanned - 1 == epoch;
}

int st_baseline_find(struct st_store *store, const char *path, const struct st_version *now,
                     struct st_version *base, struct stet_error *err) {
	struct st_version then;
	int code = st_baseline_exists(store, err);
	if (code <= 0)
		return code;
	code = st_store_baseline_get(store, path, &then, err);
	if (code < 0)
		return code;
	/* The scan leaves out ignored files: it does not know whether they were there. */
	if (code == 0) {
		if (st_ignore_path(store->root->fd, st_str(path), false, 0, NULL) == 0)
			*base = (struct st_version){0};
		return 0;
	}
	if (then.exists)
		*base = then;
	else if (now->exists && st_stamp_eq_content(&then.stamp, &now->stamp))
		*base = *now;
	else if (now->exists && now->stamp.size != then.stamp.size)
		*base = st_version_of_size(then.stamp.size);
	else
		*base = st_version_unknown();
	return 0;
}
