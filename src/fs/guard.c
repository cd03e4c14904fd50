#include "fs/guard.h"

void st_guard_init(struct st_guard *guard, const struct st_root *root, const char *state_dir,
                   struct st_background *background) {
	*guard = (struct st_guard){.root = root, .state_dir = state_dir};
	pthread_mutex_init(&guard->lock, NULL);
	st_notices_init(&guard->notices);
	st_rescued_init(&guard->rescued, root, state_dir, &guard->notices);
	st_late_writes_init(&guard->late_writes, &guard->rescued, background);
	st_versions_init(&guard->versions, root, state_dir, &guard->notices, background);
}

void st_guard_release(struct st_guard *guard) {
	st_late_writes_release(&guard->late_writes);
	st_versions_release(&guard->versions);
	st_rescued_release(&guard->rescued);
	st_notices_release(&guard->notices);
	pthread_mutex_destroy(&guard->lock);
}

void st_guard_set_state_dir(struct st_guard *guard, const char *state_dir) {
	guard->state_dir = state_dir;
	guard->rescued.folder.state_dir = state_dir;
	guard->versions.moved.state_dir = state_dir;
	guard->versions.archive.state_dir = state_dir;
}

char *st_guard_next_notice(struct st_guard *guard) {
	struct st_notice notice;
	if (!st_notices_take(&guard->notices, &notice))
		return NULL;
	if (notice.about)
		st_keep_told(&guard->rescued, notice.about);
	free(notice.about);
	return notice.text;
}

bool st_guard_spare(struct st_guard *guard) {
	if (st_versions_spare(&guard->versions.archive))
		return true;
	/* A replaced file takes its room as long as it is held, whether or not it has a name. */
	bool closed = st_displaced_settle(&guard->late_writes, 0);
	return st_versions_spare(&guard->versions.moved) || closed;
}

static struct st_swept *swept_find(struct st_guard *guard, const struct stat *dir) {
	for (size_t i = 0; i < ST_SWEPT_MAX; i++) {
		if (guard->swept[i].ino == dir->st_ino && guard->swept[i].dev == dir->st_dev)
			return &guard->swept[i];
	}
	return NULL;
}

void st_guard_swept(struct st_guard *guard, const struct stat *dir) {
	pthread_mutex_lock(&guard->lock);
	struct st_swept *swept = swept_find(guard, dir);
	if (!swept)
		swept = &guard->swept[guard->swept_next++ % ST_SWEPT_MAX];
	*swept = (struct st_swept){dir->st_dev, dir->st_ino, dir->st_mtim};
	pthread_mutex_unlock(&guard->lock);
}

bool st_guard_is_swept(struct st_guard *guard, const struct stat *dir) {
	pthread_mutex_lock(&guard->lock);
	const struct st_swept *swept = swept_find(guard, dir);
	bool same = swept && swept->mtime.tv_sec == dir->st_mtim.tv_sec &&
	            swept->mtime.tv_nsec == dir->st_mtim.tv_nsec;
	pthread_mutex_unlock(&guard->lock);
	return same;
}
