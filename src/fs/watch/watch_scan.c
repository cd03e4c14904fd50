/* Read the directories of the queue: watch each, then list it, and compare its files with the table. */
#include <dirent.h>
#include <linux/magic.h>
#include <sys/vfs.h>

#include "base/clock.h"
#include "base/array.h"
#include "fs/tree/ignore_file.h"
#include "fs/path/sys.h"
#include "fs/watch/watch_check.h"

#define LISTING_SIZE ((size_t)65536)

/* Missing in some versions of linux/magic.h. */
#define MAGIC_CIFS 0xFF534D42u
#define MAGIC_FUSE 0x65735546u
#define MAGIC_SMB2 0xFE534D42u

enum st_watch_source st_watch_source_of(int fd) {
	struct statfs fs;
	if (fstatfs(fd, &fs) < 0)
		return ST_WATCH_LOCAL;
	switch ((uint32_t)fs.f_type) {
	case BTRFS_SUPER_MAGIC:
	case EXT4_SUPER_MAGIC:
	case F2FS_SUPER_MAGIC:
	case TMPFS_MAGIC:
	case XFS_SUPER_MAGIC:
		return ST_WATCH_TIMED;
	case AFS_SUPER_MAGIC:
	case CEPH_SUPER_MAGIC:
	case CODA_SUPER_MAGIC:
	case NCP_SUPER_MAGIC:
	case NFS_SUPER_MAGIC:
	case SMB_SUPER_MAGIC:
	case V9FS_MAGIC:
	case MAGIC_CIFS:
	case MAGIC_FUSE:
	case MAGIC_SMB2:
		return ST_WATCH_REMOTE;
	default:
		return ST_WATCH_LOCAL;
	}
}

void st_watch_set_polled(struct st_watch *watch, struct st_watch_dir *dir, bool polled) {
	if (dir->polled == polled)
		return;
	dir->polled = polled;
	watch->polled += polled ? 1 : (size_t)-1;
	if (watch->polled == 1 && polled)
		watch->poll_at_ms = st_now_ms() + watch->poll_ms;
}

void st_watch_queue(struct st_watch *watch, struct st_watch_node *node, bool deep) {
	if (!st_watch_make_dir(node)) {
		st_watch_rescan(watch);
		return;
	}
	struct st_watch_dir *dir = node->dir;
	dir->present = true;
	dir->deep |= deep;
	if (dir->queued)
		return;
	dir->queued = true;
	dir->next_queued = NULL;
	*watch->queue_end = dir;
	watch->queue_end = &dir->next_queued;
}

/* ---- watches ---- */

/* The directory was moved or removed; its watch may show up at another path in this round. */
static void detach_watch(struct st_watch *watch, int wd) {
	struct st_watch_owner *owner = st_inotify_owner(&watch->in, wd);
	if (!owner)
		return;
	owner->node = NULL;
	if (!st_array_room(&watch->detached, watch->detached_count, sizeof *watch->detached)) {
		st_inotify_drop(&watch->in, wd);
		return;
	}
	watch->detached[watch->detached_count++] = wd;
}

/* Watches that did not show up again belong to directories outside the tree. */
static void drop_detached(struct st_watch *watch) {
	for (size_t i = 0; i < watch->detached_count; i++) {
		const struct st_watch_owner *owner = st_inotify_owner(&watch->in, watch->detached[i]);
		if (owner && !owner->node)
			st_inotify_drop(&watch->in, watch->detached[i]);
	}
	watch->detached_count = 0;
}

static void report_limit(struct st_watch *watch) {
	if (!watch->limit_reported)
		st_watch_notice(
			watch,
			"No inotify watches are left (fs.inotify.max_user_watches), so stet polls a part of "
			"the tree every %lld ms instead. Raise that limit, or ignore large directories.",
			(long long)watch->poll_ms);
	watch->limit_reported = true;
}

static void report_network(struct st_watch *watch) {
	if (!watch->network_reported)
		st_watch_notice(
			watch,
			"A part of the tree is on a network filesystem, where other machines' changes cause "
			"no events; stet polls that part every %lld ms.",
			(long long)watch->poll_ms);
	watch->network_reported = true;
}

/* Whether the node's path leads to the same directory as fd. */
static bool is_same_dir(struct st_watch *watch, const struct st_watch_node *node, int fd) {
	struct stat here, there;
	st_autofd other = st_watch_open(watch, node);
	return other >= 0 && fstat(other, &there) == 0 && fstat(fd, &here) == 0 &&
	       here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

/* Returns the directory's watch, or -1 if the directory has to be polled. */
static int find_watch(struct st_watch *watch, struct st_watch_node *node, int fd) {
	if ((watch->flags & ST_WATCH_POLL) || watch->in.fd < 0)
		return -1;
	if (st_watch_source_of(fd) == ST_WATCH_REMOTE) {
		report_network(watch);
		return -1;
	}
	int wd = st_inotify_add(&watch->in, fd);
	if (wd < 0) {
		report_limit(watch);
		return -1;
	}
	/* A directory with two paths is a bind mount; a watch can report only one of them. */
	struct st_watch_owner *owner = st_inotify_owner(&watch->in, wd);
	struct st_watch_node *other = owner && owner->node != node ? owner->node : NULL;
	if (other && is_same_dir(watch, other, fd))
		return -1;
	if (other) {
		other->dir->wd = -1;
		(void)st_watch_mark_pending(watch, other);
	}
	if (st_inotify_set_owner(&watch->in, wd, node))
		return wd;
	st_inotify_drop(&watch->in, wd);
	return -1;
}

void st_watch_add_watch(struct st_watch *watch, struct st_watch_node *node, int fd) {
	struct st_watch_dir *dir = node->dir;
	int wd = find_watch(watch, node, fd);
	if (dir->wd >= 0 && dir->wd != wd)
		detach_watch(watch, dir->wd);
	dir->wd = wd;
	st_watch_set_polled(watch, dir, wd < 0);
}

/* ---- directories that are gone ---- */

void st_watch_lose_dir(struct st_watch *watch, struct st_watch_node *top) {
	for (struct st_watch_node *node = top; node; node = st_watch_next(top, node)) {
		if (node->dir && node->dir->present) {
			if (node->dir->wd >= 0)
				detach_watch(watch, node->dir->wd);
			node->dir->wd = -1;
			node->dir->present = false;
			st_watch_set_polled(watch, node->dir, false);
		}
		if (node->present)
			(void)st_watch_mark_pending(watch, node);
	}
}

/* ---- reading ---- */

/* The reading of one directory. */
struct scan {
	struct st_watch *watch;
	struct st_watch_node *node;
	int fd;
	bool deep;
	char *listing;
};

static void compare_file(struct st_watch *watch, struct st_watch_node *node,
                         const struct stat *st) {
	if (st_watch_is_same(watch, node, st) && !node->racy)
		return;
	uint64_t fingerprint = st_watch_fingerprint(st);
	/* Polling must not restart the wait of a file that has not changed since the last poll. */
	if (node->pending && node->pending->fingerprint == fingerprint)
		return;
	struct st_pending *pending = st_watch_mark_pending(watch, node);
	if (pending)
		pending->fingerprint = fingerprint;
}

/* Find or add the node of a listed entry, and mark it as listed. */
static struct st_watch_node *listed_node(struct st_watch *watch, struct st_watch_node *dir,
                                         struct st_str name) {
	struct st_watch_node *node = st_watch_entry(&watch->table, dir, name);
	if (node)
		node->pass = watch->pass;
	else
		st_watch_rescan(watch);
	return node;
}

void st_watch_listed_file(struct st_watch *watch, struct st_watch_node *dir, struct st_str name,
                          const struct stat *st) {
	if (!S_ISREG(st->st_mode) && !S_ISLNK(st->st_mode))
		return;
	struct st_watch_node *node = listed_node(watch, dir, name);
	if (!node)
		return;
	if (node->dir && node->dir->present)
		st_watch_lose_dir(watch, node);
	compare_file(watch, node, st);
}

struct st_watch_node *st_watch_listed_dir(struct st_watch *watch, struct st_watch_node *dir,
                                          struct st_str name) {
	struct st_watch_node *node = listed_node(watch, dir, name);
	if (node && node->present)
		(void)st_watch_mark_pending(watch, node);
	return node;
}

static void scan_dir(struct scan *scan, struct st_str name) {
	struct st_watch_node *node = st_watch_listed_dir(scan->watch, scan->node, name);
	if (node && (scan->deep || !node->dir || !node->dir->present))
		st_watch_queue(scan->watch, node, scan->deep);
}

static void scan_entry(struct scan *scan, struct st_str name, unsigned type) {
	struct stat st;
	bool known_dir = type == DT_DIR;
	/* Skip the stat if name and type show that the entry is ignored. */
	if (type != DT_UNKNOWN && st_watch_ignores(scan->watch, scan->node, name, known_dir))
		return;
	if (!known_dir && st_retry(fstatat(scan->fd, name.ptr, &st, AT_SYMLINK_NOFOLLOW)) < 0)
		return;
	bool is_dir = known_dir || S_ISDIR(st.st_mode);
	if ((type == DT_UNKNOWN || is_dir != known_dir) &&
	    st_watch_ignores(scan->watch, scan->node, name, is_dir))
		return;
	if (is_dir)
		scan_dir(scan, name);
	else
		st_watch_listed_file(scan->watch, scan->node, name, &st);
}

static bool lists_rules(const char *listing, size_t len) {
	for (size_t at = 0; at < len;) {
		const struct dirent64 *entry = (const void *)(listing + at);
		at += entry->d_reclen;
		if (strcmp(entry->d_name, ".gitignore") == 0)
			return true;
	}
	return false;
}

/* The rules that a directory inherits; the caller owns them. */
static struct st_ignore *rules_above(struct st_watch *watch, const struct st_watch_node *node) {
	if (node->parent)
		return st_ignore_keep(node->parent->dir->ignore);
	struct st_ignore *rules = NULL;
	struct stet_error why = {0};
	st_watch_rules_add_watch(watch);
	if (st_ignore_load_exclude(watch->root->fd, &rules, &why) < 0)
		st_watch_notice(watch, "%s", why.message);
	return rules;
}

/* Set the directory's rules: those that it inherits, and those of its own .gitignore. */
static void load_rules(struct scan *scan, size_t len) {
	struct st_watch *watch = scan->watch;
	struct st_watch_dir *dir = scan->node->dir;
	if (watch->flags & (ST_WATCH_NO_FILES | ST_WATCH_USED))
		return;
	struct st_ignore *above = rules_above(watch, scan->node), *rules = NULL;
	struct stet_error why = {0};
	/* If the buffer is nearly full, the listing may continue, and .gitignore may come later. */
	if (len + 1024 < LISTING_SIZE && !lists_rules(scan->listing, len))
		rules = st_ignore_keep(above);
	else if (st_ignore_load(above, scan->fd, st_buf_str(&watch->path), &rules, &why) < 0)
		st_watch_notice(watch, "%s", why.message);
	st_ignore_drop(above);
	st_ignore_drop(dir->ignore);
	dir->ignore = rules;
}

static int list_entries(struct scan *scan) {
	bool first = true;
	for (;;) {
		ssize_t len = st_retry(getdents64(scan->fd, scan->listing, LISTING_SIZE));
		if (len < 0)
			return -1;
		if (first)
			load_rules(scan, (size_t)len);
		first = false;
		if (len == 0)
			return 0;
		for (ssize_t at = 0; at < len;) {
			const struct dirent64 *entry = (const void *)(scan->listing + at);
			at += entry->d_reclen;
			struct st_str name = st_str(entry->d_name);
			if (!st_str_eq(name, ST_STR(".")) && !st_str_eq(name, ST_STR("..")))
				scan_entry(scan, name, entry->d_type);
		}
	}
}

void st_watch_check_unlisted(struct st_watch *watch, struct st_watch_node *dir) {
	for (struct st_watch_node *node = dir->dir->first; node; node = node->next) {
		if (node->pass == watch->pass)
			continue;
		if (node->dir && node->dir->present)
			st_watch_lose_dir(watch, node);
		else if (node->present && !node->pending)
			(void)st_watch_mark_pending(watch, node);
	}
}

/* With ST_WATCH_USED, check only the files in use. */
static void check_used(struct st_watch *watch, struct st_watch_node *dir) {
	for (struct st_watch_node *node = dir->dir->first; node; node = node->next) {
		if (node->users == 0)
			continue;
		if (!node->pending || !(dir->dir->polled))
			(void)st_watch_mark_pending(watch, node);
		st_watch_check_kind(watch, node);
	}
}

static void handle_unreadable(struct st_watch *watch, struct st_watch_node *node, int errnum) {
	if (errnum == ENOENT || errnum == ENOTDIR || errnum == ELOOP || errnum == ESTALE) {
		st_watch_lose_dir(watch, node);
		return;
	}
	char text[128];
	st_watch_path(node, &watch->path);
	st_watch_notice(watch, "The directory \"%s\" is not watched: %s.", st_buf_cstr(&watch->path),
	                strerror_r(errnum, text, sizeof text));
}

/* Add the watch before reading: changes in between are in the listing, in the events, or in both. */
static void read_dir(struct st_watch *watch, struct st_watch_dir *dir, bool deep, char *listing) {
	struct st_watch_node *node = dir->node;
	st_autofd fd = st_watch_open(watch, node);
	if (fd < 0) {
		handle_unreadable(watch, node, errno);
		return;
	}
	st_watch_add_watch(watch, node, fd);
	if (watch->flags & ST_WATCH_USED) {
		check_used(watch, node);
		return;
	}
	watch->pass++;
	st_watch_path(node, &watch->path);
	struct scan scan = {.watch = watch, .node = node, .fd = fd, .deep = deep, .listing = listing};
	if (list_entries(&scan) < 0)
		handle_unreadable(watch, node, errno);
	else
		st_watch_check_unlisted(watch, node);
}

void st_watch_read_queue(struct st_watch *watch) {
	if (!watch->queue) {
		drop_detached(watch);
		return;
	}
	st_watch_close_cached(watch);
	st_autofree char *listing = malloc(LISTING_SIZE);
	if (!listing) {
		st_watch_rescan(watch);
		return;
	}
	while (watch->queue) {
		struct st_watch_dir *dir = watch->queue;
		watch->queue = dir->next_queued;
		if (!watch->queue)
			watch->queue_end = &watch->queue;
		bool deep = dir->deep;
		dir->queued = dir->deep = false;
		if (dir->present)
			read_dir(watch, dir, deep, listing);
		st_watch_prune(&watch->table, dir->node);
	}
	drop_detached(watch);
}
