#include <limits.h>
#include <pthread.h>

#include "base/cancel.h"
#include "fs/path/sys.h"
#include "fs/tree/walk.h"
#include "fs/watch/watch_look.h"

/* Files of a directory that a thread has looked at and not yet compared: the lock is not for each of them. */
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
 * Reading everything anew is a walk by several threads over the directories
 * that are known, which compares what it finds with the table. Directories
 * that are new are left to the queue. No node is freed meanwhile.
 */
struct anew {
	struct st_watch *watch;
	/* Guards the watch, and with it the table, and the list of all batches. */
	pthread_mutex_t lock;
	struct batch *batches;
};

/* The directory that this thread is in, and what it has seen there. */
static _Thread_local struct st_watch_node *here;
static _Thread_local struct batch *batch;

static int enter(void *data, int fd, struct st_str path, void *mark, struct stet_error *err) {
	struct anew *anew = data;
	(void)path;
	here = mark ? mark : anew->watch->table.root;
	struct batch *new = batch ? NULL : malloc(sizeof *new);
	if (!batch && !new)
		return st_fail_nomem(err);
	pthread_mutex_lock(&anew->lock);
	if (new) {
		new->next = anew->batches;
		anew->batches = batch = new;
	}
	st_watch_attach(anew->watch, here, fd);
	pthread_mutex_unlock(&anew->lock);
	/* The rest of a directory that could not be read to its end. */
	batch->count = 0;
	return 0;
}

/* With the lock held. */
static void compare_batch(struct anew *anew) {
	for (size_t i = 0; i < batch->count; i++)
		st_watch_see_file(anew->watch, here, st_strn(batch->files[i].name, batch->files[i].len),
		                  &batch->files[i].st);
	batch->count = 0;
}

static int on_dir(struct anew *anew, const struct st_walk_entry *entry) {
	struct st_watch *watch = anew->watch;
	if (st_str_eq(entry->path, st_str(watch->state_dir)))
		return ST_WALK_SKIP;
	pthread_mutex_lock(&anew->lock);
	struct st_watch_node *node = st_watch_see_dir(watch, here, entry->name);
	bool known = node && node->dir && node->dir->present;
	if (node && !known)
		st_watch_queue(watch, node, true);
	pthread_mutex_unlock(&anew->lock);
	*entry->mark = node;
	return known ? 0 : ST_WALK_SKIP;
}

static int on_entry(void *data, const struct st_walk_entry *entry, struct stet_error *err) {
	struct anew *anew = data;
	struct st_watch *watch = anew->watch;
	struct stat *st = &batch->files[batch->count].st;
	(void)err;
	if (entry->type == ST_WALK_DIR)
		return on_dir(anew, entry);
	if (entry->type == ST_WALK_OTHER || entry->name.len > NAME_MAX ||
	    (watch->wanted && !watch->wanted(watch->data, entry->name)) ||
	    st_retry(fstatat(entry->dir, entry->name.ptr, st, AT_SYMLINK_NOFOLLOW)) < 0)
		return 0;
	memcpy(batch->files[batch->count].name, entry->name.ptr, entry->name.len);
	batch->files[batch->count++].len = entry->name.len;
	if (batch->count == sizeof batch->files / sizeof *batch->files) {
		pthread_mutex_lock(&anew->lock);
		compare_batch(anew);
		pthread_mutex_unlock(&anew->lock);
	}
	return 0;
}

static int leave(void *data, struct st_ignore *rules, struct stet_error *err) {
	struct anew *anew = data;
	(void)err;
	pthread_mutex_lock(&anew->lock);
	compare_batch(anew);
	struct st_ignore *before = here->dir->ignore;
	here->dir->ignore = st_ignore_keep(rules);
	st_ignore_drop(before);
	st_watch_miss(anew->watch, here);
	pthread_mutex_unlock(&anew->lock);
	return 0;
}

static void skipped(void *data, struct st_str path, const struct stet_error *why) {
	struct anew *anew = data;
	(void)path;
	pthread_mutex_lock(&anew->lock);
	st_watch_say(anew->watch, "%s", why->message);
	pthread_mutex_unlock(&anew->lock);
}

static int walk_known(struct st_watch *watch) {
	struct anew anew = {.watch = watch, .lock = PTHREAD_MUTEX_INITIALIZER};
	struct st_walk walk = {
		.flags = watch->flags & (ST_WATCH_NO_BUILTIN | ST_WATCH_NO_FILES),
		.data = &anew,
		.enter = enter,
		.on_entry = on_entry,
		.leave = leave,
		.skipped = skipped,
	};
	if (watch->wanted)
		walk.flags |= ST_WALK_IGNORED_FILES;
	watch->pass++;
	st_watch_near_close(watch);
	st_watch_rules_attach(watch);
	/* Whoever happens to look meanwhile: events were lost, and the table has to be right for everybody. */
	st_cancel_hold();
	int code = st_walk_run(&walk, watch->root->fd, NULL);
	st_cancel_release();
	pthread_mutex_destroy(&anew.lock);
	for (struct batch *one = anew.batches, *next; one; one = next) {
		next = one->next;
		free(one);
	}
	/* This thread was one of them. */
	batch = NULL;
	return code;
}

void st_watch_read_all(struct st_watch *watch) {
	/* What a walk cannot do, for lack of memory or descriptors, is done one after the other. */
	if ((watch->flags & ST_WATCH_USED) || walk_known(watch) < 0)
		st_watch_queue(watch, watch->table.root, true);
	st_watch_read_queue(watch);
}
