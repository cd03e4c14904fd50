#include "core/watch/watcher.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "fs/path/sys.h"
#include "fs/versions/state_dir.h"

/* ---- starting and stopping ---- */

static void report_event(void *data, const char *path, enum st_watch_event event) {
	struct stet_watcher *watcher = data;
	if (watcher->callback)
		watcher->callback(watcher->data, path, st_watch_event_name(event));
}

static int open_wake(struct stet_watcher *watcher, struct stet_error *err) {
	watcher->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (watcher->wake < 0)
		return st_fail_errno(err, errno, "Cannot create the watcher's descriptors");
	return 0;
}

int stet_watcher_new(const char *root, stet_watch_callback *callback, void *data,
                     struct stet_watcher **out, struct stet_error *err) {
	*out = NULL;
	st_error_clear(err);
	if (!root || !*root)
		return st_fail(err, STET_E_INVALID, "A watcher needs a directory.");
	struct stet_watcher *watcher = malloc(sizeof *watcher);
	if (!watcher)
		return st_fail_nomem(err);
	*watcher = (struct stet_watcher){.root = ST_ROOT_INIT,
	                                 .watch = ST_WATCH_INIT,
	                                 .callback = callback,
	                                 .data = data,
	                                 .wake = -1};
	watcher->watch.report = report_event;
	watcher->watch.data = watcher;
	int code = st_root_open(&watcher->root, root, err);
	if (code == 0)
		code = open_wake(watcher, err);
	if (code < 0) {
		stet_watcher_free(watcher);
		return code;
	}
	*out = watcher;
	return 0;
}

void stet_watcher_free(struct stet_watcher *watcher) {
	if (!watcher)
		return;
	st_watch_stop(&watcher->watch);
	st_close_at(&watcher->wake);
	st_root_release(&watcher->root);
	free(watcher->state_dir);
	free(watcher);
}

static bool is_started(const struct stet_watcher *watcher) {
	return st_watch_fd(&watcher->watch) >= 0;
}

static int not_started(struct stet_error *err) {
	return st_fail(err, STET_E_INVALID, "The watcher is not started.");
}

int stet_watcher_start(struct stet_watcher *watcher, struct stet_error *err) {
	if (st_begin_call(watcher, err) < 0)
		return STET_E_INVALID;
	if (is_started(watcher))
		return st_fail(err, STET_E_INVALID, "The watcher is started already.");
	return st_watch_start(&watcher->watch, &watcher->root, err);
}

void stet_watcher_stop(struct stet_watcher *watcher) {
	if (!watcher)
		return;
	st_watch_stop(&watcher->watch);
}

/* ---- options ---- */

static int out_of_range(struct stet_error *err, int64_t value, const char *range) {
	return st_fail(err, STET_E_INVALID, "%lld is out of range: this option takes %s.",
	               (long long)value, range);
}

static int set_flag(struct stet_watcher *watcher, unsigned flag, bool on) {
	watcher->watch.flags = on ? watcher->watch.flags | flag : watcher->watch.flags & ~flag;
	return 0;
}

static int set_time(int64_t *time, int64_t value, int64_t least, struct stet_error *err) {
	if (value < least || value > 3600000)
		return out_of_range(err, value, "milliseconds, at most an hour");
	*time = value;
	return 0;
}

int stet_watcher_set(struct stet_watcher *watcher, enum stet_watch_option option, int64_t value,
                     struct stet_error *err) {
	if (st_begin_call(watcher, err) < 0)
		return STET_E_INVALID;
	struct st_watch *watch = &watcher->watch;
	if (is_started(watcher))
		return st_fail(err, STET_E_INVALID, "The watcher is started; set options before that.");
	switch (option) {
	case STET_WATCH_DEBOUNCE:
		return set_time(&watch->debounce_ms, value, 0, err);
	case STET_WATCH_BOUND:
		return set_time(&watch->bound_ms, value, 0, err);
	case STET_WATCH_POLL:
		return set_time(&watch->poll_ms, value, 1, err);
	case STET_WATCH_CHANGES:
		if (value < 0 || value > 1 << 30)
			return out_of_range(err, value, "a number of changes");
		watch->max_changes = (size_t)value;
		return 0;
	default:
		break;
	}
	if (value != 0 && value != 1)
		return out_of_range(err, value, "0 or 1");
	switch (option) {
	case STET_WATCH_POLL_ALL:
		return set_flag(watcher, ST_WATCH_POLL, value);
	case STET_WATCH_GITIGNORE:
		return set_flag(watcher, ST_WATCH_NO_FILES, !value);
	case STET_WATCH_BUILTIN:
		return set_flag(watcher, ST_WATCH_NO_BUILTIN, !value);
	case STET_WATCH_USED_ONLY:
		return set_flag(watcher, ST_WATCH_USED, value);
	default:
		return st_fail(err, STET_E_INVALID, "There is no option %d.", (int)option);
	}
}

int stet_watcher_state_dir(struct stet_watcher *watcher, const char *name, struct stet_error *err) {
	if (st_begin_call(watcher, err) < 0)
		return STET_E_INVALID;
	if (is_started(watcher))
		return st_fail(err, STET_E_INVALID, "The watcher is started; set options before that.");
	if (!st_state_is_name(name))
		return st_state_fail_name(name, err);
	char *copy = strdup(name);
	if (!copy)
		return st_fail_nomem(err);
	free(watcher->state_dir);
	watcher->state_dir = copy;
	watcher->watch.state_dir = copy;
	return 0;
}

/* ---- events ---- */

int stet_watcher_fd(const struct stet_watcher *watcher) {
	if (!watcher)
		return -1;
	return st_watch_fd(&watcher->watch);
}

static void wait_for_events(const struct stet_watcher *watcher, int timeout_ms) {
	struct pollfd wait[] = {
		{.fd = st_watch_fd(&watcher->watch), .events = POLLIN},
		{.fd = watcher->wake, .events = POLLIN},
	};
	uint64_t times;
	if (poll(wait, 2, timeout_ms) > 0 && wait[1].revents)
		(void)st_retry(read(watcher->wake, &times, sizeof times));
}

void stet_watcher_wake(struct stet_watcher *watcher) {
	uint64_t one = 1;
	if (watcher)
		(void)st_retry(write(watcher->wake, &one, sizeof one));
}

int stet_watcher_dispatch(struct stet_watcher *watcher, int timeout_ms, struct stet_error *err) {
	if (st_begin_call(watcher, err) < 0)
		return STET_E_INVALID;
	if (!is_started(watcher))
		return not_started(err);
	if (timeout_ms != 0)
		wait_for_events(watcher, timeout_ms);
	return st_watch_dispatch(&watcher->watch, err);
}

int stet_watcher_sync(struct stet_watcher *watcher, int timeout_ms, struct stet_error *err) {
	if (st_begin_call(watcher, err) < 0)
		return STET_E_INVALID;
	return is_started(watcher) ? st_watch_sync(&watcher->watch, timeout_ms, err) : not_started(err);
}

char *stet_watcher_notice(struct stet_watcher *watcher) {
	if (!watcher)
		return NULL;
	return st_watch_next_notice(&watcher->watch);
}

/* ---- files in use ---- */

int stet_watcher_use(struct stet_watcher *watcher, const char *path, struct stet_error *err) {
	if (st_begin_call(watcher, err) < 0)
		return STET_E_INVALID;
	st_auto(st_place) place = ST_PLACE_INIT;
	const char *relative_path;
	if (!is_started(watcher))
		return not_started(err);
	if (!(watcher->watch.flags & ST_WATCH_USED))
		return st_fail(err, STET_E_INVALID, "This watcher watches all files.");
	int code = st_root_relative_path(&watcher->root, path, &place, &relative_path, err);
	return code < 0 ? code : st_watch_use(&watcher->watch, st_str(relative_path), err);
}

void stet_watcher_unuse(struct stet_watcher *watcher, const char *path) {
	if (!watcher)
		return;
	st_auto(st_place) place = ST_PLACE_INIT;
	const char *relative_path;
	if (is_started(watcher) && (watcher->watch.flags & ST_WATCH_USED) &&
	    st_root_relative_path(&watcher->root, path, &place, &relative_path, NULL) == 0)
		st_watch_unuse(&watcher->watch, st_str(relative_path));
}

/* ---- changes ---- */

const char *stet_watcher_clock(struct stet_watcher *watcher) {
	if (!watcher)
		return "";
	watcher->clock[0] = '\0';
	if (is_started(watcher))
		st_watch_clock(&watcher->watch, watcher->clock);
	return watcher->clock;
}

int stet_watcher_since(struct stet_watcher *watcher, const char *clock, struct stet_changes **out,
                       struct stet_error *err) {
	*out = NULL;
	if (st_begin_call(watcher, err) < 0)
		return STET_E_INVALID;
	return is_started(watcher) ? st_changes_since(&watcher->watch, clock, out, err)
	                           : not_started(err);
}
