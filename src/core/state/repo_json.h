/**
 * repostate.json: a copy of the state of the work that people and other programs
 * can read. The store has the truth.
 *
 * The workspace's background worker writes the file about a second after a
 * change, and renames it into place; closing the workspace writes it too, and so
 * does every snapshot. Each of them first compares every file with the disk, so
 * that it is true at that moment. A new
 * store imports it. It is not trusted: a file that does not fit is renamed, and a
 * notice says so.
 */
#ifndef STET_CORE_STATE_REPO_JSON_H
#define STET_CORE_STATE_REPO_JSON_H

#include "base/thread.h"
#include "core/state/repo_track.h"

#define ST_REPO_JSON "repostate.json"

/** The version of the format. */
enum { ST_REPO_JSON_VERSION = 1 };

/** How long after a change the file is written, with the changes in between. */
enum { ST_REPO_EXPORT_MS = 1000 };

struct st_repo_export {
	struct st_repo *repo;
	/** The state changed since the file was written. */
	_Atomic bool dirty;
	struct st_background_task task;
	/** The last attempt failed, and a notice said so. */
	bool failed;
};

void st_repo_export_init(struct st_repo_export *export, struct st_repo *repo);

/** Write the file if the state changed. The background worker must have ended. */
void st_repo_export_release(struct st_repo_export *export);

/** Have the file written within about a second. */
static inline void st_repo_export_mark(struct st_repo_export *export) {
	export->dirty = true;
	st_background_schedule(&export->repo->ws->background, &export->task, ST_REPO_EXPORT_MS);
}

/** Write the file now if the state changed. Returns 0, or why it cannot be written. */
[[nodiscard]] int st_repo_export_flush(struct st_repo_export *export, struct stet_error *err);

/**
 * Write the file now unless it is newer than the database: another process may
 * have been killed before it wrote the file. For a caller that has just compared
 * the state with the disk; a failure adds a notice.
 */
void st_repo_export_refresh(struct st_repo_export *export);

/** Append the state as JSON. Returns 0 or STET_E_NOMEM. */
[[nodiscard]] int st_repo_json_add(const struct st_repo_status *status, struct st_buf *out,
                                   struct stet_error *err);

/** The function for st_store.import, with a struct st_repo as data: fill a new store from the file, if it exists. */
int st_repo_json_import(struct st_store *store, void *data, struct stet_error *err);

#endif
