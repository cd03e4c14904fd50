#include "core/lookout.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cancel.h"
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

void st_lookout_init(struct st_lookout *lookout, struct st_guard *guard) {
	*lookout = (struct st_lookout){
		.guard = guard,
		.used.watch = ST_WATCH_INIT,
		.named.watch = ST_WATCH_INIT,
		.epoll = -1,
		.wake = -1,
	};
	lookout->used.watch.flags = ST_WATCH_USED;
	st_lru_init(&lookout->files, ST_LOOKOUT_MAX, ST_LOOKOUT_MAX, end_use);
	pthread_mutex_init(&lookout->lock, NULL);
	pthread_mutex_init(&lookout->met_lock, NULL);
}

static void stop(struct st_lookout *lookout) {
	st_watch_stop(&lookout->used.watch);
	st_close_at(&lookout->epoll);
	st_close_at(&lookout->wake);
}

void st_lookout_release(struct st_lookout *lookout) {
	st_lru_release(&lookout->files);
	st_watch_stop(&lookout->named.watch);
	stop(lookout);
	free(lookout->met);
	pthread_mutex_destroy(&lookout->met_lock);
	pthread_mutex_destroy(&lookout->lock);
}

static int wake_on(struct st_lookout *lookout, int fd, struct stet_error *err) {
	struct epoll_event event = {.events = EPOLLIN};
	if (fd < 0 || epoll_ctl(lookout->epoll, EPOLL_CTL_ADD, fd, &event) < 0)
		return st_fail_errno(err, errno, "The descriptors of a watcher cannot be made");
	return 0;
}

static int join_descriptors(struct st_lookout *lookout, struct stet_error *err) {
	lookout->epoll = epoll_create1(EPOLL_CLOEXEC);
	lookout->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	int code = wake_on(lookout, lookout->wake, err);
	return code == 0 ? wake_on(lookout, st_watch_fd(&lookout->used.watch), err) : code;
}

/* With the lock. */
static int start(struct st_lookout *lookout, struct stet_error *err) {
	if (lookout->on)
		return 0;
	struct st_watch *watch = &lookout->used.watch;
	watch->state_dir = lookout->guard->state_dir;
	int code = st_watch_start(watch, lookout->guard->root, err);
	if (code == 0)
		code = join_descriptors(lookout, err);
	if (code < 0) {
		stop(lookout);
		return code;
	}
	for (const struct st_lru_entry *entry = st_lru_next(&lookout->files, NULL); entry;
	     entry = st_lru_next(&lookout->files, entry))
		begin_use(st_lru_value(entry));
	st_watch_clock(watch, lookout->used.told);
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
	used->watch = &lookout->used.watch;
	used->watched = false;
	memcpy(used->path, path.ptr, path.len);
	used->path[path.len] = '\0';
	if (lookout->on)
		begin_use(used);
	(void)st_lru_put(&lookout->files, path, used, 1);
}

/* Give the lock back, unless files were met meanwhile: then their paths come first. */
static char **give_back(struct st_lookout *lookout, size_t *count) {
	pthread_mutex_lock(&lookout->met_lock);
	char **met = lookout->met;
	*count = lookout->met_count;
	lookout->met = NULL;
	lookout->met_count = 0;
	if (*count == 0)
		pthread_mutex_unlock(&lookout->lock);
	pthread_mutex_unlock(&lookout->met_lock);
	return met;
}

static void unlock(struct st_lookout *lookout) {
	size_t count;
	for (char **met; (met = give_back(lookout, &count)); free(met)) {
		for (size_t i = 0; i < count; i++) {
			use(lookout, st_str(met[i]));
			free(met[i]);
		}
	}
}

/* With met_lock. Without memory the file is found by looking. */
static void leave(struct st_lookout *lookout, const char *path) {
	if (lookout->met_count == ST_LOOKOUT_MAX ||
	    !st_array_room(&lookout->met, lookout->met_count, sizeof(char *)))
		return;
	lookout->met[lookout->met_count] = strdup(path);
	if (lookout->met[lookout->met_count])
		lookout->met_count++;
}

void st_lookout_use(struct st_lookout *lookout, const char *path) {
	pthread_mutex_lock(&lookout->met_lock);
	bool locked = pthread_mutex_trylock(&lookout->lock) == 0;
	if (!locked)
		leave(lookout, path);
	pthread_mutex_unlock(&lookout->met_lock);
	if (locked) {
		use(lookout, st_str(path));
		unlock(lookout);
	}
}

int st_lookout_use_all(struct st_lookout *lookout, const struct st_lru *files,
                       struct stet_error *err) {
	pthread_mutex_lock(&lookout->lock);
	int code = start(lookout, err);
	for (const struct st_lru_entry *entry = code < 0 ? NULL : st_lru_next(files, NULL); entry;
	     entry = st_lru_next(files, entry))
		use(lookout, st_lru_key(entry));
	unlock(lookout);
	return code;
}

int st_lookout_fd(struct st_lookout *lookout, struct stet_error *err) {
	pthread_mutex_lock(&lookout->lock);
	int code = start(lookout, err);
	unlock(lookout);
	return code < 0 ? code : lookout->epoll;
}

int st_lookout_watch(struct st_lookout *lookout, const char *path, struct stet_error *err) {
	pthread_mutex_lock(&lookout->lock);
	int code = start(lookout, err);
	if (code == 0)
		code = st_watch_use(&lookout->used.watch, st_str(path), err);
	unlock(lookout);
	return code;
}

void st_lookout_unwatch(struct st_lookout *lookout, const char *path) {
	if (!lookout->on)
		return;
	pthread_mutex_lock(&lookout->lock);
	st_watch_unuse(&lookout->used.watch, st_str(path));
	unlock(lookout);
}

/* ---- files of certain names ---- */

static int start_named(struct st_lookout *lookout, struct stet_error *err) {
	struct st_watch *watch = &lookout->named.watch;
	watch->state_dir = lookout->guard->state_dir;
	int code = st_watch_start(watch, lookout->guard->root, err);
	if (code == 0)
		code = wake_on(lookout, st_watch_fd(watch), err);
	if (code < 0)
		st_watch_stop(watch);
	else
		st_watch_clock(watch, lookout->named.told);
	return code;
}

int st_lookout_watch_names(struct st_lookout *lookout,
                           bool (*wanted)(void *data, struct st_str name), void *data,
                           unsigned flags, struct stet_error *err) {
	struct st_watch *watch = &lookout->named.watch;
	pthread_mutex_lock(&lookout->lock);
	int code = start(lookout, err);
	if (code == 0 && lookout->named_users == 0) {
		watch->flags = flags;
		watch->wanted = wanted;
		watch->data = data;
		code = start_named(lookout, err);
	}
	if (code == 0)
		lookout->named_users++;
	unlock(lookout);
	return code;
}

void st_lookout_unwatch_names(struct st_lookout *lookout) {
	pthread_mutex_lock(&lookout->lock);
	if (lookout->named_users > 0 && --lookout->named_users == 0)
		st_watch_stop(&lookout->named.watch);
	unlock(lookout);
}

/* ---- what changed ---- */

/* With the lock: what a watch has to say, such as that it polls, goes with the next answer. */
static void hand_on_notices(struct st_lookout *lookout, struct st_lookout_source *source) {
	for (char *notice; (notice = st_watch_next_notice(&source->watch)); free(notice))
		st_guard_notice(lookout->guard, "%s", notice);
}

/* With the lock: what was not told yet, which is told from now on. */
static int take_changes(struct st_lookout *lookout, struct st_lookout_source *source,
                        struct stet_changes **out, struct stet_error *err) {
	int heard = st_watch_dispatch(&source->watch, err);
	int code = st_changes_since(&source->watch, source->told, out, heard < 0 ? NULL : err);
	if (code == 0)
		st_watch_clock(&source->watch, source->told);
	hand_on_notices(lookout, source);
	return heard < 0 ? heard : code;
}

/* With the lock. A watch that fails once the root is gone would make the descriptor readable for ever. */
static void take_named(struct st_lookout *lookout, struct stet_changes **out) {
	int fd = st_watch_fd(&lookout->named.watch);
	if (fd >= 0 && take_changes(lookout, &lookout->named, out, NULL) < 0)
		epoll_ctl(lookout->epoll, EPOLL_CTL_DEL, fd, NULL);
}

static void drain_wake(struct st_lookout *lookout) {
	uint64_t times;
	while (read(lookout->wake, &times, sizeof times) < 0 && errno == EINTR)
		continue;
}

static void tell(struct stet_changes *changes, stet_watch_callback *callback, void *data) {
	for (size_t n = changes && callback ? stet_changes_count(changes) : 0; n-- > 0;)
		callback(data, stet_changes_path(changes, n), stet_changes_event(changes, n));
	stet_changes_free(changes);
}

int st_lookout_dispatch(struct st_lookout *lookout, int timeout_ms,
                        const struct st_lookout_report *report, struct stet_error *err) {
	struct stet_changes *used = NULL, *named = NULL;
	int fd = st_lookout_fd(lookout, err);
	if (fd < 0)
		return fd;
	struct pollfd wait = {.fd = fd, .events = POLLIN};
	if (timeout_ms != 0)
		(void)poll(&wait, 1, timeout_ms);
	pthread_mutex_lock(&lookout->lock);
	drain_wake(lookout);
	int code = take_changes(lookout, &lookout->used, &used, err);
	take_named(lookout, &named);
	unlock(lookout);
	tell(used, report->used, report->data);
	tell(named, report->named, report->data);
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
	struct st_watch *watch = &lookout->used.watch;
	int code = start(lookout, err);
	if (code < 0)
		return code;
	uint64_t tick = watch->table.tick;
	code = st_watch_sync(watch, SYNC_MS, err);
	if (watch->table.tick != tick)
		wake(lookout);
	return code < 0 ? code : st_changes_since(watch, clock, out, err);
}

int st_lookout_since(struct st_lookout *lookout, const char *clock, struct stet_changes **out,
                     struct stet_error *err) {
	*out = NULL;
	pthread_mutex_lock(&lookout->lock);
	int code = since(lookout, clock, out, err);
	hand_on_notices(lookout, &lookout->used);
	unlock(lookout);
	return code;
}
