#include "stet/manager.h"

#include <stdlib.h>

#include "core/session.h"
#include "stet/watch.h"

struct stet_manager {
	struct stet_workspace *ws;
	struct stet_session *session;
	struct stet_watcher *watcher;
	bool started;
	/* How many files are watched. */
	size_t watched;
};

static void on_change(void *data, const char *path, const char *event) {
	struct stet_manager *manager = data;
	(void)event;
	st_session_outdate(manager->session, path);
}

static int make(struct stet_manager *manager, const char *root, struct stet_error *err) {
	int code = stet_workspace_open(root, &manager->ws, err);
	if (code == 0)
		code = stet_session_open(manager->ws, NULL, &manager->session, err);
	if (code == 0)
		code = stet_watcher_new(root, on_change, manager, &manager->watcher, err);
	if (code == 0)
		code = stet_watcher_set(manager->watcher, STET_WATCH_USED_ONLY, 1, err);
	return code;
}

int stet_manager_new(const char *root, struct stet_manager **out, struct stet_error *err) {
	*out = NULL;
	struct stet_manager *manager = calloc(1, sizeof *manager);
	if (!manager)
		return st_fail_nomem(err);
	int code = make(manager, root, err);
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
	stet_watcher_free(manager->watcher);
	stet_session_close(manager->session);
	stet_workspace_close(manager->ws);
	free(manager);
}

int stet_manager_initialize(struct stet_manager *manager, struct stet_error *err) {
	int code = stet_watcher_start(manager->watcher, err);
	manager->started |= code == 0;
	return code;
}

struct stet_session *stet_manager_session(struct stet_manager *manager) {
	return manager->session;
}

/* What the session forgot, since it tracks a limited number of files, need not be watched. */
static int watch_anew(struct stet_manager *manager, struct stet_error *err) {
	stet_watcher_stop(manager->watcher);
	manager->watched = 0;
	int code = stet_watcher_start(manager->watcher, err);
	const struct st_lru *files = &manager->session->tracker.files;
	for (const struct st_lru_entry *entry = st_lru_next(files, NULL); entry && code == 0;
	     entry = st_lru_next(files, entry)) {
		code = stet_watcher_use(manager->watcher, st_lru_key(entry).ptr, err);
		manager->watched++;
	}
	return code;
}

/* Watched before it is read, so that nothing is missed in between. */
static int watch_file(struct stet_manager *manager, const char *path, struct stet_error *err) {
	if (!manager->started || st_session_tracks(manager->session, path))
		return 0;
	if (manager->watched >= (size_t)2 * ST_TRACKED_MAX) {
		int code = watch_anew(manager, err);
		if (code < 0)
			return code;
	}
	manager->watched++;
	return stet_watcher_use(manager->watcher, path, err);
}

int stet_manager_track_read(struct stet_manager *manager, const char *path, const char *content,
                            size_t len, struct stet_error *err) {
	int code = watch_file(manager, path, err);
	return code < 0 ? code : stet_session_track(manager->session, path, content, len, err);
}

int stet_manager_check_for_conflict(struct stet_manager *manager, const char *path,
                                    struct stet_answer **out, struct stet_error *err) {
	return stet_session_check(manager->session, path, out, err);
}

int stet_manager_agents_for_path(struct stet_manager *manager, const char *path,
                                 struct stet_agents **out, struct stet_error *err) {
	return stet_agents_for_path(manager->session, path, out, err);
}

int stet_manager_agents_root(struct stet_manager *manager, struct stet_agents **out,
                             struct stet_error *err) {
	return stet_agents_root(manager->session, out, err);
}

void stet_manager_clear_session(struct stet_manager *manager) {
	stet_agents_clear(manager->session);
}

int stet_manager_fd(const struct stet_manager *manager) {
	return stet_watcher_fd(manager->watcher);
}

int stet_manager_dispatch(struct stet_manager *manager, int timeout_ms, struct stet_error *err) {
	return stet_watcher_dispatch(manager->watcher, timeout_ms, err);
}
