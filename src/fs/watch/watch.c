#include "fs/watch/watch.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/random.h>
#include <sys/timerfd.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "fs/path/sys.h"
#include "fs/watch/watch_check.h"

/* How many buffers of events to read before checking paths. */
enum { READS_MAX = 64 };

/* Polling may take one part in so many of the time. */
enum { POLL_SHARE = 10 };

const char *st_watch_event_name(enum st_watch_event event) {
	static const char *const names[] = {"add", "change", "unlink"};
	return names[event];
}

int st_watch_fd(const struct st_watch *watch) {
	return watch->epoll;
}

char *st_watch_next_notice(struct st_watch *watch) {
	if (watch->notice_count == 0)
		return NULL;
	char *text = watch->notices[0];
	watch->notice_count--;
	memmove(watch->notices, watch->notices + 1, watch->notice_count * sizeof *watch->notices);
	return text;
}

/* ---- events ---- */

void st_watch_rescan(struct st_watch *watch) {
	if (watch->rescan_at_ms < 0)
		watch->rescan_at_ms = st_now_ms() + watch->debounce_ms;
}

static void handle_root_gone(struct st_watch *watch, const char *how) {
	if (!watch->gone)
		st_watch_notice(watch, "The watched directory \"%s\" was %s; watching it has ended.",
		                watch->root->path, how);
	watch->gone = true;
	st_watch_lose_dir(watch, watch->table.root);
}

static void note_event(struct st_watch *watch, struct st_watch_node *node, uint32_t mask) {
	struct st_pending *pending = st_watch_mark_pending(watch, node);
	if (!pending)
		return;
	pending->written |= (mask & (IN_MODIFY | IN_CLOSE_WRITE)) != 0;
	if (!pending->has_event) {
		pending->has_event = true;
		pending->next_event = watch->events;
		watch->events = pending;
	}
}

/*
 * While our descriptor keeps the root alive, inotify sends no event for its
 * removal. Its parent directory does.
 */
static void watch_parent(struct st_watch *watch) {
	if (watch->parent_wd >= 0)
		st_inotify_drop(&watch->in, watch->parent_wd);
	st_autofd above = st_retry(openat(watch->root->fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC));
	watch->parent_wd = above < 0 ? -1 : st_inotify_add_removals(&watch->in, above);
}

static void check_root(struct st_watch *watch) {
	struct stat st;
	if (fstat(watch->root->fd, &st) == 0 && st.st_nlink == 0)
		handle_root_gone(watch, "removed");
}

static void handle_root_moved(struct st_watch *watch) {
	st_watch_notice(watch, "The watched directory \"%s\" was moved; watching continues there.",
	                watch->root->path);
	watch_parent(watch);
}

/* An event for a watched directory itself. */
static void handle_dir_event(struct st_watch *watch, struct st_watch_node *node, uint32_t mask) {
	if (node->parent)
		note_event(watch, node, mask);
	else if (mask & (IN_DELETE_SELF | IN_IGNORED | IN_UNMOUNT))
		handle_root_gone(watch, mask & IN_UNMOUNT ? "unmounted" : "removed");
	else if (mask & IN_MOVE_SELF)
		handle_root_moved(watch);
}

/* An event for an entry of a watched directory. */
static void handle_entry_event(struct st_watch *watch, struct st_watch_node *dir,
                               const struct st_inotify_event *event) {
	struct st_watch_node *node = st_watch_find(&watch->table, dir, event->name);
	if (!node) {
		if ((watch->flags & ST_WATCH_USED) ||
		    st_watch_ignores(watch, dir, event->name, event->mask & IN_ISDIR))
			return;
		node = st_watch_entry(&watch->table, dir, event->name);
	}
	if (!node)
		st_watch_rescan(watch);
	else
		note_event(watch, node, event->mask);
}

/* Whether the ignore rules of a directory, and of everything below it, may have changed. */
static bool is_about_rules(const struct st_watch *watch, const struct st_watch_node *dir,
                           const struct st_inotify_event *event) {
	if (watch->flags & (ST_WATCH_NO_FILES | ST_WATCH_USED))
		return false;
	return st_str_eq(event->name, ST_STR(".gitignore")) ||
	       (!dir->parent && st_str_eq(event->name, ST_STR(".git")));
}

static void handle_cookie_event(struct st_watch *watch, const struct st_inotify_event *event) {
	if (event->mask & IN_IGNORED)
		watch->cookie_wd = -1;
	watch->cookie_seen |= st_str_eq(event->name, st_str(watch->cookie));
}

/* The kernel has removed a watch; its directory may still exist. */
static void handle_watch_removed(struct st_watch *watch, int wd, uint32_t mask) {
	struct st_watch_node *node = st_inotify_owner(&watch->in, wd)->node;
	st_inotify_forget(&watch->in, wd);
	if (!node)
		return;
	node->dir->wd = -1;
	handle_dir_event(watch, node, mask);
}

static void handle_event(void *data, const struct st_inotify_event *event) {
	struct st_watch *watch = data;
	if (event->wd < 0) {
		watch->overflows++;
		st_watch_rescan(watch);
		return;
	}
	if (event->wd == watch->parent_wd) {
		check_root(watch);
		return;
	}
	if (event->wd == watch->cookie_wd) {
		handle_cookie_event(watch, event);
		return;
	}
	bool known = event->wd == watch->rules_wd;
	if (known)
		st_watch_rules_event(watch, event);
	struct st_watch_owner *owner = st_inotify_owner(&watch->in, event->wd);
	if (!owner) {
		if (!known && !(event->mask & IN_IGNORED))
			st_watch_rescan(watch);
	} else if (event->mask & IN_IGNORED) {
		handle_watch_removed(watch, event->wd, event->mask);
	} else if (!owner->node) {
		st_inotify_drop(&watch->in, event->wd);
	} else if (event->name.len == 0) {
		handle_dir_event(watch, owner->node, event->mask);
	} else {
		if (is_about_rules(watch, owner->node, event))
			st_watch_queue(watch, owner->node, true);
		handle_entry_event(watch, owner->node, event);
	}
}

static void check_events(struct st_watch *watch) {
	while (watch->events) {
		struct st_pending *pending = watch->events;
		watch->events = pending->next_event;
		pending->has_event = false;
		st_watch_check_kind(watch, pending->node);
	}
	st_watch_close_cached(watch);
}

static void check_mounts(struct st_watch *watch) {
	switch (st_mounts_check(&watch->mounts, watch->root)) {
	case ST_MOUNTS_SAME:
		break;
	case ST_MOUNTS_OTHER:
		st_watch_rescan(watch);
		break;
	case ST_MOUNTS_GONE:
		handle_root_gone(watch, "unmounted");
		break;
	}
}

/* Handle the events in the queue; stop after READS_MAX buffers if new events keep coming. */
static int read_events(struct st_watch *watch, struct stet_error *err) {
	check_mounts(watch);
	for (int i = 0; i < READS_MAX; i++) {
		int len = st_inotify_read(&watch->in, handle_event, watch, err);
		if (len < 0)
			return len;
		check_events(watch);
		st_watch_read_queue(watch);
		if (len == 0)
			break;
	}
	return 0;
}

/* ---- rescans and polling ---- */

static void poll_dirs(struct st_watch *watch) {
	struct st_watch_node *root = watch->table.root;
	for (struct st_watch_node *node = root; node; node = st_watch_next(root, node)) {
		if (node->dir && node->dir->polled)
			st_watch_queue(watch, node, false);
	}
	int64_t began = st_now_ms();
	check_root(watch);
	st_watch_read_queue(watch);
	int64_t took = st_now_ms() - began;
	watch->poll_at_ms =
		began + took + (took * POLL_SHARE > watch->poll_ms ? took * POLL_SHARE : watch->poll_ms);
}

static void read_due(struct st_watch *watch, bool now) {
	int64_t now_ms = st_now_ms();
	if (watch->rescan_at_ms >= 0 && (now || now_ms >= watch->rescan_at_ms)) {
		watch->rescan_at_ms = -1;
		if (!watch->gone)
			st_watch_rescan_now(watch);
	}
	if (watch->polled > 0 && (now || now_ms >= watch->poll_at_ms))
		poll_dirs(watch);
}

/* ---- rounds ---- */

static void report_due(struct st_watch *watch, bool now) {
	int64_t now_ms = st_now_ms();
	struct st_pending *pending;
	watch->has_reported = false;
	while ((pending = now ? watch->debounce.last_head : st_debounce_due(&watch->debounce, now_ms)))
		st_watch_check(watch, pending, now || watch->debounce_ms == 0);
	st_watch_close_cached(watch);
	st_watch_forget_changes(&watch->table, watch->max_changes);
	st_watch_read_queue(watch);
}

static int64_t sooner(int64_t a, int64_t b) {
	return a < 0 ? b : b < 0 ? a : a < b ? a : b;
}

/* Make st_watch_fd() readable when the next path, rescan or poll is due. */
static void set_timer(struct st_watch *watch) {
	int64_t at = st_debounce_deadline(&watch->debounce);
	at = sooner(at, watch->rescan_at_ms);
	if (watch->polled > 0)
		at = sooner(at, watch->poll_at_ms);
	/* st_now_ms() rounds down: a timer for exactly that moment would be early. */
	struct itimerspec when = {0};
	if (at >= 0)
		when.it_value = (struct timespec){at / 1000, at % 1000 * 1000000 + 1};
	timerfd_settime(watch->timer, TFD_TIMER_ABSTIME, &when, NULL);
}

static void clear_timer(const struct st_watch *watch) {
	uint64_t times;
	while (read(watch->timer, &times, sizeof times) < 0 && errno == EINTR)
		continue;
}

static int fail_gone(const struct st_watch *watch, struct stet_error *err) {
	return st_fail(err, STET_E_NOT_FOUND,
	               "The watched directory \"%s\" is gone. Start again when it is back.",
	               watch->root->path);
}

int st_watch_dispatch(struct st_watch *watch, struct stet_error *err) {
	clear_timer(watch);
	int code = read_events(watch, err);
	if (code < 0)
		return code;
	read_due(watch, false);
	report_due(watch, false);
	set_timer(watch);
	return watch->gone && watch->debounce.count == 0 ? fail_gone(watch, err) : 0;
}

/* ---- the cookie ---- */

/* Create a file in the state directory, whose events are seen but not reported. False if that fails. */
static bool create_cookie(struct st_watch *watch) {
	static _Atomic unsigned serial;
	st_autofd dir = st_state_find(watch->root, watch->state_dir, NULL);
	if (dir < 0)
		return false;
	int wd = st_inotify_add(&watch->in, dir);
	/* The state directory may be watched as a part of the tree. */
	if (wd < 0 || st_inotify_owner(&watch->in, wd))
		return false;
	watch->cookie_wd = wd;
	watch->cookie_seen = false;
	snprintf(watch->cookie, sizeof watch->cookie, "cookie-%d-%u", (int)getpid(), serial++);
	st_autofd fd =
		st_retry(openat(dir, watch->cookie, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
	if (fd < 0)
		return false;
	unlinkat(dir, watch->cookie, 0);
	return true;
}

/*
 * Without a cookie an empty queue is as good a proof: the kernel queues an
 * event before the system call that caused it returns.
 */
static int await_cookie(struct st_watch *watch, int64_t until_ms, struct stet_error *err) {
	enum { CANCEL_CHECK_MS = 20 };
	bool created = create_cookie(watch);
	for (;;) {
		size_t overflows = watch->overflows;
		int code = read_events(watch, err);
		if (code < 0)
			return code;
		/* After an overflow the cookie's event may be lost: the rescan replaces it. */
		if (!created || watch->cookie_seen || watch->overflows != overflows || watch->gone)
			return 0;
		int64_t left = until_ms - st_now_ms();
		if (left <= 0)
			return st_fail(err, STET_E_BUSY,
			               "The watcher did not see all earlier changes in time. Try again.");
		struct pollfd wait = {.fd = watch->in.fd, .events = POLLIN};
		(void)poll(&wait, 1, (int)(left < CANCEL_CHECK_MS ? left : CANCEL_CHECK_MS));
		if (st_cancel_check_now(err) < 0)
			return STET_E_CANCELLED;
	}
}

int st_watch_sync(struct st_watch *watch, int64_t timeout_ms, struct stet_error *err) {
	clear_timer(watch);
	int code = await_cookie(watch, st_now_ms() + timeout_ms, err);
	if (code < 0)
		return code;
	read_due(watch, true);
	report_due(watch, true);
	set_timer(watch);
	return watch->gone ? fail_gone(watch, err) : 0;
}

/* ---- files in use ---- */

/* Watch the directories that lead to a path, as far as they exist. */
static void watch_dirs_to(struct st_watch *watch, struct st_str path) {
	struct st_watch_node *node = watch->table.root;
	for (size_t start = 0; node;) {
		st_autofd fd = node->dir->present ? -1 : st_watch_open(watch, node);
		if (fd >= 0) {
			node->dir->present = true;
			st_watch_add_watch(watch, node, fd);
		}
		const char *slash = memchr(path.ptr + start, '/', path.len - start);
		if (!slash || !node->dir->present)
			return;
		size_t end = (size_t)(slash - path.ptr);
		node = st_watch_find(&watch->table, node, st_str_slice(path, start, end));
		start = end + 1;
	}
}

int st_watch_use(struct st_watch *watch, struct st_str path, struct stet_error *err) {
	struct st_watch_node *node = st_watch_entry_at(&watch->table, path);
	if (!node || !node->parent) {
		if (!node)
			return st_fail_nomem(err);
		return st_fail(err, STET_E_INVALID, "The path is empty. Name a file to watch.");
	}
	bool is_new = node->users == 0;
	for (struct st_watch_node *at = node; at; at = at->parent)
		at->users++;
	if (is_new) {
		watch_dirs_to(watch, path);
		st_watch_record_file(watch, node);
		st_watch_close_cached(watch);
	}
	set_timer(watch);
	return 0;
}

static void detach(struct st_watch *watch, struct st_watch_dir *dir) {
	struct st_watch_owner *owner = st_inotify_owner(&watch->in, dir->wd);
	if (owner) {
		owner->node = NULL;
		st_inotify_drop(&watch->in, dir->wd);
	}
	dir->wd = -1;
	dir->present = false;
	st_watch_set_polled(watch, dir, false);
}

void st_watch_unuse(struct st_watch *watch, struct st_str path) {
	struct st_watch_node *node = watch->table.root;
	for (size_t start = 0, end; node && start < path.len; start = end + 1) {
		const char *slash = memchr(path.ptr + start, '/', path.len - start);
		end = slash ? (size_t)(slash - path.ptr) : path.len;
		node = st_watch_find(&watch->table, node, st_str_slice(path, start, end));
	}
	if (!node || node->users == 0 || !node->parent)
		return;
	for (struct st_watch_node *at = node; at; at = at->parent) {
		if (--at->users > 0)
			continue;
		st_watch_forget_file(watch, at);
		if (at->dir && at->parent)
			detach(watch, at->dir);
	}
	st_watch_prune(&watch->table, node);
}

/* ---- the clock ---- */

void st_watch_clock(const struct st_watch *watch, char clock[ST_CLOCK_SIZE]) {
	snprintf(clock, ST_CLOCK_SIZE, "c:%016" PRIx64 ":%" PRIu64, watch->instance, watch->table.tick);
}

static bool parse_clock(const struct st_watch *watch, struct st_str clock, uint64_t *tick) {
	char text[ST_CLOCK_SIZE], end;
	uint64_t instance;
	if (clock.len >= sizeof text)
		return false;
	memcpy(text, clock.ptr, clock.len);
	text[clock.len] = '\0';
	return sscanf(text, "c:%" SCNx64 ":%" SCNu64 "%c", &instance, tick, &end) == 2 &&
	       instance == watch->instance && *tick >= watch->table.forgotten &&
	       *tick <= watch->table.tick;
}

/* With ST_WATCH_USED, list only files in use. */
static bool is_listed(const struct st_watch *watch, const struct st_watch_node *node) {
	return !(watch->flags & ST_WATCH_USED) || node->users > 0;
}

static int list_all(struct st_watch *watch,
                    void (*each)(void *data, const char *path, enum st_watch_event event),
                    void *data, struct stet_error *err) {
	struct st_watch_node *root = watch->table.root;
	for (struct st_watch_node *node = root; node; node = st_watch_next(root, node)) {
		if (!node->present)
			continue;
		st_watch_path(node, &watch->path);
		if (watch->path.failed)
			return st_fail_nomem(err);
		each(data, watch->path.ptr, ST_WATCH_ADD);
	}
	return 1;
}

int st_watch_since(struct st_watch *watch, struct st_str clock,
                   void (*each)(void *data, const char *path, enum st_watch_event event),
                   void *data, struct stet_error *err) {
	uint64_t tick;
	if (!parse_clock(watch, clock, &tick))
		return list_all(watch, each, data, err);
	for (const struct st_watch_change *change = watch->table.newest; change && change->tick > tick;
	     change = change->older) {
		const struct st_watch_node *node = change->node;
		if (!is_listed(watch, node))
			continue;
		st_watch_path(node, &watch->path);
		if (watch->path.failed)
			return st_fail_nomem(err);
		each(data, watch->path.ptr,
		     !node->present        ? ST_WATCH_UNLINK
		     : change->born > tick ? ST_WATCH_ADD
		                           : ST_WATCH_CHANGE);
	}
	return 0;
}

/* ---- start and stop ---- */

static bool epoll_add(const struct st_watch *watch, int fd, uint32_t events) {
	struct epoll_event event = {.events = events};
	return epoll_ctl(watch->epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

static int open_descriptors(struct st_watch *watch, struct stet_error *err) {
	struct stet_error why = {0};
	int code = st_inotify_open(&watch->in, &why);
	if (code == STET_E_LIMIT)
		st_watch_notice(watch, "%s stet polls the tree every %lld ms instead.", why.message,
		                (long long)watch->poll_ms);
	else if (code < 0)
		return st_fail(err, code, "%s", why.message);
	watch->epoll = epoll_create1(EPOLL_CLOEXEC);
	watch->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (watch->epoll < 0 || watch->timer < 0 || !epoll_add(watch, watch->timer, EPOLLIN) ||
	    (watch->in.fd >= 0 && !epoll_add(watch, watch->in.fd, EPOLLIN)))
		return st_fail_errno(err, errno, "Cannot create the watcher's descriptors");
	st_mounts_open(&watch->mounts, watch->root);
	if (watch->mounts.wake >= 0)
		(void)epoll_add(watch, watch->mounts.wake, EPOLLPRI);
	return 0;
}

static int start_watch(struct st_watch *watch, struct stet_error *err) {
	int code = open_descriptors(watch, err);
	if (code < 0)
		return code;
	if (!st_watch_table_init(&watch->table, watch->max_changes))
		return st_fail_nomem(err);
	if (st_retry(getrandom(&watch->instance, sizeof watch->instance, 0)) < 0)
		return st_fail_errno(err, errno, "Cannot get a random number");
	watch->debounce =
		(struct st_debounce){.wait_ms = watch->debounce_ms, .bound_ms = watch->bound_ms};
	watch->queue_end = &watch->queue;
	watch_parent(watch);
	return watch->flags & ST_WATCH_USED ? 0 : st_watch_first_pass(watch, err);
}

int st_watch_start(struct st_watch *watch, const struct st_root *root, struct stet_error *err) {
	watch->root = root;
	int code = start_watch(watch, err);
	if (code < 0)
		st_watch_stop(watch);
	else
		set_timer(watch);
	return code;
}

void st_watch_stop(struct st_watch *watch) {
	struct st_watch settings = ST_WATCH_INIT;
	settings.flags = watch->flags;
	settings.debounce_ms = watch->debounce_ms;
	settings.bound_ms = watch->bound_ms;
	settings.poll_ms = watch->poll_ms;
	settings.max_changes = watch->max_changes;
	settings.state_dir = watch->state_dir;
	settings.wanted = watch->wanted;
	settings.report = watch->report;
	settings.data = watch->data;
	st_close_at(&watch->epoll);
	st_close_at(&watch->timer);
	st_watch_close_cached(watch);
	st_inotify_release(&watch->in);
	st_mounts_release(&watch->mounts);
	st_debounce_release(&watch->debounce);
	st_watch_table_release(&watch->table);
	st_buf_release(&watch->path);
	st_buf_release(&watch->report_path);
	free(watch->detached);
	for (size_t i = 0; i < watch->notice_count; i++)
		free(watch->notices[i]);
	*watch = settings;
}
