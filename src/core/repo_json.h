/**
 * repostate.json: the state of the work as a file that people and other
 * programs can read (spec 2), beside the store, which is the truth.
 *
 * It is written whole and renamed into place, at most once a second, by a
 * thread that begins with the first change, and when the workspace is closed.
 * The same thread wraps what was moved to the shelf (fs/shelf.h).
 * It is read when there is no store, and nothing in it is trusted: what does
 * not fit is set aside under a name that a notice tells.
 */
#ifndef STET_CORE_REPO_JSON_H
#define STET_CORE_REPO_JSON_H

#include "base/thread.h"
#include "core/repo_track.h"

#define ST_REPO_JSON "repostate.json"

/** The version of its format that this code writes. */
enum { ST_REPO_JSON_VERSION = 1 };

struct st_exporter {
	struct stet_workspace *ws;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	/** Something changed since the file was written; and ever. */
	bool dirty, used;
	bool stop;
	struct st_worker worker;
};

void st_exporter_init(struct st_exporter *exporter, struct stet_workspace *ws);

/** End the thread, and write the file if something changed. */
void st_exporter_release(struct st_exporter *exporter);

/** Something changed: the file is written within about a second. */
void st_exporter_mark(struct st_exporter *exporter);

/** Write the file now, if something changed. Returns 0, or why it cannot be written. */
[[nodiscard]] int st_exporter_flush(struct st_exporter *exporter, struct stet_error *err);

/** The state as JSON, appended to out. Returns 0 or STET_E_NOMEM. */
[[nodiscard]] int st_repo_json_add(const struct st_repo_view *view, struct st_buf *out,
                                   struct stet_error *err);

/** For st_store.import, with the workspace as data: fill a new store from the file, if there is one. */
int st_repo_json_import(struct st_store *store, void *data, struct stet_error *err);

#endif
