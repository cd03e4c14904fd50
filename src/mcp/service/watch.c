/* Subscriptions to files and to what is made of them, fed by the watchers of the workspaces. */
#include <sys/epoll.h>

#include "mcp/service/service_state.h"
#include "mcp/protocol/protocol_state.h"
#include "base/uri.h"
#include "stet/instructions.h"
#include "stet/watch.h"

/* A file that is watched for a resource. */
struct watched {
	struct stet_workspace *ws;
	char *relative_path;
};

/* A resource that somebody subscribed to. */
struct st_service_watch {
	struct st_service_watch *next;
	char *uri;
	size_t subscribers;
	/* Any change changes it. */
	bool any;
	struct watched *files;
	size_t count;
	/* The workspaces that tell of instruction files for it. */
	struct stet_workspace **instructions;
	size_t agents_count;
	/* One of them came, or went before it was known. */
	bool changed;
};

/* Let go of the files. */
static void watch_clear(struct st_service_watch *watch) {
	for (size_t i = 0; i < watch->count; i++) {
		stet_workspace_unwatch(watch->files[i].ws, watch->files[i].relative_path);
		stet_free(watch->files[i].relative_path);
	}
	for (size_t i = 0; i < watch->agents_count; i++)
		st_workspace_unwatch_instructions(watch->instructions[i]);
	free(watch->instructions);
	free(watch->files);
	watch->instructions = NULL;
	watch->files = NULL;
	watch->agents_count = watch->count = 0;
}

static void watch_free(struct st_service_watch *watch) {
	watch_clear(watch);
	free(watch->uri);
	free(watch);
}

/* Have the workspace's watcher wake us, from the first time on. */
static int listen_to(struct st_service *service, struct stet_workspace *ws,
                     struct stet_error *err) {
	struct epoll_event event = {.events = EPOLLIN};
	int fd = stet_workspace_watch_fd(ws, err);
	if (fd >= 0 && epoll_ctl(service->epoll, EPOLL_CTL_ADD, fd, &event) < 0 && errno != EEXIST)
		return st_fail_errno(err, errno, "Files cannot be watched");
	return fd < 0 ? fd : 0;
}

static int add_file(struct st_service_watch *watch, struct stet_workspace *ws, const char *path,
                    struct stet_error *err) {
	char *relative_path = NULL;
	struct watched *files = reallocarray(watch->files, watch->count + 1, sizeof *files);
	if (!files)
		return st_fail_nomem(err);
	watch->files = files;
	int code = stet_workspace_watch(ws, path, &relative_path, err);
	if (code < 0)
		return code;
	files[watch->count++] = (struct watched){.ws = ws, .relative_path = relative_path};
	return 0;
}

/* The file of a URI, in the first workspace that it is not outside of. */
static int add_path(struct st_service *service, struct st_service_watch *watch, const char *path,
                    struct stet_error *err) {
	struct stet_workspace *ws;
	int code = STET_E_OUTSIDE;
	for (size_t i = 0; code == STET_E_OUTSIDE && (ws = stet_host_workspace(service->host, i)); i++)
		code = add_file(watch, ws, path, err);
	if (code == 0)
		code = listen_to(service, ws, err);
	return code == STET_E_OUTSIDE || code == STET_E_KIND
	           ? st_fail(err, STET_E_NOT_FOUND, "There is no such file.")
	           : code;
}

static bool has_file(const struct st_service_watch *watch, const struct stet_workspace *ws,
                     const char *path) {
	bool found = false;
	for (size_t i = 0; i < watch->count && !found; i++)
		found = watch->files[i].ws == ws && strcmp(watch->files[i].relative_path, path) == 0;
	return found;
}

static int watch_for_agents(struct st_service_watch *watch, struct stet_workspace *ws,
                            struct stet_error *err) {
	struct stet_workspace **all =
		reallocarray(watch->instructions, watch->agents_count + 1, sizeof(struct stet_workspace *));
	if (!all)
		return st_fail_nomem(err);
	watch->instructions = all;
	int code = st_workspace_watch_instructions(ws, err);
	if (code == 0)
		all[watch->agents_count++] = ws;
	return code;
}

/* Every instruction file that is there now, and those that come. */
static int add_agents(struct st_service *service, struct st_service_watch *watch,
                      struct stet_workspace *ws, struct stet_error *err) {
	struct stet_instructions *instructions = NULL;
	int code = watch_for_agents(watch, ws, err);
	if (code == 0)
		code = stet_instructions_index(ws, &instructions, err);
	for (size_t i = 0; code == 0 && i < stet_instructions_count(instructions); i++)
		code = add_file(watch, ws, stet_instructions_path(instructions, i), err);
	stet_instructions_free(instructions);
	return code < 0 ? code : listen_to(service, ws, err);
}

static int fill(struct st_service *service, struct st_service_watch *watch, struct st_str uri,
                struct stet_error *err) {
	struct stet_workspace *ws;
	int code = 0;
	st_auto(st_buf) path = ST_BUF_INIT;
	if (st_uri_path(uri, &path))
		return add_path(service, watch, path.ptr, err);
	watch->any = st_str_eq(uri, ST_STR("stet://snapshot"));
	if (!watch->any && !st_str_eq(uri, ST_STR("stet://agents")))
		return st_fail(err, STET_E_NOT_FOUND, "There is no such resource.");
	for (size_t i = 0; code == 0 && (ws = stet_host_workspace(service->host, i)); i++)
		code = watch->any ? listen_to(service, ws, err) : add_agents(service, watch, ws, err);
	return code;
}

static struct st_service_watch *find(struct st_service *service, struct st_str uri) {
	struct st_service_watch *watch = service->watches;
	while (watch && !st_str_eq(st_str(watch->uri), uri))
		watch = watch->next;
	return watch;
}

static int make(struct st_service *service, struct st_str uri, struct st_service_watch **out,
                struct stet_error *err) {
	struct st_service_watch *watch = calloc(1, sizeof *watch);
	if (!watch)
		return st_fail_nomem(err);
	watch->uri = strndup(uri.ptr, uri.len);
	int code = watch->uri ? fill(service, watch, uri, err) : st_fail_nomem(err);
	if (code < 0) {
		watch_free(watch);
		return code;
	}
	*out = watch;
	return 0;
}

int st_service_watch(struct st_mcp_service *base, struct st_str uri, struct stet_error *err) {
	struct st_service *service = (struct st_service *)base;
	int code = 0;
	pthread_mutex_lock(&service->lock);
	struct st_service_watch *watch = find(service, uri);
	if (!watch) {
		code = make(service, uri, &watch, err);
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
	struct st_service_watch *watch = find(service, uri);
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

/* A file that is in no workspace any more stays subscribed to, and does not change. */
void st_service_watch_resume(struct st_service *service) {
	pthread_mutex_lock(&service->lock);
	for (struct st_service_watch *watch = service->watches; watch; watch = watch->next) {
		if (fill(service, watch, st_str(watch->uri), NULL) < 0)
			watch_clear(watch);
	}
	pthread_mutex_unlock(&service->lock);
}

/* ---- changes ---- */

struct change {
	struct st_service *service;
	struct stet_workspace *ws;
};

static void tell(struct st_service *service, const struct st_mcp_uris *uris) {
	for (size_t i = 0; service->server && i < uris->count; i++)
		st_mcp_server_updated(service->server, st_str(uris->list[i]));
}

static void on_change(void *data, const char *path, const char *event) {
	struct change *change = data;
	struct st_service *service = change->service;
	st_auto(st_mcp_uris) uris = {0};
	pthread_mutex_lock(&service->lock);
	for (struct st_service_watch *watch = service->watches; watch; watch = watch->next) {
		/* What cannot be told now for lack of memory, subscribers find when they look. */
		if ((watch->any || has_file(watch, change->ws, path)) &&
		    !st_mcp_uris_add(&uris, st_str(watch->uri)))
			break;
	}
	pthread_mutex_unlock(&service->lock);
	tell(service, &uris);
}

/* An instruction file. One that is new is watched by itself from now on, as links need. */
static void on_agents(void *data, const char *path, const char *event) {
	struct change *change = data;
	struct st_service *service = change->service;
	pthread_mutex_lock(&service->lock);
	for (struct st_service_watch *watch = service->watches; watch; watch = watch->next) {
		if (watch->agents_count == 0 || has_file(watch, change->ws, path))
			continue;
		watch->changed = true;
		if (strcmp(event, "add") == 0)
			(void)add_file(watch, change->ws, path, NULL);
	}
	pthread_mutex_unlock(&service->lock);
}

/* Once, however many instruction files came. */
static void tell_changes(struct st_service *service) {
	st_auto(st_mcp_uris) uris = {0};
	pthread_mutex_lock(&service->lock);
	for (struct st_service_watch *watch = service->watches; watch; watch = watch->next) {
		if (watch->changed)
			watch->changed = !st_mcp_uris_add(&uris, st_str(watch->uri));
	}
	pthread_mutex_unlock(&service->lock);
	tell(service, &uris);
}

void st_service_dispatch(struct st_service *service) {
	struct stet_workspace *ws;
	for (size_t i = 0; (ws = stet_host_workspace(service->host, i)); i++) {
		struct change change = {.service = service, .ws = ws};
		const struct st_shared_watcher_report report = {on_change, on_agents, &change};
		/* A workspace whose root is gone has nothing to tell any more. */
		if (ws->watcher.on && st_shared_watcher_dispatch(&ws->watcher, 0, &report, NULL) < 0)
			epoll_ctl(service->epoll, EPOLL_CTL_DEL, stet_workspace_watch_fd(ws, NULL), NULL);
	}
	tell_changes(service);
}
