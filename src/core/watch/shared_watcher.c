#include "core/watch/shared_watcher.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cancel.h"
#include "fs/path/sys.h"

/* How long st_shared_watcher_since() waits for pending events. */
enum { SYNC_MS = 2000 };

/* ---- starting and stopping ---- */

/* A file that sessions use. */
struct used {
	struct st_watch *watch;
	/* st_watch_use() succeeded, so st_watch_unuse() is due. */
	bool watched;
	char path[];
};

static void begin_use(struct used *used) {
	/* The cost of st_watch_use(), in the unit of st_cancel_check(). */
	enum { USE_WORK = 16 << 10 };
	used->watched = st_watch_use(used->watch, st_str(used->path), NULL) == 0;
	st_cancel_progress(USE_WORK);
}

static void end_use(void *value) {
	struct used *used = value;
	if (used->watched)
		st_watch_unuse(used->watch, st_str(used->path));
	free(used);
}

void st_shared_watcher_init(struct st_shared_watcher *watcher, struct st_write_context *writes) {
	*watcher = (struct st_shared_watcher){
		.writes = writes,
		.used.watch = ST_WATCH_INIT,
		.named.watch = ST_WATCH_INIT,
		.epoll = -1,
		.wake = -1,
	};
	watcher->used.watch.flags = ST_WATCH_USED;
	st_lru_init(&watcher->files, ST_SHARED_WATCHER_MAX, ST_SHARED_WATCHER_MAX, end_use);
	pthread_mutex_init(&watcher->lock, NULL);
	pthread_mutex_init(&watcher->queue_lock, NULL);
}

static void stop_watcher(struct st_shared_watcher *watcher) {
	st_watch_stop(&watcher->used.watch);
	st_close_at(&watcher->epoll);
	st_close_at(&watcher->wake);
}

void st_shared_watcher_release(struct st_shared_watcher *watcher) {
	st_lru_release(&watcher->files);
	st_watch_stop(&watcher->named.watch);
	stop_watcher(watcher);
	free(watcher->queue);
	pthread_mutex_destroy(&watcher->queue_lock);
	pthread_mutex_destroy(&watcher->lock);
}

static int wake_on(struct st_shared_watcher *watcher, int fd, struct stet_error *err) {
	struct epoll_event event = {.events = EPOLLIN};
	if (fd < 0 || epoll_ctl(watcher->epoll, EPOLL_CTL_ADD, fd, &event) < 0)
		return st_fail_errno(err, errno, "The watcher's descriptors cannot be created");
	return 0;
}

static int join_descriptors(struct st_shared_watcher *watcher, struct stet_error *err) {
	watcher->epoll = epoll_create1(EPOLL_CLOEXEC);
	watcher->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	int code = wake_on(watcher, watcher->wake, err);
	return code == 0 ? wake_on(watcher, st_watch_fd(&watcher->used.watch), err) : code;
}

/* Start the watch of files in use. Needs the lock. */
static int start_used(struct st_shared_watcher *watcher, struct stet_error *err) {
	if (watcher->on)
		return 0;
	struct st_watch *watch = &watcher->used.watch;
	watch->state_dir = watcher->writes->state_dir;
	int code = st_watch_start(watch, watcher->writes->root, err);
	if (code == 0)
		code = join_descriptors(watcher, err);
	if (code < 0) {
		stop_watcher(watcher);
		return code;
	}
	for (const struct st_lru_entry *entry = st_lru_next(&watcher->files, NULL); entry;
	     entry = st_lru_next(&watcher->files, entry))
		begin_use(st_lru_value(entry));
	st_watch_clock(watch, watcher->used.reported);
	watcher->on = true;
	return 0;
}

/* ---- files in use ---- */

/*
 * Watch a file. Needs the lock. Failing is harmless: sessions verify each file
 * when they use it and do not rely on the watcher.
 */
static void use_file(struct st_shared_watcher *watcher, struct st_str path) {
	if (st_lru_get(&watcher->files, path))
		return;
	struct used *used = malloc(sizeof *used + path.len + 1);
	if (!used)
		return;
	used->watch = &watcher->used.watch;
	used->watched = false;
	memcpy(used->path, path.ptr, path.len);
	used->path[path.len] = '\0';
	if (watcher->on)
		begin_use(used);
	(void)st_lru_put(&watcher->files, path, used, 1);
}

/* Unlock if the queue is empty; else take its paths, and keep the lock. The caller frees them. */
static char **unlock_or_dequeue(struct st_shared_watcher *watcher, size_t *count) {
	pthread_mutex_lock(&watcher->queue_lock);
	char **queue = watcher->queue;
	*count = watcher->queue_count;
	watcher->queue = NULL;
	watcher->queue_count = 0;
	if (*count == 0)
		pthread_mutex_unlock(&watcher->lock);
	pthread_mutex_unlock(&watcher->queue_lock);
	return queue;
}

static void unlock(struct st_shared_watcher *watcher) {
	size_t count;
	do {
		st_autofree char **queue = unlock_or_dequeue(watcher, &count);
		for (size_t i = 0; i < count; i++) {
			use_file(watcher, st_str(queue[i]));
			free(queue[i]);
		}
	} while (count > 0);
}

/* Needs queue_lock. Failing is harmless, as in use_file(). */
static void enqueue(struct st_shared_watcher *watcher, const char *path) {
	if (watcher->queue_count == ST_SHARED_WATCHER_MAX ||
	    !st_array_room(&watcher->queue, watcher->queue_count, sizeof(char *)))
		return;
	watcher->queue[watcher->queue_count] = strdup(path);
	if (watcher->queue[watcher->queue_count])
		watcher->queue_count++;
}

void st_shared_watcher_use(struct st_shared_watcher *watcher, const char *path) {
	pthread_mutex_lock(&watcher->queue_lock);
	bool locked = pthread_mutex_trylock(&watcher->lock) == 0;
	if (!locked)
		enqueue(watcher, path);
	pthread_mutex_unlock(&watcher->queue_lock);
	if (locked) {
		use_file(watcher, st_str(path));
		unlock(watcher);
	}
}

int st_shared_watcher_use_all(struct st_shared_watcher *watcher, const struct st_lru *files,
                              struct stet_error *err) {
	pthread_mutex_lock(&watcher->lock);
	int code = start_used(watcher, err);
	for (const struct st_lru_entry *entry = code < 0 ? NULL : st_lru_next(files, NULL); entry;
	     entry = st_lru_next(files, entry))
		use_file(watcher, st_lru_key(entry));
	unlock(watcher);
	return code;
}

int st_shared_watcher_fd(struct st_shared_watcher *watcher, struct stet_error *err) {
	pthread_mutex_lock(&watcher->lock);
	int code = start_used(watcher, err);
	unlock(watcher);
	return code < 0 ? code : watcher->epoll;
}

int st_shared_watcher_watch(struct st_shared_watcher *watcher, const char *path,
                            struct stet_error *err) {
	pthread_mutex_lock(&watcher->lock);
	int code = start_used(watcher, err);
	if (code == 0)
		code = st_watch_use(&watcher->used.watch, st_str(path), err);
	unlock(watcher);
	return code;
}

void st_shared_watcher_unwatch(struct st_shared_watcher *watcher, const char *path) {
	if (!watcher->on)
		return;
	pthread_mutex_lock(&watcher->lock);
	st_watch_unuse(&watcher->used.watch, st_str(path));
	unlock(watcher);
}

/* ---- files with certain names ---- */

static int start_named(struct st_shared_watcher *watcher, struct stet_error *err) {
	struct st_watch *watch = &watcher->named.watch;
	watch->state_dir = watcher->writes->state_dir;
	int code = st_watch_start(watch, watcher->writes->root, err);
	if (code == 0)
		code = wake_on(watcher, st_watch_fd(watch), err);
	if (code < 0)
		st_watch_stop(watch);
	else
		st_watch_clock(watch, watcher->named.reported);
	return code;
}

int st_shared_watcher_watch_names(struct st_shared_watcher *watcher,
                                  bool (*wanted)(void *data, struct st_str name), void *data,
                                  unsigned flags, struct stet_error *err) {
	struct st_watch *watch = &watcher->named.watch;
	pthread_mutex_lock(&watcher->lock);
	int code = start_used(watcher, err);
	if (code == 0 && watcher->named_users == 0) {
		watch->flags = flags;
		watch->wanted = wanted;
		watch->data = data;
		code = start_named(watcher, err);
	}
	if (code == 0)
		watcher->named_users++;
	unlock(watcher);
	return code;
}

void st_shared_watcher_unwatch_names(struct st_shared_watcher *watcher) {
	pthread_mutex_lock(&watcher->lock);
	if (watcher->named_users > 0 && --watcher->named_users == 0)
		st_watch_stop(&watcher->named.watch);
	unlock(watcher);
}

/* ---- changes ---- */

/* Pass a watch's notices, such as that it polls, to the next answer. Needs the lock. */
static void forward_notices(struct st_shared_watcher *watcher,
                            struct st_shared_watcher_source *source) {
	for (char *notice; (notice = st_watch_next_notice(&source->watch)); free(notice))
		st_write_notice(watcher->writes, "%s", notice);
}

/* Take the changes that are not reported yet, and mark them as reported. Needs the lock. */
static int take_changes(struct st_shared_watcher *watcher, struct st_shared_watcher_source *source,
                        struct stet_changes **out, struct stet_error *err) {
	int heard = st_watch_dispatch(&source->watch, err);
	int code = st_changes_since(&source->watch, source->reported, out, heard < 0 ? NULL : err);
	if (code == 0)
		st_watch_clock(&source->watch, source->reported);
	forward_notices(watcher, source);
	return heard < 0 ? heard : code;
}

/*
 * The same for files with certain names. When the root is gone the watch fails,
 * and its descriptor would stay readable for ever: remove it. Needs the lock.
 */
static void take_named(struct st_shared_watcher *watcher, struct stet_changes **out) {
	int fd = st_watch_fd(&watcher->named.watch);
	if (fd >= 0 && take_changes(watcher, &watcher->named, out, NULL) < 0)
		epoll_ctl(watcher->epoll, EPOLL_CTL_DEL, fd, NULL);
}

static void drain_wake(struct st_shared_watcher *watcher) {
	uint64_t times;
	while (read(watcher->wake, &times, sizeof times) < 0 && errno == EINTR)
		continue;
}

static void report_changes(struct stet_changes *changes, stet_watch_callback *callback,
                           void *data) {
	for (size_t n = changes && callback ? stet_changes_count(changes) : 0; n-- > 0;)
		callback(data, stet_changes_path(changes, n), stet_changes_event(changes, n));
	stet_changes_free(changes);
}

int st_shared_watcher_dispatch(struct st_shared_watcher *watcher, int timeout_ms,
                               const struct st_shared_watcher_report *report,
                               struct stet_error *err) {
	struct stet_changes *used = NULL, *named = NULL;
	int fd = st_shared_watcher_fd(watcher, err);
	if (fd < 0)
		return fd;
	struct pollfd wait = {.fd = fd, .events = POLLIN};
	if (timeout_ms != 0)
		(void)poll(&wait, 1, timeout_ms);
	pthread_mutex_lock(&watcher->lock);
	drain_wake(watcher);
	int code = take_changes(watcher, &watcher->used, &used, err);
	take_named(watcher, &named);
	unlock(watcher);
	report_changes(used, report->used, report->data);
	report_changes(named, report->named, report->data);
	return code;
}

void st_shared_watcher_wake(struct st_shared_watcher *watcher) {
	uint64_t one = 1;
	if (watcher->on)
		(void)st_retry(write(watcher->wake, &one, sizeof one));
}

/* Needs the lock. */
static int changes_since(struct st_shared_watcher *watcher, const char *clock,
                         struct stet_changes **out, struct stet_error *err) {
	struct st_watch *watch = &watcher->used.watch;
	int code = start_used(watcher, err);
	if (code < 0)
		return code;
	uint64_t tick = watch->table.tick;
	code = st_watch_sync(watch, SYNC_MS, err);
	if (watch->table.tick != tick)
		st_shared_watcher_wake(watcher);
	return code < 0 ? code : st_changes_since(watch, clock, out, err);
}

int st_shared_watcher_since(struct st_shared_watcher *watcher, const char *clock,
                            struct stet_changes **out, struct stet_error *err) {
	*out = NULL;
	pthread_mutex_lock(&watcher->lock);
	int code = changes_since(watcher, clock, out, err);
	forward_notices(watcher, &watcher->used);
	unlock(watcher);
	return code;
}
