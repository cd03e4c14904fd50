#include "fs/watch/watch_check.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "fs/path/relative_path.h"
#include "fs/file/file.h"
#include "fs/path/sys.h"

/* Do not hash larger files to see whether they changed; rely on their stat. */
#define HASHED_MAX ((size_t)1 << 20)

enum { COARSEST_S = 3, NS_PER_S = 1000000000 };

/* IS_MISSING includes ignored and special files, IS_FILE includes links. */
enum kind { IS_MISSING, IS_FILE, IS_DIR, IS_UNKNOWN };

struct path_state {
	enum kind kind;
	struct stat st;
	uint64_t fingerprint;
};

void st_watch_notice(struct st_watch *watch, const char *format, ...) {
	char *text = NULL;
	va_list args;
	va_start(args, format);
	int len = vasprintf(&text, format, args);
	va_end(args);
	if (len < 0)
		return;
	if (watch->notice_count < ST_WATCH_NOTICES)
		watch->notices[watch->notice_count++] = text;
	else
		free(text);
}

bool st_watch_ignores(struct st_watch *watch, const struct st_watch_node *dir, struct st_str name,
                      bool is_dir) {
	if (watch->flags & ST_WATCH_USED)
		return false;
	if (watch->wanted && !is_dir)
		return !watch->wanted(watch->data, name);
	if (!(watch->flags & ST_WATCH_NO_BUILTIN) && st_ignore_builtin(name, is_dir))
		return true;
	/* The state directory is watched for cookies only. */
	if (is_dir && !dir->parent && st_str_eq(name, st_str(watch->state_dir)))
		return true;
	if (!dir->dir->ignore)
		return false;
	st_auto(st_buf) path = ST_BUF_INIT;
	st_watch_path(dir, &path);
	if (path.len > 0)
		st_buf_addc(&path, '/');
	st_buf_add(&path, name);
	return !path.failed && st_ignore_match(dir->dir->ignore, st_buf_str(&path), is_dir, NULL);
}

/* ---- opening directories ---- */

int st_watch_open(struct st_watch *watch, const struct st_watch_node *dir) {
	st_watch_path(dir, &watch->path);
	if (watch->path.failed) {
		errno = ENOMEM;
		return -1;
	}
	return st_open_far_relative(watch->root->fd, watch->path.ptr);
}

void st_watch_close_cached(struct st_watch *watch) {
	st_close_at(&watch->cached_fd);
	watch->cached_dir = NULL;
}

/* As st_watch_open(), but the watcher keeps the descriptor until the next directory. */
static int open_cached(struct st_watch *watch, const struct st_watch_node *dir) {
	/* If a node was freed since, the same pointer may belong to another directory. */
	if (watch->cached_dir == dir && watch->cached_freed == watch->table.freed)
		return watch->cached_fd;
	st_watch_close_cached(watch);
	watch->cached_fd = st_watch_open(watch, dir);
	if (watch->cached_fd >= 0) {
		watch->cached_dir = dir;
		watch->cached_freed = watch->table.freed;
	}
	return watch->cached_fd;
}

/* ---- stat ---- */

bool st_watch_is_racy(int dir, const struct stat *st) {
	struct timespec now;
	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	if (st->st_mtim.tv_sec + COARSEST_S < now.tv_sec &&
	    st->st_ctim.tv_sec + COARSEST_S < now.tv_sec)
		return false;
	return st_stamp_take(dir, st).racy;
}

/*
 * A file that has not changed since the start has an older ctime, and no
 * program can set that. If the clock was set back, move the start as well.
 */
static bool is_older_than_start(const struct st_watch *watch, const struct stat *st) {
	int64_t start = watch->start_ns;
	int64_t offset = -st_now_us() * 1000;
	offset += st_wall_ns();
	if (offset < watch->start_offset_ns)
		start -= watch->start_offset_ns - offset;
	/* A ctime without a fraction was rounded down. */
	int64_t rounded = st->st_ctim.tv_nsec ? 0 : 1;
	return (st->st_ctim.tv_sec + rounded) * NS_PER_S + st->st_ctim.tv_nsec <= start;
}

bool st_watch_is_same(const struct st_watch *watch, struct st_watch_node *node,
                      const struct stat *st) {
	if (!node->present)
		return false;
	if (!node->unseen)
		return node->fingerprint == st_watch_fingerprint(st);
	if (node->fingerprint != st_watch_fingerprint_inode(st->st_dev, st->st_ino) ||
	    !is_older_than_start(watch, st))
		return false;
	node->unseen = false;
	node->fingerprint = st_watch_fingerprint(st);
	return true;
}

static bool is_gone(int errnum) {
	return errnum == ENOENT || errnum == ENOTDIR || errnum == ELOOP || errnum == ESTALE ||
	       errnum == ENAMETOOLONG;
}

static struct path_state stat_path(struct st_watch *watch, const struct st_watch_node *node) {
	struct path_state found = {.kind = IS_MISSING};
	int dir = open_cached(watch, node->parent);
	if (dir < 0 || st_retry(fstatat(dir, node->name, &found.st, AT_SYMLINK_NOFOLLOW)) < 0) {
		found.kind = is_gone(errno) ? IS_MISSING : IS_UNKNOWN;
		return found;
	}
	bool is_dir = S_ISDIR(found.st.st_mode);
	if (!is_dir && !S_ISREG(found.st.st_mode) && !S_ISLNK(found.st.st_mode))
		return found;
	if (st_watch_ignores(watch, node->parent, st_strn(node->name, node->name_len), is_dir))
		return found;
	found.kind = is_dir ? IS_DIR : IS_FILE;
	found.fingerprint = is_dir ? 0 : st_watch_fingerprint(&found.st);
	return found;
}

struct st_pending *st_watch_mark_pending(struct st_watch *watch, struct st_watch_node *node) {
	struct st_pending *pending = st_debounce_touch(&watch->debounce, node, st_now_ms());
	if (!pending)
		st_watch_rescan(watch);
	return pending;
}

void st_watch_check_kind(struct st_watch *watch, struct st_watch_node *node) {
	struct path_state found = stat_path(watch, node);
	if (found.kind == IS_DIR)
		st_watch_queue(watch, node, true);
	else if (found.kind != IS_UNKNOWN && node->dir && node->dir->present)
		st_watch_lose_dir(watch, node);
	if (node->pending)
		node->pending->fingerprint = found.fingerprint;
}

/* ---- content ---- */

enum content { SAME, OTHER, UNSTABLE };

static uint64_t digest_of(const struct st_hash *hash) {
	uint64_t digest;
	memcpy(&digest, hash->bytes, sizeof digest);
	return digest ? digest : 1;
}

/* The cost of opening a file in the units of st_cancel_check(). */
enum { OPEN_WORK = 16 << 10 };

/* Hash a file that still has the stat in `found`. 0 if it was not hashed. */
static uint64_t read_digest(struct st_watch *watch, const struct st_watch_node *node,
                            const struct path_state *found, bool *unstable) {
	*unstable = false;
	if (!S_ISREG(found->st.st_mode) || found->st.st_size > (off_t)HASHED_MAX)
		return 0;
	st_autofd fd = st_retry(openat(watch->cached_fd, node->name,
	                               O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
	if (fd < 0) {
		*unstable = errno == EAGAIN || is_gone(errno);
		return 0;
	}
	st_auto(st_file) file = ST_FILE_INIT;
	if (st_file_read(fd, node->name, HASHED_MAX, &file, NULL) < 0)
		return 0;
	st_cancel_progress(OPEN_WORK);
	struct st_stamp stamp = st_stamp_take(-1, &found->st);
	*unstable = !file.stamped || !st_stamp_eq(&stamp, &file.stamp);
	return *unstable ? 0 : digest_of(&file.hash);
}

/* Compare a file with the last report, and update its node. */
static enum content compare_content(struct st_watch *watch, struct st_watch_node *node,
                                    const struct st_pending *pending,
                                    const struct path_state *found) {
	bool equal = st_watch_is_same(watch, node, &found->st);
	if (equal && !node->racy && !pending->written)
		return SAME;
	bool unstable;
	uint64_t before = node->present ? node->digest : 0;
	uint64_t digest = read_digest(watch, node, found, &unstable);
	/* If the content was never hashed, rely on an equal stat, unless it is racy and there was a write. */
	bool unknown = before == 0 || digest == 0;
	bool same = unknown ? equal && !(node->racy && pending->written) : before == digest;
	node->digest = digest;
	node->fingerprint = found->fingerprint;
	node->unseen = false;
	node->racy = unstable || st_watch_is_racy(watch->cached_fd, &found->st);
	return unstable ? UNSTABLE : same ? SAME : OTHER;
}

static void report_change(struct st_watch *watch, struct st_watch_node *node,
                          enum st_watch_event event) {
	if (!watch->has_reported)
		watch->table.tick++;
	watch->has_reported = true;
	st_watch_changed(&watch->table, node, event == ST_WATCH_ADD);
	if (watch->report)
		watch->report(watch->data, watch->report_path.ptr, event);
}

static void set_present(struct st_watch *watch, struct st_watch_node *node, bool present) {
	if (node->present == present)
		return;
	node->present = present;
	if (present)
		watch->table.files++;
	else
		watch->table.files--;
	if (!present)
		node->digest = 0;
}

/* Restart the wait of a path that is still changing; false if it must be reported now. */
static bool wait_longer(struct st_watch *watch, struct st_pending *pending, uint64_t fingerprint,
                        bool now) {
	int64_t now_ms = st_now_ms();
	pending->fingerprint = fingerprint;
	if (now || st_debounce_is_overdue(&watch->debounce, pending, now_ms))
		return false;
	(void)st_debounce_touch(&watch->debounce, pending->node, now_ms);
	return true;
}

/* Report a file that exists. False if it is changing and has to wait, with its node as before. */
static bool check_existing_file(struct st_watch *watch, struct st_pending *pending,
                                const struct path_state *found, bool now) {
	struct st_watch_node *node = pending->node;
	struct st_watch_node before = *node;
	enum content content = compare_content(watch, node, pending, found);
	if (content == UNSTABLE && wait_longer(watch, pending, found->fingerprint, now)) {
		node->digest = before.digest;
		node->fingerprint = before.fingerprint;
		node->unseen = before.unseen;
		node->racy = before.racy;
		return false;
	}
	set_present(watch, node, true);
	if (!before.present)
		report_change(watch, node, ST_WATCH_ADD);
	else if (content != SAME)
		report_change(watch, node, ST_WATCH_CHANGE);
	return true;
}

void st_watch_check(struct st_watch *watch, struct st_pending *pending, bool now) {
	struct st_watch_node *node = pending->node;
	/* Record no change that we cannot report: the rescan will find it again. */
	st_watch_path(node, &watch->report_path);
	if (watch->report_path.failed) {
		st_debounce_done(&watch->debounce, pending);
		st_watch_rescan(watch);
		return;
	}
	struct path_state found = stat_path(watch, node);
	/* The file changed without an event since the last check. */
	if (pending->fingerprint != found.fingerprint &&
	    wait_longer(watch, pending, found.fingerprint, now))
		return;
	if (found.kind == IS_FILE && !check_existing_file(watch, pending, &found, now))
		return;
	if (found.kind == IS_DIR && !(node->dir && node->dir->present))
		st_watch_queue(watch, node, true);
	st_debounce_done(&watch->debounce, pending);
	if (found.kind != IS_FILE && found.kind != IS_UNKNOWN && node->present) {
		set_present(watch, node, false);
		report_change(watch, node, ST_WATCH_UNLINK);
	}
	st_watch_prune(&watch->table, node);
}

void st_watch_record_file(struct st_watch *watch, struct st_watch_node *node) {
	struct path_state found = stat_path(watch, node);
	if (found.kind != IS_FILE)
		return;
	bool unstable;
	set_present(watch, node, true);
	node->digest = read_digest(watch, node, &found, &unstable);
	node->fingerprint = found.fingerprint;
	node->racy = unstable || st_watch_is_racy(watch->cached_fd, &found.st);
}

void st_watch_forget_file(struct st_watch *watch, struct st_watch_node *node) {
	set_present(watch, node, false);
	if (node->pending)
		st_debounce_done(&watch->debounce, node->pending);
}
