#include "fs/write/write_context.h"

void st_write_context_init(struct st_write_context *writes, const struct st_root *root,
                           const char *state_dir, struct st_background *background) {
	*writes = (struct st_write_context){.root = root, .state_dir = state_dir};
	pthread_mutex_init(&writes->lock, NULL);
	st_notices_init(&writes->notices);
	st_rescued_init(&writes->rescued, root, state_dir, &writes->notices);
	st_late_writes_init(&writes->late_writes, &writes->rescued, background);
	st_versions_init(&writes->versions, root, state_dir, &writes->notices, background);
}

void st_write_context_release(struct st_write_context *writes) {
	st_late_writes_release(&writes->late_writes);
	st_versions_release(&writes->versions);
	st_rescued_release(&writes->rescued);
	st_notices_release(&writes->notices);
	pthread_mutex_destroy(&writes->lock);
}

void st_write_set_state_dir(struct st_write_context *writes, const char *state_dir) {
	writes->state_dir = state_dir;
	writes->rescued.folder.state_dir = state_dir;
	writes->versions.moved.state_dir = state_dir;
	writes->versions.archive.state_dir = state_dir;
}

char *st_write_next_notice(struct st_write_context *writes) {
	struct st_notice notice;
	if (!st_notices_take(&writes->notices, &notice))
		return NULL;
	if (notice.about)
		st_rescued_mark_reported(&writes->rescued, notice.about);
	free(notice.about);
	return notice.text;
}

bool st_write_free_space(struct st_write_context *writes) {
	if (st_versions_free_space(&writes->versions.archive))
		return true;
	/* A replaced file takes its space for as long as late_writes has it open. */
	bool closed = st_late_writes_drain(&writes->late_writes, 0);
	return st_versions_free_space(&writes->versions.moved) || closed;
}

static struct st_swept *swept_find(struct st_write_context *writes, const struct stat *dir) {
	for (size_t i = 0; i < ST_SWEPT_MAX; i++) {
		if (writes->swept[i].ino == dir->st_ino && writes->swept[i].dev == dir->st_dev)
			return &writes->swept[i];
	}
	return NULL;
}

void st_write_swept(struct st_write_context *writes, const struct stat *dir) {
	pthread_mutex_lock(&writes->lock);
	struct st_swept *swept = swept_find(writes, dir);
	if (!swept)
		swept = &writes->swept[writes->swept_next++ % ST_SWEPT_MAX];
	*swept = (struct st_swept){dir->st_dev, dir->st_ino, dir->st_mtim};
	pthread_mutex_unlock(&writes->lock);
}

bool st_write_is_swept(struct st_write_context *writes, const struct stat *dir) {
	pthread_mutex_lock(&writes->lock);
	const struct st_swept *swept = swept_find(writes, dir);
	bool same = swept && swept->mtime.tv_sec == dir->st_mtim.tv_sec &&
	            swept->mtime.tv_nsec == dir->st_mtim.tv_nsec;
	pthread_mutex_unlock(&writes->lock);
	return same;
}
