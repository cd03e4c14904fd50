/**
 * repostate.json: the state of the work as a file that people and other
 * programs can read (spec 2), beside the store, which is the truth.
 *
 * It is written whole and renamed into place, at most once a second, by the
 * workspace's background worker, and when the workspace is closed.
 * It is read when there is no store, and nothing in it is trusted: what does
 * not fit is set aside under a name that a notice tells.
 */
#ifndef STET_CORE_STATE_REPO_JSON_H
#define STET_CORE_STATE_REPO_JSON_H

#include "base/background.h"
#include "core/state/repo_track.h"

#define ST_REPO_JSON "repostate.json"

/** The version of its format that this code writes. */
enum { ST_REPO_JSON_VERSION = 1 };

/** The file is written this long after a change, with all others that came meanwhile. */
enum { ST_REPO_EXPORT_MS = 1000 };

struct st_repo_export {
	struct st_repo *repo;
	/** Something changed since the file was written. */
	_Atomic bool dirty;
	struct st_background_task task;
	/** The task could not write the file, and a notice said so. */
	bool failed;
};

void st_repo_export_init(struct st_repo_export *export, struct st_repo *repo);

/** Write the file if something changed. The background worker has ended before. */
void st_repo_export_release(struct st_repo_export *export);

/** Something changed: the file is written within about a second. */
static inline void st_repo_export_mark(struct st_repo_export *export) {
	export->dirty = true;
	st_background_schedule(&export->repo->ws->background, &export->task, ST_REPO_EXPORT_MS);
}

/** Write the file now, if something changed. Returns 0, or why it cannot be written. */
[[nodiscard]] int st_repo_export_flush(struct st_repo_export *export, struct stet_error *err);

/** The state as JSON, appended to out. Returns 0 or STET_E_NOMEM. */
[[nodiscard]] int st_repo_json_add(const struct st_repo_status *status, struct st_buf *out,
                                   struct stet_error *err);

/** For st_store.import, with a struct st_repo as data: fill a new store from the file, if there is one. */
int st_repo_json_import(struct st_store *store, void *data, struct stet_error *err);

#endif
