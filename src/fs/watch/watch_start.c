#include <pthread.h>
#include <time.h>

#include "base/clock.h"
#include "fs/path/sys.h"
#include "fs/tree/walk.h"
#include "fs/watch/watch_look.h"

/* A tick of the clock is 1 to 10 ms. */
enum { TICK_MAX_MS = 50 };

/*
 * The first pass is a walk by several threads: each directory is watched, then
 * read, all by one thread, and what was found goes into the table at once.
 *
 * Most files are not looked at. Whether one has changed since can be seen from
 * its inode, which the listing tells, and from its ctime, where that is sure to
 * be later than the start for every change from now on.
 */
struct pass {
	struct st_watch *watch;
	/* Guards the table and the watches. */
	pthread_mutex_t lock;
};

/* The directory that this thread is in. */
struct place {
	struct st_watch_node *node;
	int wd;
	/* Its files need not be looked at, and are on this filesystem. */
	bool timed;
	dev_t dev;
	/* Its files, which are not in the table yet. */
	struct st_watch_node *files;
};

static _Thread_local struct place here;

/*
 * Take the time, and wait until ctimes, which go in ticks of the clock, are
 * past it. Where that does not come to pass, no ctime is believed.
 */
static void mark_start(struct st_watch *watch) {
	watch->start_ns = st_wall_ns();
	watch->start_offset_ns = watch->start_ns - st_now_us() * 1000;
	for (int tries = 0; tries < TICK_MAX_MS; tries++) {
		struct timespec now;
		clock_gettime(CLOCK_REALTIME_COARSE, &now);
		if (now.tv_sec * 1000000000 + now.tv_nsec > watch->start_ns)
			return;
		st_sleep_ms(1);
	}
	watch->start_ns = 0;
}

static int watch_dir(const struct st_watch *watch, int fd, enum st_watch_source source) {
	if (source == ST_WATCH_REMOTE || (watch->flags & ST_WATCH_POLL) || watch->in.fd < 0)
		return -1;
	return st_inotify_add(&watch->in, fd);
}

static int enter(void *data, int fd, struct st_str path, void *mark, struct stet_error *err) {
	const struct pass *pass = data;
	struct st_watch *watch = pass->watch;
	(void)path;
	struct st_watch_node *node = mark ? mark : watch->table.root;
	if (!st_watch_make_dir(node))
		return st_fail_nomem(err);
	node->dir->present = true;

	enum st_watch_source source = st_watch_source_of(fd);
	struct stat st;
	bool timed = watch->start_ns != 0 && source == ST_WATCH_TIMED && fstat(fd, &st) == 0;
	here = (struct place){.node = node, .wd = watch_dir(watch, fd, source)};
	/* Where no events come from, a stat is what the next one is compared with. */
	here.timed = timed && here.wd >= 0;
	here.dev = timed ? st.st_dev : 0;
	return 0;
}

/* In the table at once, since a directory may be listed twice while it changes, and is read once. */
static int on_dir(struct pass *pass, const struct st_walk_entry *entry, struct stet_error *err) {
	struct st_watch_table *table = &pass->watch->table;
	if (st_str_eq(entry->path, st_str(pass->watch->state_dir)))
		return ST_WALK_SKIP;
	pthread_mutex_lock(&pass->lock);
	bool twice = st_watch_find(table, here.node, entry->name) != NULL;
	struct st_watch_node *node = st_watch_entry(table, here.node, entry->name);
	pthread_mutex_unlock(&pass->lock);
	*entry->mark = node;
	if (!node)
		return st_fail_nomem(err);
	return twice ? ST_WALK_SKIP : 0;
}

static int on_entry(void *data, const struct st_walk_entry *entry, struct stet_error *err) {
	const struct st_watch *watch = ((struct pass *)data)->watch;
	if (entry->type == ST_WALK_DIR)
		return on_dir(data, entry, err);
	if ((entry->type != ST_WALK_FILE && entry->type != ST_WALK_LINK) ||
	    (watch->wanted && !watch->wanted(watch->data, entry->name)))
		return 0;
	struct stat st;
	if (!here.timed && st_retry(fstatat(entry->dir, entry->name.ptr, &st, AT_SYMLINK_NOFOLLOW)) < 0)
		return 0;
	struct st_watch_node *node = st_watch_add(here.node, entry->name, here.files);
	if (!node)
		return st_fail_nomem(err);
	here.files = node;
	node->present = true;
	node->unseen = here.timed;
	node->print = here.timed ? st_watch_print_inode(here.dev, entry->ino) : st_watch_print(&st);
	node->racy = !here.timed && st_watch_is_racy(entry->dir, &st);
	return 0;
}

/* With the lock held. */
static bool own_watch(struct st_watch *watch) {
	struct st_watch_owner *owner = st_inotify_owner(&watch->in, here.wd);
	/* No watch, or that of a directory which was met elsewhere: look into it after the walk. */
	if (here.wd < 0 || (owner && owner->node != here.node)) {
		st_watch_queue(watch, here.node, false);
		return true;
	}
	here.node->dir->wd = here.wd;
	return st_inotify_own(&watch->in, here.wd, here.node);
}

static int leave(void *data, struct st_ignore *rules, struct stet_error *err) {
	struct pass *pass = data;
	here.node->dir->ignore = st_ignore_keep(rules);
	pthread_mutex_lock(&pass->lock);
	st_watch_enlist(&pass->watch->table, here.files);
	bool ok = own_watch(pass->watch);
	pthread_mutex_unlock(&pass->lock);
	return ok ? 0 : st_fail_nomem(err);
}

static void skipped(void *data, struct st_str path, const struct stet_error *why) {
	struct pass *pass = data;
	(void)path;
	pthread_mutex_lock(&pass->lock);
	st_watch_say(pass->watch, "%s", why->message);
	pthread_mutex_unlock(&pass->lock);
}

int st_watch_first_pass(struct st_watch *watch, struct stet_error *err) {
	struct pass pass = {.watch = watch, .lock = PTHREAD_MUTEX_INITIALIZER};
	struct st_walk walk = {
		.flags = watch->flags & (ST_WATCH_NO_BUILTIN | ST_WATCH_NO_FILES),
		.data = &pass,
		.enter = enter,
		.on_entry = on_entry,
		.leave = leave,
		.skipped = skipped,
	};
	_Static_assert((int)ST_WATCH_NO_BUILTIN == (int)ST_WALK_NO_BUILTIN &&
	                   (int)ST_WATCH_NO_FILES == (int)ST_WALK_NO_FILES,
	               "the flags are handed on");
	if (watch->wanted)
		walk.flags |= ST_WALK_IGNORED_FILES;
	mark_start(watch);
	st_watch_rules_attach(watch);
	int code = st_walk_run(&walk, watch->root->fd, err);
	pthread_mutex_destroy(&pass.lock);
	if (code == 0)
		st_watch_read_queue(watch);
	return code;
}
