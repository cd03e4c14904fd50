#include <pthread.h>

#include "fs/sys.h"
#include "fs/walk.h"
#include "fs/watch_look.h"

/*
 * The first pass is a walk by several threads: each directory is watched, then
 * read, then its files are looked at, all by one thread.
 */
struct pass {
	struct st_watch *watch;
	/* Guards the table and the watches. */
	pthread_mutex_t lock;
};

/* The directory that this thread is in. */
static _Thread_local struct st_watch_node *current;

/* Without the lock: the calls that take time. */
static int watch_dir(const struct st_watch *watch, int fd, bool *remote) {
	*remote = st_watch_is_remote(fd);
	if (*remote || (watch->flags & ST_WATCH_POLL) || watch->in.fd < 0)
		return -1;
	return st_inotify_add(&watch->in, fd);
}

static int enter(void *data, int fd, struct st_str path, struct stet_error *err) {
	struct pass *pass = data;
	struct st_watch *watch = pass->watch;
	bool remote;
	int wd = watch_dir(watch, fd, &remote);

	pthread_mutex_lock(&pass->lock);
	struct st_watch_node *node = st_watch_at(&watch->table, path);
	bool ok = node && st_watch_make_dir(node);
	if (ok) {
		node->dir->present = true;
		/* No watch, or that of a directory which was met elsewhere: look into it after the walk. */
		struct st_watch_owner *owner = st_inotify_owner(&watch->in, wd);
		if (wd < 0 || (owner && owner->node != node))
			st_watch_queue(watch, node, false);
		else if (st_inotify_own(&watch->in, wd, node))
			node->dir->wd = wd;
		else
			ok = false;
	}
	pthread_mutex_unlock(&pass->lock);
	current = node;
	return ok ? 0 : st_fail_nomem(err);
}

static int visit(void *data, const struct st_walk_entry *entry, struct stet_error *err) {
	struct pass *pass = data;
	struct st_watch *watch = pass->watch;
	struct stat st;
	bool is_file = entry->type == ST_WALK_FILE || entry->type == ST_WALK_LINK;
	if (!is_file && entry->type != ST_WALK_DIR)
		return 0;
	if (entry->type == ST_WALK_DIR && st_str_eq(entry->path, st_str(watch->state_dir)))
		return ST_WALK_SKIP;
	if (is_file && st_retry(fstatat(entry->dir, entry->name.ptr, &st, AT_SYMLINK_NOFOLLOW)) < 0)
		return 0;
	bool racy = is_file && st_watch_is_racy(entry->dir, &st);

	pthread_mutex_lock(&pass->lock);
	if (!current->dir->ignore)
		current->dir->ignore = st_ignore_keep(entry->ignore);
	struct st_watch_node *node = st_watch_entry(&watch->table, current, entry->name);
	if (node && is_file) {
		watch->table.files += !node->present;
		node->present = true;
		node->print = st_watch_print(&st);
		node->racy = racy;
	}
	pthread_mutex_unlock(&pass->lock);
	return node ? 0 : st_fail_nomem(err);
}

static void skipped(void *data, struct st_str path, const struct stet_error *why) {
	struct pass *pass = data;
	(void)path;
	pthread_mutex_lock(&pass->lock);
	st_watch_say(pass->watch, "%s", why->message);
	pthread_mutex_unlock(&pass->lock);
}

/* Directories without entries have met no rules. */
static void inherit_rules(struct st_watch_node *root) {
	for (struct st_watch_node *node = root; node; node = st_watch_next(root, node)) {
		if (node->parent && node->dir && !node->dir->ignore)
			node->dir->ignore = st_ignore_keep(node->parent->dir->ignore);
	}
}

int st_watch_first_pass(struct st_watch *watch, struct stet_error *err) {
	struct pass pass = {.watch = watch, .lock = PTHREAD_MUTEX_INITIALIZER};
	struct st_walk walk = {
		.flags = watch->flags & (ST_WATCH_NO_BUILTIN | ST_WATCH_NO_FILES),
		.data = &pass,
		.enter = enter,
		.visit = visit,
		.skipped = skipped,
	};
	_Static_assert((int)ST_WATCH_NO_BUILTIN == (int)ST_WALK_NO_BUILTIN &&
	                   (int)ST_WATCH_NO_FILES == (int)ST_WALK_NO_FILES,
	               "the flags are handed on");
	int code = st_walk_run(&walk, watch->root->fd, err);
	pthread_mutex_destroy(&pass.lock);
	if (code == 0) {
		inherit_rules(watch->table.root);
		st_watch_read_queue(watch);
	}
	return code;
}
