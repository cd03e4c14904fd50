/* Walk the tree again after lost events, and compare every file with the table. */
#include <limits.h>
#include <pthread.h>

#include "base/cancel.h"
#include "fs/path/sys.h"
#include "fs/tree/walk.h"
#include "fs/watch/watch_check.h"

/* The stats of files in a directory. A thread collects them to take the lock once for many files. */
struct batch {
	struct batch *next;
	size_t count;
	struct {
		struct stat st;
		size_t len;
		char name[NAME_MAX + 1];
	} files[64];
};

/*
 * A rescan walks the known directories with several threads and compares what
 * it finds with the table. It queues new directories for later. No node is
 * freed during the walk.
 */
struct rescan {
	struct st_watch *watch;
	/* Guards the watcher, its table, and the list of batches. */
	pthread_mutex_t lock;
	struct batch *batches;
};

/* The directory that this thread reads, and the stats of its files. */
static _Thread_local struct st_watch_node *here;
static _Thread_local struct batch *batch;

static int enter_known_dir(void *data, int fd, struct st_str path, void *mark,
                           struct stet_error *err) {
	struct rescan *rescan = data;
	(void)path;
	here = mark ? mark : rescan->watch->table.root;
	struct batch *new = batch ? NULL : malloc(sizeof *new);
	if (!batch && !new)
		return st_fail_nomem(err);
	pthread_mutex_lock(&rescan->lock);
	if (new) {
		new->next = rescan->batches;
		rescan->batches = batch = new;
	}
	st_watch_add_watch(rescan->watch, here, fd);
	pthread_mutex_unlock(&rescan->lock);
	/* Drop the rest of a directory that could not be read to its end. */
	batch->count = 0;
	return 0;
}

/* With the lock held. */
static void compare_batch(struct rescan *rescan) {
	for (size_t i = 0; i < batch->count; i++)
		st_watch_listed_file(rescan->watch, here,
		                     st_strn(batch->files[i].name, batch->files[i].len),
		                     &batch->files[i].st);
	batch->count = 0;
}

static int compare_dir(struct rescan *rescan, const struct st_walk_entry *entry) {
	struct st_watch *watch = rescan->watch;
	if (st_str_eq(entry->path, st_str(watch->state_dir)))
		return ST_WALK_SKIP;
	pthread_mutex_lock(&rescan->lock);
	struct st_watch_node *node = st_watch_listed_dir(watch, here, entry->name);
	bool known = node && node->dir && node->dir->present;
	if (node && !known)
		st_watch_queue(watch, node, true);
	pthread_mutex_unlock(&rescan->lock);
	*entry->mark = node;
	return known ? 0 : ST_WALK_SKIP;
}

static int compare_entry(void *data, const struct st_walk_entry *entry, struct stet_error *err) {
	struct rescan *rescan = data;
	struct st_watch *watch = rescan->watch;
	struct stat *st = &batch->files[batch->count].st;
	(void)err;
	if (entry->type == ST_WALK_DIR)
		return compare_dir(rescan, entry);
	if (entry->type == ST_WALK_OTHER || entry->name.len > NAME_MAX ||
	    (watch->wanted && !watch->wanted(watch->data, entry->name)) ||
	    st_retry(fstatat(entry->dir, entry->name.ptr, st, AT_SYMLINK_NOFOLLOW)) < 0)
		return 0;
	memcpy(batch->files[batch->count].name, entry->name.ptr, entry->name.len);
	batch->files[batch->count++].len = entry->name.len;
	if (batch->count == sizeof batch->files / sizeof *batch->files) {
		pthread_mutex_lock(&rescan->lock);
		compare_batch(rescan);
		pthread_mutex_unlock(&rescan->lock);
	}
	return 0;
}

static int leave_known_dir(void *data, struct st_ignore *rules, struct stet_error *err) {
	struct rescan *rescan = data;
	(void)err;
	pthread_mutex_lock(&rescan->lock);
	compare_batch(rescan);
	struct st_ignore *before = here->dir->ignore;
	here->dir->ignore = st_ignore_keep(rules);
	st_ignore_drop(before);
	st_watch_check_unlisted(rescan->watch, here);
	pthread_mutex_unlock(&rescan->lock);
	return 0;
}

static void report_unread_dir(void *data, struct st_str path, const struct stet_error *why) {
	struct rescan *rescan = data;
	(void)path;
	pthread_mutex_lock(&rescan->lock);
	st_watch_notice(rescan->watch, "%s", why->message);
	pthread_mutex_unlock(&rescan->lock);
}

static int walk_known(struct st_watch *watch) {
	struct rescan rescan = {.watch = watch, .lock = PTHREAD_MUTEX_INITIALIZER};
	struct st_walk walk = {
		.flags = watch->flags & (ST_WATCH_NO_BUILTIN | ST_WATCH_NO_FILES),
		.data = &rescan,
		.enter = enter_known_dir,
		.on_entry = compare_entry,
		.leave = leave_known_dir,
		.skipped = report_unread_dir,
	};
	if (watch->wanted)
		walk.flags |= ST_WALK_IGNORED_FILES;
	watch->pass++;
	st_watch_close_cached(watch);
	st_watch_rules_add_watch(watch);
	/* The cancellation of one call must not stop this: all users of the watcher need the table. */
	st_cancel_hold();
	int code = st_walk_run(&walk, watch->root->fd, NULL);
	st_cancel_release();
	pthread_mutex_destroy(&rescan.lock);
	for (struct batch *one = rescan.batches, *next; one; one = next) {
		next = one->next;
		free(one);
	}
	/* The walk ran in this thread, too. */
	batch = NULL;
	return code;
}

void st_watch_rescan_now(struct st_watch *watch) {
	/* If the walk fails for lack of memory or descriptors, read one directory after the other. */
	if ((watch->flags & ST_WATCH_USED) || walk_known(watch) < 0)
		st_watch_queue(watch, watch->table.root, true);
	st_watch_read_queue(watch);
}
