/* Open and close a workspace: connect the workspace with its stored state. */
#include <pthread.h>
#include <stddef.h>

#include "core/places/places.h"
#include "core/state/state.h"
#include "stet/session.h"

/* The workspace knows its state only by its hooks. */
struct opened {
	struct stet_workspace ws;
	struct st_state state;
	struct st_places places;
};

_Static_assert(offsetof(struct opened, ws) == 0, "stet_workspace_close() frees the workspace");

static void report_stored(void *data, const struct stet_session *session) {
	st_places_report(data, session);
}

static void note_call(void *data, const struct stet_session *session) {
	st_places_touch(data, session);
}

static int ask_hub(void *data, struct st_task_request *request, struct stet_error *err) {
	return st_places_tasks(data, request, err);
}

static void places_init(struct opened *opened) {
	st_places_init(&opened->places, &opened->ws);
	opened->ws.places = &opened->places;
	opened->state.observer = (struct st_state_observer){
		.data = &opened->places,
		.stored = report_stored,
		.called = note_call,
		.tasks = ask_hub,
	};
}

static void state_init(struct st_state *state, struct stet_workspace *ws) {
	st_store_init(&state->store, &ws->root, &ws->writes);
	st_repo_init(&state->repo, ws, &state->store);
	st_repo_export_init(&state->repo_export, &state->repo);
	st_usage_init(&state->usage, ws, &state->store);
	st_state_connect(state, ws);
}

int stet_workspace_open(const char *root, struct stet_workspace **out, struct stet_error *err) {
	*out = NULL;
	st_error_clear(err);
	if (!root || !*root)
		return st_fail(err, STET_E_INVALID, "The workspace needs a directory.");
	struct opened *opened = calloc(1, sizeof *opened);
	if (!opened)
		return st_fail_nomem(err);
	opened->ws.references = 1;
	int code = st_workspace_init(&opened->ws, root, err);
	state_init(&opened->state, &opened->ws);
	places_init(opened);
	if (code < 0) {
		stet_workspace_close(&opened->ws);
		return code;
	}
	*out = &opened->ws;
	return 0;
}

void stet_workspace_close(struct stet_workspace *ws) {
	if (!ws || --ws->references > 0)
		return;
	struct st_state *state = st_state_of(ws);
	st_shared_watcher_release(&ws->watcher);
	st_background_release(&ws->background);
	st_places_release(ws->places);
	st_repo_export_release(&state->repo_export);
	st_usage_release(&state->usage);
	st_store_release(&state->store);
	st_repo_release(&state->repo);
	st_workspace_release(ws);
	free(ws);
}

/* ---- the default session ---- */

static pthread_mutex_t default_lock = PTHREAD_MUTEX_INITIALIZER;
static struct stet_session *default_session;

struct stet_session *stet_session_default(struct stet_error *err) {
	st_error_clear(err);
	pthread_mutex_lock(&default_lock);
	if (!default_session) {
		struct stet_workspace *ws = NULL;
		if (stet_workspace_open(".", &ws, err) == 0 &&
		    stet_session_open(ws, NULL, &default_session, err) < 0)
			stet_workspace_close(ws);
	}
	struct stet_session *session = default_session;
	pthread_mutex_unlock(&default_lock);
	return session;
}
