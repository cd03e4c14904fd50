/* The whole tree: files that no tool has touched become part of the state too. */
#include "base/clock.h"
#include "base/plural.h"
#include "base/quote.h"
#include "core/state/repo_track.h"
#include "fs/tree/walk.h"

/* Files per transaction, so that others can write in between. */
enum { BATCH = 500 };

struct found {
	char *path;
	struct st_version version;
};

struct scan {
	struct st_repo *repo;
	struct found found[BATCH];
	size_t count;
	/* What is not in the first scan of a story came since. */
	bool again;
	size_t skipped;
	struct st_buf first_skipped;
};

static int store_found(struct st_store *store, void *data, struct stet_error *err) {
	struct scan *scan = data;
	int64_t scanned, epoch;
	int code = st_store_get(store, "epoch", &epoch, err);
	if (code == 0)
		code = st_store_get(store, "scanned", &scanned, err);
	scan->again = code == 0 && scanned == epoch + 1;
	bool moved = false;
	for (size_t i = 0; i < scan->count && code >= 0; i++) {
		const struct found *found = &scan->found[i];
		code = st_repo_note_found(scan->repo, found->path, &found->version, scan->again, err);
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

static int flush(struct scan *scan, struct stet_error *err) {
	int code = st_store_do(scan->repo->store, ST_STORE_WRITE, store_found, scan, err);
	clear_found(scan);
	return code;
}

static int finish(struct st_store *store, void *data, struct stet_error *err) {
	(void)data;
	int64_t epoch;
	int code = st_store_get(store, "epoch", &epoch, err);
	return code == 0 ? st_store_set(store, "scanned", epoch + 1, err) : code;
}

static void skip(struct scan *scan, struct st_str path) {
	if (scan->skipped++ == 0)
		st_buf_adds(&scan->first_skipped, st_quoted_str(path));
}

static int on_entry(void *data, const struct st_walk_entry *entry, struct stet_error *err) {
	struct scan *scan = data;
	const struct stet_workspace *ws = scan->repo->ws;
	if (entry->type != ST_WALK_FILE)
		return st_str_eq(entry->path, st_str(ws->writes.state_dir)) ? ST_WALK_SKIP : 0;
	st_auto(st_place) place = ST_PLACE_INIT;
	st_auto(st_file) file = ST_FILE_INIT;
	struct stet_error why = {0};
	int code = st_file_load_known(&ws->root, entry->path, ws->max_file, NULL, &place, &file, &why);
	if (code == STET_E_NOMEM || code == STET_E_CANCELLED)
		return st_fail(err, code, "%s", why.message);
	if (code < 0) {
		skip(scan, entry->path);
		return 0;
	}
	scan->found[scan->count++] = (struct found){place.path, st_file_version(&file)};
	place.path = NULL;
	return scan->count == BATCH ? flush(scan, err) : 0;
}

static void not_entered(void *data, struct st_str path, const struct stet_error *why) {
	(void)why;
	skip(data, path);
}

int st_repo_scan(struct st_repo *repo, struct stet_error *err) {
	struct scan scan = {.repo = repo};
	struct st_walk walk = {
		.threads = 1, .data = &scan, .on_entry = on_entry, .skipped = not_entered};
	int code = st_walk_run(&walk, repo->ws->root.fd, err);
	if (code == 0)
		code = flush(&scan, err);
	if (code == 0)
		code = st_store_do(repo->store, ST_STORE_WRITE, finish, NULL, err);
	if (code == 0 && scan.skipped > 0)
		st_write_notice(&repo->ws->writes,
		                "The scan left out %zu %s that cannot be read, or too large; the first is "
		                "%s.",
		                scan.skipped, st_plural(scan.skipped, "entry", "entries"),
		                st_buf_cstr(&scan.first_skipped));
	clear_found(&scan);
	st_buf_release(&scan.first_skipped);
	return code;
}
