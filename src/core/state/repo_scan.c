/* Scan the whole tree, and track files that no tool has touched. */
#include "base/clock.h"
#include "base/plural.h"
#include "base/quote.h"
#include "core/state/baseline.h"
#include "core/state/repo_track.h"
#include "fs/tree/walk.h"
#include "fs/write/temp.h"

/* Files per transaction, so that other processes can write in between. */
enum { BATCH = 500 };

struct found {
	char *path;
	struct st_version version;
};

struct scan {
	struct st_repo *repo;
	struct found found[BATCH];
	size_t count;
	size_t skipped;
	struct st_buf first_skipped;
};

static int store_found(struct st_store *store, void *data, struct stet_error *err) {
	struct scan *scan = data;
	bool moved = false;
	int code = 0;
	for (size_t i = 0; i < scan->count && code >= 0; i++) {
		code = st_repo_add_found(scan->repo, scan->found[i].path, &scan->found[i].version, err);
		moved |= code == 1;
	}
	if (code >= 0 && moved)
		code = st_store_set(store, "updated_at", st_wall_ns(), err);
	return code < 0 ? code : 0;
}

static void clear_found(struct scan *scan) {
	while (scan->count > 0)
		free(scan->found[--scan->count].path);
}

static int flush_batch(struct scan *scan, struct stet_error *err) {
	int code = st_store_do(scan->repo->store, ST_STORE_WRITE, store_found, scan, err);
	clear_found(scan);
	return code;
}

static int has_baseline(struct st_store *store, void *data, struct stet_error *err) {
	(void)data;
	return st_baseline_exists(store, err);
}

static int store_baseline(struct st_store *store, void *data, struct stet_error *err) {
	int code = st_baseline_exists(store, err);
	return code == 0 ? st_baseline_store(store, data, err) : code;
}

/* Files that the first scan does not find did not exist. */
static int make_baseline(struct st_repo *repo, struct stet_error *err) {
	st_auto(st_baseline) baseline = {0};
	int code = st_store_do(repo->store, ST_STORE_READ, has_baseline, NULL, err);
	if (code != 0)
		return code < 0 ? code : 0;
	code = st_baseline_collect(repo->ws, &baseline, err);
	if (code == 0)
		code = st_store_do(repo->store, ST_STORE_WRITE, store_baseline, &baseline, err);
	return code < 0 ? code : 0;
}

static void count_skipped(struct scan *scan, struct st_str path) {
	if (scan->skipped++ == 0)
		st_buf_adds(&scan->first_skipped, st_quoted_str(path));
}

static int scan_entry(void *data, const struct st_walk_entry *entry, struct stet_error *err) {
	struct scan *scan = data;
	const struct stet_workspace *ws = scan->repo->ws;
	if (entry->type != ST_WALK_FILE)
		return st_str_eq(entry->path, st_str(ws->writes.state_dir)) ? ST_WALK_SKIP : 0;
	if (st_temp_is_own(entry->name.ptr))
		return 0;
	st_auto(st_place) place = ST_PLACE_INIT;
	st_auto(st_file) file = ST_FILE_INIT;
	struct stet_error why = {0};
	int code = st_file_load_known(&ws->root, entry->path, ws->max_file, NULL, &place, &file, &why);
	if (code == STET_E_NOMEM || code == STET_E_CANCELLED)
		return st_fail(err, code, "%s", why.message);
	if (code < 0) {
		count_skipped(scan, entry->path);
		return 0;
	}
	scan->found[scan->count++] = (struct found){place.path, st_file_version(&file)};
	place.path = NULL;
	return scan->count == BATCH ? flush_batch(scan, err) : 0;
}

static void on_skipped(void *data, struct st_str path, const struct stet_error *why) {
	(void)why;
	count_skipped(data, path);
}

int st_repo_scan(struct st_repo *repo, struct stet_error *err) {
	struct scan scan = {.repo = repo};
	struct st_walk walk = {
		.threads = 1, .data = &scan, .on_entry = scan_entry, .skipped = on_skipped};
	int code = make_baseline(repo, err);
	if (code == 0)
		code = st_walk_run(&walk, repo->ws->root.fd, err);
	if (code == 0)
		code = flush_batch(&scan, err);
	if (code == 0 && scan.skipped > 0)
		st_write_notice(&repo->ws->writes,
		                "The scan skipped %zu %s, unreadable or too large; the first is %s.",
		                scan.skipped, st_plural(scan.skipped, "entry", "entries"),
		                st_buf_cstr(&scan.first_skipped));
	clear_found(&scan);
	st_buf_release(&scan.first_skipped);
	return code;
}
