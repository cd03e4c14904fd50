/* The first pass over the tree: a walk that watches each directory and fills the table. */
#include <pthread.h>
#include <time.h>

#include "base/clock.h"
#include "fs/path/sys.h"
#include "fs/tree/walk.h"
#include "fs/watch/watch_check.h"

/* A tick of the clock is 1 to 10 ms. */
enum { TICK_MAX_MS = 50 };

/*
 * The first pass is a walk with several threads. One thread adds a watch to a
 * directory, reads it, and then inserts all its files into the table at once.
 *
 * Most files are not stat-ed. The listing shows a file's inode; if that and a
 * ctime before the start are unchanged later, the file has not changed. This
 * works where every later change is sure to set a ctime after the start.
 */
struct pass {
	struct st_watch *watch;
	/* Guards the table and the map of watches. */
	pthread_mutex_t lock;
};

/* The directory that this thread reads. */
struct place {
	struct st_watch_node *node;
	int wd;
	/* Its files need no stat; they are on device dev. */
	bool timed;
	dev_t dev;
	/* Its files, not yet in the table. */
	struct st_watch_node *files;
};

static _Thread_local struct place here;

/*
 * Note the time, and wait until the coarse clock, from which ctimes come, is
 * past it. If that takes too long, do not rely on ctimes.
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

static int add_dir_watch(const struct st_watch *watch, int fd, enum st_watch_source source) {
	if (source == ST_WATCH_REMOTE || (watch->flags & ST_WATCH_POLL) || watch->in.fd < 0)
		return -1;
	return st_inotify_add(&watch->in, fd);
}

static int enter_new_dir(void *data, int fd, struct st_str path, void *mark,
                         struct stet_error *err) {
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
	here = (struct place){.node = node, .wd = add_dir_watch(watch, fd, source)};
	/* A polled directory needs the stat of its files, to compare with the next one. */
	here.timed = timed && here.wd >= 0;
	here.dev = timed ? st.st_dev : 0;
	return 0;
}

/* Insert a directory at once: a listing may contain it twice, but we must read it only once. */
static int add_dir_node(struct pass *pass, const struct st_walk_entry *entry,
                        struct stet_error *err) {
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

static int add_entry_node(void *data, const struct st_walk_entry *entry, struct stet_error *err) {
	const struct st_watch *watch = ((struct pass *)data)->watch;
	if (entry->type == ST_WALK_DIR)
		return add_dir_node(data, entry, err);
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
	node->fingerprint =
		here.timed ? st_watch_fingerprint_inode(here.dev, entry->ino) : st_watch_fingerprint(&st);
	node->racy = !here.timed && st_watch_is_racy(entry->dir, &st);
	return 0;
}

/* With the lock held. */
static bool own_watch(struct st_watch *watch) {
	struct st_watch_owner *owner = st_inotify_owner(&watch->in, here.wd);
	/* No watch, or one that belongs to another path: read the directory again after the walk. */
	if (here.wd < 0 || (owner && owner->node != here.node)) {
		st_watch_queue(watch, here.node, false);
		return true;
	}
	here.node->dir->wd = here.wd;
	return st_inotify_set_owner(&watch->in, here.wd, here.node);
}

static int leave_new_dir(void *data, struct st_ignore *rules, struct stet_error *err) {
	struct pass *pass = data;
	here.node->dir->ignore = st_ignore_keep(rules);
	pthread_mutex_lock(&pass->lock);
	st_watch_insert_added(&pass->watch->table, here.files);
	bool ok = own_watch(pass->watch);
	pthread_mutex_unlock(&pass->lock);
	return ok ? 0 : st_fail_nomem(err);
}

static void report_skipped_dir(void *data, struct st_str path, const struct stet_error *why) {
	struct pass *pass = data;
	(void)path;
	pthread_mutex_lock(&pass->lock);
	st_watch_notice(pass->watch, "%s", why->message);
	pthread_mutex_unlock(&pass->lock);
}

int st_watch_first_pass(struct st_watch *watch, struct stet_error *err) {
	struct pass pass = {.watch = watch, .lock = PTHREAD_MUTEX_INITIALIZER};
	struct st_walk walk = {
		.flags = watch->flags & (ST_WATCH_NO_BUILTIN | ST_WATCH_NO_FILES),
		.data = &pass,
		.enter = enter_new_dir,
		.on_entry = add_entry_node,
		.leave = leave_new_dir,
		.skipped = report_skipped_dir,
	};
	_Static_assert((int)ST_WATCH_NO_BUILTIN == (int)ST_WALK_NO_BUILTIN &&
	                   (int)ST_WATCH_NO_FILES == (int)ST_WALK_NO_FILES,
	               "the walk gets the same flags");
	if (watch->wanted)
		walk.flags |= ST_WALK_IGNORED_FILES;
	mark_start(watch);
	st_watch_rules_add_watch(watch);
	int code = st_walk_run(&walk, watch->root->fd, err);
	pthread_mutex_destroy(&pass.lock);
	if (code == 0)
		st_watch_read_queue(watch);
	return code;
}
