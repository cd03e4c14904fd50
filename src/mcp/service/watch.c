/* Subscriptions to resources: watching the files that a resource depends on. */
#include <sys/epoll.h>

#include "mcp/service/service_state.h"
#include "tools/host.h"
#include "mcp/protocol/protocol_state.h"
#include "base/uri.h"
#include "core/places/places.h"
#include "stet/instructions.h"
#include "stet/watch.h"

/* A file that a resource depends on. */
struct watched_file {
	struct stet_workspace *ws;
	char *relative_path;
};

/* A resource with subscribers. */
struct st_service_watch {
	struct st_service_watch *next;
	char *uri;
	size_t subscribers;
	/* It depends on all files, or on what other places report. */
	bool any, others;
	struct watched_file *files;
	size_t count;
	/* The workspaces whose instruction files it depends on. */
	struct stet_workspace **instructions;
	size_t instructions_count;
	/* An instruction file that was not watched was added or deleted. */
	bool changed;
};

static void watch_clear(struct st_service_watch *watch) {
	for (size_t i = 0; i < watch->count; i++) {
		stet_workspace_unwatch(watch->files[i].ws, watch->files[i].relative_path);
		stet_free(watch->files[i].relative_path);
	}
	for (size_t i = 0; i < watch->instructions_count; i++)
		st_workspace_unwatch_instructions(watch->instructions[i]);
	free(watch->instructions);
	free(watch->files);
	watch->instructions = NULL;
	watch->files = NULL;
	watch->instructions_count = watch->count = 0;
}

static void watch_free(struct st_service_watch *watch) {
	watch_clear(watch);
	free(watch->uri);
	free(watch);
}

/* Add a workspace's watcher to the epoll descriptor, once. */
static int poll_workspace(struct st_service *service, struct stet_workspace *ws,
                          struct stet_error *err) {
	struct epoll_event event = {.events = EPOLLIN};
	int fd = stet_workspace_watch_fd(ws, err);
	if (fd >= 0 && epoll_ctl(service->epoll, EPOLL_CTL_ADD, fd, &event) < 0 && errno != EEXIST)
		return st_fail_errno(err, errno, "Cannot watch files");
	return fd < 0 ? fd : 0;
}

/* Poll for reports of other places; outside of a repository there are none. */
static int poll_places(struct st_service *service, struct stet_workspace *ws,
                       struct stet_error *err) {
	struct epoll_event event = {.events = EPOLLIN};
	int fd = st_places_fd(ws->places, err);
	if (fd >= 0 && epoll_ctl(service->epoll, EPOLL_CTL_ADD, fd, &event) < 0 && errno != EEXIST)
		return st_fail_errno(err, errno, "Cannot watch other places");
	return fd < 0 && fd != STET_E_NOT_FOUND ? fd : 0;
}

static int add_watched_file(struct st_service_watch *watch, struct stet_workspace *ws,
                            const char *path, struct stet_error *err) {
	char *relative_path = NULL;
	struct watched_file *files = reallocarray(watch->files, watch->count + 1, sizeof *files);
	if (!files)
		return st_fail_nomem(err);
	watch->files = files;
	int code = stet_workspace_watch(ws, path, &relative_path, err);
	if (code < 0)
		return code;
	files[watch->count++] = (struct watched_file){.ws = ws, .relative_path = relative_path};
	return 0;
}

/* Watch a file in the first workspace that contains it. */
static int add_path(struct st_service *service, struct st_service_watch *watch, const char *path,
                    struct stet_error *err) {
	struct stet_workspace *ws;
	int code = STET_E_OUTSIDE;
	for (size_t i = 0; code == STET_E_OUTSIDE && (ws = stet_host_workspace(service->host, i)); i++)
		code = add_watched_file(watch, ws, path, err);
	if (code == 0)
		code = poll_workspace(service, ws, err);
	return code == STET_E_OUTSIDE || code == STET_E_KIND
	           ? st_fail(err, STET_E_NOT_FOUND, "File not found.")
	           : code;
}

static bool has_file(const struct st_service_watch *watch, const struct stet_workspace *ws,
                     const char *path) {
	bool found = false;
	for (size_t i = 0; i < watch->count && !found; i++)
		found = watch->files[i].ws == ws && strcmp(watch->files[i].relative_path, path) == 0;
	return found;
}

static int watch_for_instructions(struct st_service_watch *watch, struct stet_workspace *ws,
                                  struct stet_error *err) {
	struct stet_workspace **all = reallocarray(watch->instructions, watch->instructions_count + 1,
	                                           sizeof(struct stet_workspace *));
	if (!all)
		return st_fail_nomem(err);
	watch->instructions = all;
	int code = st_workspace_watch_instructions(ws, err);
	if (code == 0)
		all[watch->instructions_count++] = ws;
	return code;
}

/* Watch the existing instruction files, and notice new ones. */
static int watch_instructions(struct st_service *service, struct st_service_watch *watch,
                              struct stet_workspace *ws, struct stet_error *err) {
	struct stet_instructions *instructions = NULL;
	int code = watch_for_instructions(watch, ws, err);
	if (code == 0)
		code = stet_instructions_index(ws, &instructions, err);
	for (size_t i = 0; code == 0 && i < stet_instructions_count(instructions); i++)
		code = add_watched_file(watch, ws, stet_instructions_path(instructions, i), err);
	stet_instructions_free(instructions);
	return code < 0 ? code : poll_workspace(service, ws, err);
}

static int watch_resource(struct st_service *service, struct st_service_watch *watch,
                          struct st_str uri, struct stet_error *err) {
	struct stet_workspace *ws;
	int code = 0;
	st_auto(st_buf) path = ST_BUF_INIT;
	if (st_uri_path(uri, &path))
		return add_path(service, watch, path.ptr, err);
	watch->any = st_str_eq(uri, ST_STR("stet://snapshot"));
	watch->others = st_str_eq(uri, ST_STR("stet://others"));
	for (size_t i = 0; watch->others && code == 0 && (ws = stet_host_workspace(service->host, i));
	     i++)
		code = poll_places(service, ws, err);
	if (watch->others)
		return code;
	if (!watch->any && !st_str_eq(uri, ST_STR("stet://agents")))
		return st_fail(err, STET_E_NOT_FOUND, "Resource not found.");
	for (size_t i = 0; code == 0 && (ws = stet_host_workspace(service->host, i)); i++)
		code = watch->any ? poll_workspace(service, ws, err)
		                  : watch_instructions(service, watch, ws, err);
	return code;
}

static struct st_service_watch *find_watch(struct st_service *service, struct st_str uri) {
	struct st_service_watch *watch = service->watches;
	while (watch && !st_str_eq(st_str(watch->uri), uri))
		watch = watch->next;
	return watch;
}

static int new_watch(struct st_service *service, struct st_str uri, struct st_service_watch **out,
                     struct stet_error *err) {
	struct st_service_watch *watch = calloc(1, sizeof *watch);
	if (!watch)
		return st_fail_nomem(err);
	watch->uri = strndup(uri.ptr, uri.len);
	int code = watch->uri ? watch_resource(service, watch, uri, err) : st_fail_nomem(err);
	if (code < 0) {
		watch_free(watch);
		return code;
	}
	*out = watch;
	return 0;
}

/* Whether a client may know of a file. All clients may know that something changed. */
static int check_reach(struct stet_client *client, struct st_str uri, struct stet_error *err) {
	st_auto(st_buf) path = ST_BUF_INIT;
	struct stet_workspace *ws;
	bool inside = !st_uri_path(uri, &path);
	for (size_t i = 0; client && !inside && (ws = st_client_workspace(client, i)); i++) {
		st_auto(st_place) place = ST_PLACE_INIT;
		inside = st_root_locate(&ws->root, st_buf_str(&path), &place, NULL) != STET_E_OUTSIDE;
	}
	return inside ? 0 : st_fail(err, STET_E_NOT_FOUND, "File not found.");
}

int st_service_watch(struct st_mcp_service *base, void *user, struct st_str uri,
                     struct stet_error *err) {
	struct st_service *service = (struct st_service *)base;
	int code = check_reach(user, uri, err);
	if (code < 0)
		return code;
	pthread_mutex_lock(&service->lock);
	struct st_service_watch *watch = find_watch(service, uri);
	if (!watch) {
		code = new_watch(service, uri, &watch, err);
		if (code == 0) {
			watch->next = service->watches;
			service->watches = watch;
		}
	}
	if (code == 0)
		watch->subscribers++;
	pthread_mutex_unlock(&service->lock);
	return code;
}

void st_service_unwatch(struct st_mcp_service *base, struct st_str uri) {
	struct st_service *service = (struct st_service *)base;
	pthread_mutex_lock(&service->lock);
	struct st_service_watch *watch = find_watch(service, uri);
	if (watch && --watch->subscribers == 0) {
		struct st_service_watch **link = &service->watches;
		while (*link != watch)
			link = &(*link)->next;
		*link = watch->next;
		watch_free(watch);
	}
	pthread_mutex_unlock(&service->lock);
}

void st_service_watch_pause(struct st_service *service) {
	pthread_mutex_lock(&service->lock);
	for (struct st_service_watch *watch = service->watches; watch; watch = watch->next)
		watch_clear(watch);
	pthread_mutex_unlock(&service->lock);
}

/* The subscription to a file outside the new workspaces stays, without notifications. */
void st_service_watch_resume(struct st_service *service) {
	pthread_mutex_lock(&service->lock);
	for (struct st_service_watch *watch = service->watches; watch; watch = watch->next) {
		if (watch_resource(service, watch, st_str(watch->uri), NULL) < 0)
			watch_clear(watch);
	}
	pthread_mutex_unlock(&service->lock);
}

/* ---- changes ---- */

struct change {
	struct st_service *service;
	struct stet_workspace *ws;
};

static void notify_uris(struct st_service *service, const struct st_mcp_uris *uris) {
	for (size_t i = 0; service->server && i < uris->count; i++)
		st_mcp_server_updated(service->server, st_str(uris->list[i]));
}

static void on_file_change(void *data, const char *path, const char *event) {
	struct change *change = data;
	struct st_service *service = change->service;
	st_auto(st_mcp_uris) uris = {0};
	pthread_mutex_lock(&service->lock);
	for (struct st_service_watch *watch = service->watches; watch; watch = watch->next) {
		/* Out of memory: subscribers miss this notification. */
		if ((watch->any || has_file(watch, change->ws, path)) &&
		    !st_mcp_uris_add(&uris, st_str(watch->uri)))
			break;
	}
	pthread_mutex_unlock(&service->lock);
	notify_uris(service, &uris);
}

/* Watch a new instruction file itself too: it may be a link. */
static void on_instructions(void *data, const char *path, const char *event) {
	struct change *change = data;
	struct st_service *service = change->service;
	pthread_mutex_lock(&service->lock);
	for (struct st_service_watch *watch = service->watches; watch; watch = watch->next) {
		if (watch->instructions_count == 0 || has_file(watch, change->ws, path))
			continue;
		watch->changed = true;
		if (strcmp(event, "add") == 0)
			(void)add_watched_file(watch, change->ws, path, NULL);
	}
	pthread_mutex_unlock(&service->lock);
}

/* Notify subscribers of instruction files once, however many files were added. */
static void notify_changed(struct st_service *service) {
	st_auto(st_mcp_uris) uris = {0};
	pthread_mutex_lock(&service->lock);
	for (struct st_service_watch *watch = service->watches; watch; watch = watch->next) {
		if (watch->changed)
			watch->changed = !st_mcp_uris_add(&uris, st_str(watch->uri));
	}
	pthread_mutex_unlock(&service->lock);
	notify_uris(service, &uris);
}

/* Notify subscribers of other places if one of them reported something. */
static void notify_others(struct st_service *service) {
	st_auto(st_mcp_uris) uris = {0};
	struct stet_workspace *ws;
	bool arrived = false;
	pthread_mutex_lock(&service->lock);
	for (struct st_service_watch *watch = service->watches; watch; watch = watch->next) {
		for (size_t i = 0; watch->others && (ws = stet_host_workspace(service->host, i)); i++)
			arrived = st_places_arrived(ws->places) || arrived;
		if (watch->others && arrived)
			(void)st_mcp_uris_add(&uris, st_str(watch->uri));
	}
	pthread_mutex_unlock(&service->lock);
	notify_uris(service, &uris);
}

void st_service_dispatch(struct st_service *service) {
	struct stet_workspace *ws;
	for (size_t i = 0; (ws = stet_host_workspace(service->host, i)); i++) {
		struct change change = {.service = service, .ws = ws};
		const struct st_shared_watcher_report report = {on_file_change, on_instructions, &change};
		/* The root of the workspace was deleted: it reports no more changes. */
		if (ws->watcher.on && st_shared_watcher_dispatch(&ws->watcher, 0, &report, NULL) < 0)
			epoll_ctl(service->epoll, EPOLL_CTL_DEL, stet_workspace_watch_fd(ws, NULL), NULL);
	}
	notify_changed(service);
	notify_others(service);
}
