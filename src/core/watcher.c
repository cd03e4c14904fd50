#include "core/watcher.h"

#include <poll.h>
#include <stdlib.h>

/* ---- life ---- */

static void report(void *data, const char *path, enum st_watch_event event) {
	struct stet_watcher *watcher = data;
	if (watcher->callback)
		watcher->callback(watcher->data, path, st_watch_event_name(event));
}

int stet_watcher_new(const char *root, stet_watch_callback *callback, void *data,
                     struct stet_watcher **out, struct stet_error *err) {
	*out = NULL;
	if (!root || !*root)
		return st_fail(err, STET_E_INVALID, "A watcher needs a directory.");
	struct stet_watcher *watcher = malloc(sizeof *watcher);
	if (!watcher)
		return st_fail_nomem(err);
	*watcher = (struct stet_watcher){
		.root = ST_ROOT_INIT, .watch = ST_WATCH_INIT, .callback = callback, .data = data};
	watcher->watch.report = report;
	watcher->watch.data = watcher;
	int code = st_root_open(&watcher->root, root, err);
	if (code < 0) {
		free(watcher);
		return code;
	}
	*out = watcher;
	return 0;
}

void stet_watcher_free(struct stet_watcher *watcher) {
	if (!watcher)
		return;
	st_watch_stop(&watcher->watch);
	st_root_release(&watcher->root);
	free(watcher);
}

static bool is_started(const struct stet_watcher *watcher) {
	return st_watch_fd(&watcher->watch) >= 0;
}

static int not_started(struct stet_error *err) {
	return st_fail(err, STET_E_INVALID, "The watcher is not started.");
}

int stet_watcher_start(struct stet_watcher *watcher, struct stet_error *err) {
	if (is_started(watcher))
		return st_fail(err, STET_E_INVALID, "The watcher is started already.");
	return st_watch_start(&watcher->watch, &watcher->root, err);
}

void stet_watcher_stop(struct stet_watcher *watcher) {
	st_watch_stop(&watcher->watch);
}

/* ---- options ---- */

static int out_of_range(struct stet_error *err, int64_t value, const char *range) {
	return st_fail(err, STET_E_INVALID, "%lld is not a value of this option; it takes %s.",
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
	struct st_watch *watch = &watcher->watch;
	if (is_started(watcher))
		return st_fail(err, STET_E_INVALID, "The watcher is started; set options before that.");
	switch (option) {
	case STET_WATCH_SETTLE:
		return set_time(&watch->settle_ms, value, 0, err);
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

/* ---- events ---- */

int stet_watcher_fd(const struct stet_watcher *watcher) {
	return st_watch_fd(&watcher->watch);
}

int stet_watcher_dispatch(struct stet_watcher *watcher, int timeout_ms, struct stet_error *err) {
	if (!is_started(watcher))
		return not_started(err);
	struct pollfd wait = {.fd = st_watch_fd(&watcher->watch), .events = POLLIN};
	if (timeout_ms != 0)
		(void)poll(&wait, 1, timeout_ms);
	return st_watch_dispatch(&watcher->watch, err);
}

int stet_watcher_sync(struct stet_watcher *watcher, int timeout_ms, struct stet_error *err) {
	return is_started(watcher) ? st_watch_sync(&watcher->watch, timeout_ms, err) : not_started(err);
}

char *stet_watcher_notice(struct stet_watcher *watcher) {
	return st_watch_next_notice(&watcher->watch);
}

/* ---- files in use ---- */

/* A directory on the way may be missing: then only the spelling tells where the file would be. */
static int locate(const struct stet_watcher *watcher, const char *path, struct st_place *place,
                  struct st_str *below, struct stet_error *err) {
	int code = st_root_locate(&watcher->root, st_str(path), place, err);
	if (code == 0)
		*below = st_str(place->path);
	const char *plain = code == STET_E_NOT_FOUND ? st_root_plain(&watcher->root, path) : NULL;
	if (!plain)
		return code;
	*below = st_str(plain);
	return 0;
}

int stet_watcher_use(struct stet_watcher *watcher, const char *path, struct stet_error *err) {
	st_auto(st_place) place = ST_PLACE_INIT;
	struct st_str below;
	if (!is_started(watcher))
		return not_started(err);
	if (!(watcher->watch.flags & ST_WATCH_USED))
		return st_fail(err, STET_E_INVALID, "This watcher watches all files.");
	int code = locate(watcher, path, &place, &below, err);
	return code < 0 ? code : st_watch_use(&watcher->watch, below, err);
}

void stet_watcher_unuse(struct stet_watcher *watcher, const char *path) {
	st_auto(st_place) place = ST_PLACE_INIT;
	struct st_str below;
	if (is_started(watcher) && (watcher->watch.flags & ST_WATCH_USED) &&
	    locate(watcher, path, &place, &below, NULL) == 0)
		st_watch_unuse(&watcher->watch, below);
}

/* ---- changes ---- */

/* Events and paths one after the other in one piece of memory, found by their offsets. */
struct stet_changes {
	bool fresh;
	char clock[48];
	struct st_buf paths;
	struct change {
		size_t path;
		enum st_watch_event event;
	} * items;
	size_t count;
	size_t room;
	bool failed;
};

static void collect(void *data, const char *path, enum st_watch_event event) {
	struct stet_changes *changes = data;
	if (changes->count == changes->room) {
		size_t room = changes->room ? changes->room * 2 : 64;
		struct change *items = realloc(changes->items, room * sizeof *items);
		if (!items) {
			changes->failed = true;
			return;
		}
		changes->items = items;
		changes->room = room;
	}
	changes->items[changes->count++] = (struct change){changes->paths.len, event};
	st_buf_add(&changes->paths, st_strn(path, strlen(path) + 1));
}

const char *stet_watcher_clock(struct stet_watcher *watcher) {
	watcher->clock[0] = '\0';
	if (is_started(watcher))
		st_watch_clock(&watcher->watch, watcher->clock);
	return watcher->clock;
}

int stet_watcher_since(struct stet_watcher *watcher, const char *clock, struct stet_changes **out,
                       struct stet_error *err) {
	*out = NULL;
	if (!is_started(watcher))
		return not_started(err);
	struct stet_changes *changes = calloc(1, sizeof *changes);
	if (!changes)
		return st_fail_nomem(err);
	st_watch_clock(&watcher->watch, changes->clock);
	int code = st_watch_since(&watcher->watch, st_str(clock), collect, changes, err);
	if (code >= 0 && (changes->failed || changes->paths.failed))
		code = st_fail_nomem(err);
	if (code < 0) {
		stet_changes_free(changes);
		return code;
	}
	changes->fresh = code == 1;
	*out = changes;
	return 0;
}

void stet_changes_free(struct stet_changes *changes) {
	if (!changes)
		return;
	st_buf_release(&changes->paths);
	free(changes->items);
	free(changes);
}

int stet_changes_fresh(const struct stet_changes *changes) {
	return changes->fresh;
}

const char *stet_changes_clock(const struct stet_changes *changes) {
	return changes->clock;
}

size_t stet_changes_count(const struct stet_changes *changes) {
	return changes->count;
}

const char *stet_changes_path(const struct stet_changes *changes, size_t n) {
	return n < changes->count ? changes->paths.ptr + changes->items[n].path : NULL;
}

const char *stet_changes_event(const struct stet_changes *changes, size_t n) {
	return n < changes->count ? st_watch_event_name(changes->items[n].event) : NULL;
}
