#include "core/lookout.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/cancel.h"
#include "core/workspace.h"
#include "fs/sys.h"

/* How long a question may wait for the events of what happened before it. */
enum { SYNC_MS = 2000 };

/* ---- life ---- */

/* A file of a session. */
struct used {
	struct st_watch *watch;
	/* Counted by the watch as in use. */
	bool watched;
	char path[];
};

static void begin_use(struct used *used) {
	/* What that costs, in the measure of st_cancel_check(). */
	enum { USE_WORK = 16 << 10 };
	used->watched = st_watch_use(used->watch, st_str(used->path), NULL) == 0;
	st_cancel_tell(USE_WORK);
}

static void end_use(void *value) {
	struct used *used = value;
	if (used->watched)
		st_watch_unuse(used->watch, st_str(used->path));
	free(used);
}

void st_lookout_init(struct st_lookout *lookout, const struct st_guard *guard) {
	*lookout = (struct st_lookout){.guard = guard, .watch = ST_WATCH_INIT, .epoll = -1, .wake = -1};
	lookout->watch.flags = ST_WATCH_USED;
	st_lru_init(&lookout->files, ST_LOOKOUT_MAX, ST_LOOKOUT_MAX, end_use);
	pthread_mutex_init(&lookout->lock, NULL);
}

static void stop(struct st_lookout *lookout) {
	st_watch_stop(&lookout->watch);
	st_close_at(&lookout->epoll);
	st_close_at(&lookout->wake);
}

void st_lookout_release(struct st_lookout *lookout) {
	st_lru_release(&lookout->files);
	stop(lookout);
	pthread_mutex_destroy(&lookout->lock);
}

static int join_descriptors(struct st_lookout *lookout, struct stet_error *err) {
	struct epoll_event event = {.events = EPOLLIN};
	lookout->epoll = epoll_create1(EPOLL_CLOEXEC);
	lookout->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (lookout->epoll < 0 || lookout->wake < 0 ||
	    epoll_ctl(lookout->epoll, EPOLL_CTL_ADD, lookout->wake, &event) < 0 ||
	    epoll_ctl(lookout->epoll, EPOLL_CTL_ADD, st_watch_fd(&lookout->watch), &event) < 0)
		return st_fail_errno(err, errno, "The descriptors of a watcher cannot be made");
	return 0;
}

/* With the lock. */
static int start(struct st_lookout *lookout, struct stet_error *err) {
	if (lookout->on)
		return 0;
	lookout->watch.state_dir = lookout->guard->state_dir;
	int code = st_watch_start(&lookout->watch, lookout->guard->root, err);
	if (code == 0)
		code = join_descriptors(lookout, err);
	if (code < 0) {
		stop(lookout);
		return code;
	}
	for (const struct st_lru_entry *entry = st_lru_next(&lookout->files, NULL); entry;
	     entry = st_lru_next(&lookout->files, entry))
		begin_use(st_lru_value(entry));
	st_watch_clock(&lookout->watch, lookout->told);
	lookout->on = true;
	return 0;
}

/* ---- files in use ---- */

/* With the lock. What cannot be watched is found by looking, as without a watcher. */
static void use(struct st_lookout *lookout, struct st_str path) {
	if (st_lru_get(&lookout->files, path))
		return;
	struct used *used = malloc(sizeof *used + path.len + 1);
	if (!used)
		return;
	used->watch = &lookout->watch;
	used->watched = false;
	memcpy(used->path, path.ptr, path.len);
	used->path[path.len] = '\0';
	if (lookout->on)
		begin_use(used);
	(void)st_lru_put(&lookout->files, path, used, 1);
}

void st_lookout_use(struct st_lookout *lookout, const char *path) {
	pthread_mutex_lock(&lookout->lock);
	use(lookout, st_str(path));
	pthread_mutex_unlock(&lookout->lock);
}

int st_lookout_use_all(struct st_lookout *lookout, const struct st_lru *files,
                       struct stet_error *err) {
	pthread_mutex_lock(&lookout->lock);
	int code = start(lookout, err);
	for (const struct st_lru_entry *entry = code < 0 ? NULL : st_lru_next(files, NULL); entry;
	     entry = st_lru_next(files, entry))
		use(lookout, st_lru_key(entry));
	pthread_mutex_unlock(&lookout->lock);
	return code;
}

/* ---- the workspace's calls ---- */

int stet_workspace_watch_fd(struct stet_workspace *ws, struct stet_error *err) {
	struct st_lookout *lookout = &ws->lookout;
	pthread_mutex_lock(&lookout->lock);
	int code = start(lookout, err);
	pthread_mutex_unlock(&lookout->lock);
	return code < 0 ? code : lookout->epoll;
}

int stet_workspace_watch(struct stet_workspace *ws, const char *path, char **below,
                         struct stet_error *err) {
	st_auto(st_place) place = ST_PLACE_INIT;
	struct st_lookout *lookout = &ws->lookout;
	*below = NULL;
	const char *name;
	int code = st_root_below(&ws->root, path, &place, &name, err);
	if (code < 0)
		return code;
	char *copy = strdup(name);
	if (!copy)
		return st_fail_nomem(err);
	pthread_mutex_lock(&lookout->lock);
	code = start(lookout, err);
	if (code == 0)
		code = st_watch_use(&lookout->watch, st_str(copy), err);
	pthread_mutex_unlock(&lookout->lock);
	if (code < 0)
		free(copy);
	else
		*below = copy;
	return code;
}

void stet_workspace_unwatch(struct stet_workspace *ws, const char *below) {
	struct st_lookout *lookout = &ws->lookout;
	if (!lookout->on)
		return;
	pthread_mutex_lock(&lookout->lock);
	st_watch_unuse(&lookout->watch, st_str(below));
	pthread_mutex_unlock(&lookout->lock);
}

/* With the lock: what the watch has to say, such as that it polls, goes with the next answer. */
static void hand_on_notices(struct stet_workspace *ws) {
	for (char *notice; (notice = st_watch_next_notice(&ws->lookout.watch));) {
		st_guard_notice(&ws->guard, "%s", notice);
		free(notice);
	}
}

/* With the lock: what was not told yet, which is told from now on. */
static int take_changes(struct st_lookout *lookout, struct stet_changes **out,
                        struct stet_error *err) {
	uint64_t times;
	while (read(lookout->wake, &times, sizeof times) < 0 && errno == EINTR)
		continue;
	int heard = st_watch_dispatch(&lookout->watch, err);
	int code = st_changes_since(&lookout->watch, lookout->told, out, heard < 0 ? NULL : err);
	if (code == 0)
		st_watch_clock(&lookout->watch, lookout->told);
	return heard < 0 ? heard : code;
}

int stet_workspace_dispatch(struct stet_workspace *ws, int timeout_ms,
                            stet_watch_callback *callback, void *data, struct stet_error *err) {
	struct st_lookout *lookout = &ws->lookout;
	struct stet_changes *changes = NULL;
	int fd = stet_workspace_watch_fd(ws, err);
	if (fd < 0)
		return fd;
	struct pollfd wait = {.fd = fd, .events = POLLIN};
	if (timeout_ms != 0)
		(void)poll(&wait, 1, timeout_ms);
	pthread_mutex_lock(&lookout->lock);
	int code = take_changes(lookout, &changes, err);
	hand_on_notices(ws);
	pthread_mutex_unlock(&lookout->lock);
	for (size_t n = changes ? stet_changes_count(changes) : 0; n-- > 0;)
		callback(data, stet_changes_path(changes, n), stet_changes_event(changes, n));
	stet_changes_free(changes);
	return code;
}

/* With the lock: let the descriptor become readable. */
static void wake(struct st_lookout *lookout) {
	uint64_t one = 1;
	(void)st_retry(write(lookout->wake, &one, sizeof one));
}

/* With the lock. */
static int since(struct st_lookout *lookout, const char *clock, struct stet_changes **out,
                 struct stet_error *err) {
	int code = start(lookout, err);
	if (code < 0)
		return code;
	uint64_t tick = lookout->watch.table.tick;
	code = st_watch_sync(&lookout->watch, SYNC_MS, err);
	if (lookout->watch.table.tick != tick)
		wake(lookout);
	return code < 0 ? code : st_changes_since(&lookout->watch, clock, out, err);
}

int stet_workspace_since(struct stet_workspace *ws, const char *clock, struct stet_changes **out,
                         struct stet_error *err) {
	struct st_lookout *lookout = &ws->lookout;
	*out = NULL;
	pthread_mutex_lock(&lookout->lock);
	int code = since(lookout, clock, out, err);
	hand_on_notices(ws);
	pthread_mutex_unlock(&lookout->lock);
	return code;
}
