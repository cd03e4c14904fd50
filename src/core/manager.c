/* A session and a watcher as one object: what the watcher sees makes the session's record stale. */
#include "stet/manager.h"

#include <stdlib.h>

#include "core/session/session.h"
#include "stet/watch.h"

struct stet_manager {
	struct stet_workspace *ws;
	struct stet_session *session;
	stet_watch_callback *callback;
	void *data;
	bool started;
};

static void on_change(void *data, const char *path, const char *event) {
	struct stet_manager *manager = data;
	st_session_mark_stale(manager->session, path);
	if (manager->callback)
		manager->callback(manager->data, path, event);
}

int stet_manager_new(const char *root, struct stet_manager **out, struct stet_error *err) {
	*out = NULL;
	st_error_clear(err);
	struct stet_manager *manager = calloc(1, sizeof *manager);
	if (!manager)
		return st_fail_nomem(err);
	int code = stet_workspace_open(root, &manager->ws, err);
	if (code == 0)
		code = stet_session_open(manager->ws, NULL, &manager->session, err);
	if (code < 0) {
		stet_manager_free(manager);
		return code;
	}
	*out = manager;
	return 0;
}

void stet_manager_free(struct stet_manager *manager) {
	if (!manager)
		return;
	stet_session_close(manager->session);
	stet_workspace_close(manager->ws);
	free(manager);
}

int stet_manager_initialize(struct stet_manager *manager, struct stet_error *err) {
	if (st_begin_call(manager, err) < 0)
		return STET_E_INVALID;
	if (manager->started)
		return st_fail(err, STET_E_INVALID, "The manager is initialized already.");
	int fd = stet_workspace_watch_fd(manager->ws, err);
	manager->started = fd >= 0;
	return fd < 0 ? fd : 0;
}

void stet_manager_stop(struct stet_manager *manager) {
	if (manager)
		manager->started = false;
}

void stet_manager_on_change(struct stet_manager *manager, stet_watch_callback *callback,
                            void *data) {
	if (!manager)
		return;
	manager->callback = callback;
	manager->data = data;
}

void stet_manager_wake(struct stet_manager *manager) {
	if (manager)
		stet_workspace_wake(manager->ws);
}

struct stet_session *stet_manager_session(struct stet_manager *manager) {
	if (!manager)
		return NULL;
	return manager->session;
}

/* Watch the file before reading it, so that no change in between is missed. */
int stet_manager_track_read(struct stet_manager *manager, const char *path, const char *content,
                            size_t len, struct stet_error *err) {
	if (st_begin_call(manager, err) < 0)
		return STET_E_INVALID;
	st_auto(st_place) place = ST_PLACE_INIT;
	const char *relative_path;
	int code = st_root_relative_path(&manager->ws->root, path, &place, &relative_path, err);
	if (code < 0)
		return code;
	st_shared_watcher_use(&manager->ws->watcher, relative_path);
	return stet_session_track(manager->session, path, content, len, err);
}

int stet_manager_check_for_conflict(struct stet_manager *manager, const char *path,
                                    struct stet_answer **out, struct stet_error *err) {
	if (st_begin_call(manager, err) < 0)
		return STET_E_INVALID;
	return stet_session_check(manager->session, path, out, err);
}

int stet_manager_instructions_for_path(struct stet_manager *manager, const char *path,
                                       struct stet_instructions **out, struct stet_error *err) {
	if (st_begin_call(manager, err) < 0)
		return STET_E_INVALID;
	return stet_instructions_for_path(manager->session, path, out, err);
}

int stet_manager_instructions_root(struct stet_manager *manager, struct stet_instructions **out,
                                   struct stet_error *err) {
	if (st_begin_call(manager, err) < 0)
		return STET_E_INVALID;
	return stet_instructions_root(manager->session, out, err);
}

void stet_manager_clear_session(struct stet_manager *manager) {
	if (!manager)
		return;
	stet_instructions_clear(manager->session);
}

int stet_manager_fd(const struct stet_manager *manager) {
	if (!manager)
		return -1;
	return manager->started ? stet_workspace_watch_fd(manager->ws, NULL) : -1;
}

int stet_manager_dispatch(struct stet_manager *manager, int timeout_ms, struct stet_error *err) {
	if (st_begin_call(manager, err) < 0)
		return STET_E_INVALID;
	if (!manager->started)
		return st_fail(err, STET_E_INVALID, "The manager is not initialized.");
	return stet_workspace_dispatch(manager->ws, timeout_ms, on_change, manager, err);
}
