#include "fs/watch/watch_look.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "fs/path/relative_path.h"
#include "fs/file/file.h"
#include "fs/path/sys.h"

/* Larger files are not hashed to see whether they changed; their stat has to do. */
#define HASHED_MAX ((size_t)1 << 20)

enum { COARSEST_S = 3, NS_PER_S = 1000000000 };

/* What is at a path: nothing that counts, a file or link, or a directory. */
enum kind { NOTHING, A_FILE, A_DIR, UNKNOWN };

struct sight {
	enum kind kind;
	struct stat st;
	uint64_t print;
};

void st_watch_say(struct st_watch *watch, const char *format, ...) {
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
	/* Our own directory is watched for cookies, and nobody's business. */
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

/* ---- directories at hand ---- */

int st_watch_open(struct st_watch *watch, const struct st_watch_node *dir) {
	st_watch_path(dir, &watch->path);
	if (watch->path.failed) {
		errno = ENOMEM;
		return -1;
	}
	return st_open_far_relative(watch->root->fd, watch->path.ptr);
}

void st_watch_near_close(struct st_watch *watch) {
	st_close_at(&watch->near_fd);
	watch->near = NULL;
}

int st_watch_near(struct st_watch *watch, const struct st_watch_node *dir) {
	/* A pointer alone does not tell a directory from one that was freed. */
	if (watch->near == dir && watch->near_freed == watch->table.freed)
		return watch->near_fd;
	st_watch_near_close(watch);
	watch->near_fd = st_watch_open(watch, dir);
	if (watch->near_fd >= 0) {
		watch->near = dir;
		watch->near_freed = watch->table.freed;
	}
	return watch->near_fd;
}

/* ---- looks ---- */

bool st_watch_is_racy(int dir, const struct stat *st) {
	struct timespec now;
	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	if (st->st_mtim.tv_sec + COARSEST_S < now.tv_sec &&
	    st->st_ctim.tv_sec + COARSEST_S < now.tv_sec)
		return false;
	return st_stamp_take(dir, st).racy;
}

/*
 * What has not changed since the start has an older ctime, which nobody can
 * set. If the clock was put back meanwhile, so is what counts as the start.
 */
static bool is_older_than_start(const struct st_watch *watch, const struct stat *st) {
	int64_t start = watch->start_ns;
	int64_t offset = -st_now_us() * 1000;
	offset += st_wall_ns();
	if (offset < watch->start_offset_ns)
		start -= watch->start_offset_ns - offset;
	/* Without a fraction, it was rounded down. */
	int64_t rounded = st->st_ctim.tv_nsec ? 0 : 1;
	return (st->st_ctim.tv_sec + rounded) * NS_PER_S + st->st_ctim.tv_nsec <= start;
}

bool st_watch_is_same(const struct st_watch *watch, struct st_watch_node *node,
                      const struct stat *st) {
	if (!node->present)
		return false;
	if (!node->unseen)
		return node->print == st_watch_print(st);
	if (node->print != st_watch_print_inode(st->st_dev, st->st_ino) ||
	    !is_older_than_start(watch, st))
		return false;
	node->unseen = false;
	node->print = st_watch_print(st);
	return true;
}

static bool is_gone(int errnum) {
	return errnum == ENOENT || errnum == ENOTDIR || errnum == ELOOP || errnum == ESTALE ||
	       errnum == ENAMETOOLONG;
}

static struct sight see(struct st_watch *watch, const struct st_watch_node *node) {
	struct sight sight = {.kind = NOTHING};
	int dir = st_watch_near(watch, node->parent);
	if (dir < 0 || st_retry(fstatat(dir, node->name, &sight.st, AT_SYMLINK_NOFOLLOW)) < 0) {
		sight.kind = is_gone(errno) ? NOTHING : UNKNOWN;
		return sight;
	}
	bool is_dir = S_ISDIR(sight.st.st_mode);
	if (!is_dir && !S_ISREG(sight.st.st_mode) && !S_ISLNK(sight.st.st_mode))
		return sight;
	if (st_watch_ignores(watch, node->parent, st_strn(node->name, node->name_len), is_dir))
		return sight;
	sight.kind = is_dir ? A_DIR : A_FILE;
	sight.print = is_dir ? 0 : st_watch_print(&sight.st);
	return sight;
}

struct st_pending *st_watch_touch(struct st_watch *watch, struct st_watch_node *node) {
	struct st_pending *pending = st_debounce_touch(&watch->debounce, node, st_now_ms());
	if (!pending)
		st_watch_renew(watch);
	return pending;
}

void st_watch_glance(struct st_watch *watch, struct st_watch_node *node) {
	struct sight sight = see(watch, node);
	if (sight.kind == A_DIR)
		st_watch_queue(watch, node, true);
	else if (sight.kind != UNKNOWN && node->dir && node->dir->present)
		st_watch_lose(watch, node);
	if (node->pending)
		node->pending->print = sight.print;
}

/* ---- content ---- */

enum content { SAME, OTHER, RESTLESS };

static uint64_t digest_of(const struct st_hash *hash) {
	uint64_t digest;
	memcpy(&digest, hash->bytes, sizeof digest);
	return digest ? digest : 1;
}

/* What a file costs besides its bytes, in the measure of st_cancel_check(). */
enum { OPEN_WORK = 16 << 10 };

/* The digest of a file that still is what was seen of it; 0 if there is none. */
static uint64_t read_digest(struct st_watch *watch, const struct st_watch_node *node,
                            const struct sight *sight, bool *restless) {
	*restless = false;
	if (!S_ISREG(sight->st.st_mode) || sight->st.st_size > (off_t)HASHED_MAX)
		return 0;
	st_autofd fd = st_retry(openat(watch->near_fd, node->name,
	                               O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
	if (fd < 0) {
		*restless = errno == EAGAIN || is_gone(errno);
		return 0;
	}
	st_auto(st_file) file = ST_FILE_INIT;
	if (st_file_read(fd, node->name, HASHED_MAX, &file, NULL) < 0)
		return 0;
	st_cancel_tell(OPEN_WORK);
	struct st_stamp stamp = st_stamp_take(-1, &sight->st);
	*restless = !file.stamped || !st_stamp_eq(&stamp, &file.stamp);
	return *restless ? 0 : digest_of(&file.hash);
}

/* Compare a file with what was reported of it, and note what is new. */
static enum content compare(struct st_watch *watch, struct st_watch_node *node,
                            const struct st_pending *pending, const struct sight *sight) {
	bool equal = st_watch_is_same(watch, node, &sight->st);
	if (equal && !node->racy && !pending->written)
		return SAME;
	bool restless;
	uint64_t before = node->present ? node->digest : 0;
	uint64_t digest = read_digest(watch, node, sight, &restless);
	/* Where the content was never read, an equal stat has to do, unless it can be known not to. */
	bool unknown = before == 0 || digest == 0;
	bool same = unknown ? equal && !(node->racy && pending->written) : before == digest;
	node->digest = digest;
	node->print = sight->print;
	node->unseen = false;
	node->racy = restless || st_watch_is_racy(watch->near_fd, &sight->st);
	return restless ? RESTLESS : same ? SAME : OTHER;
}

static void report(struct st_watch *watch, struct st_watch_node *node, enum st_watch_event event) {
	if (!watch->stirred)
		watch->table.tick++;
	watch->stirred = true;
	st_watch_changed(&watch->table, node, event == ST_WATCH_ADD);
	if (watch->report)
		watch->report(watch->data, watch->told.ptr, event);
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

/* Whether to wait for more rest, which has a bound. */
static bool put_off(struct st_watch *watch, struct st_pending *pending, uint64_t print, bool now) {
	int64_t now_ms = st_now_ms();
	pending->print = print;
	if (now || st_debounce_is_overdue(&watch->debounce, pending, now_ms))
		return false;
	(void)st_debounce_touch(&watch->debounce, pending->node, now_ms);
	return true;
}

/* A file is there. Its earlier stat is needed if it has to wait. */
static bool look_at_file(struct st_watch *watch, struct st_pending *pending,
                         const struct sight *sight, bool now) {
	struct st_watch_node *node = pending->node;
	struct st_watch_node before = *node;
	enum content content = compare(watch, node, pending, sight);
	if (content == RESTLESS && put_off(watch, pending, sight->print, now)) {
		node->digest = before.digest;
		node->print = before.print;
		node->unseen = before.unseen;
		node->racy = before.racy;
		return false;
	}
	set_present(watch, node, true);
	if (!before.present)
		report(watch, node, ST_WATCH_ADD);
	else if (content != SAME)
		report(watch, node, ST_WATCH_CHANGE);
	return true;
}

void st_watch_look(struct st_watch *watch, struct st_pending *pending, bool now) {
	struct st_watch_node *node = pending->node;
	/* Nothing may be noted that cannot be told: the next reading finds it again. */
	st_watch_path(node, &watch->told);
	if (watch->told.failed) {
		st_debounce_done(&watch->debounce, pending);
		st_watch_renew(watch);
		return;
	}
	struct sight sight = see(watch, node);
	/* It moved without an event since the last look. */
	if (pending->print != sight.print && put_off(watch, pending, sight.print, now))
		return;
	if (sight.kind == A_FILE && !look_at_file(watch, pending, &sight, now))
		return;
	if (sight.kind == A_DIR && !(node->dir && node->dir->present))
		st_watch_queue(watch, node, true);
	st_debounce_done(&watch->debounce, pending);
	if (sight.kind != A_FILE && sight.kind != UNKNOWN && node->present) {
		set_present(watch, node, false);
		report(watch, node, ST_WATCH_UNLINK);
	}
	st_watch_prune(&watch->table, node);
}

void st_watch_adopt(struct st_watch *watch, struct st_watch_node *node) {
	struct sight sight = see(watch, node);
	if (sight.kind != A_FILE)
		return;
	bool restless;
	set_present(watch, node, true);
	node->digest = read_digest(watch, node, &sight, &restless);
	node->print = sight.print;
	node->racy = restless || st_watch_is_racy(watch->near_fd, &sight.st);
}

void st_watch_disown(struct st_watch *watch, struct st_watch_node *node) {
	set_present(watch, node, false);
	if (node->pending)
		st_debounce_done(&watch->debounce, node->pending);
}
