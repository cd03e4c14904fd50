#include "fs/guard.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/resource.h>

#include "base/plural.h"
#include "fs/displaced.h"
#include "fs/keep.h"
#include "fs/shelf.h"
#include "fs/state.h"
#include "fs/sys.h"

/* An eighth of the descriptors that this process may have. */
static size_t most_displaced(void) {
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur / 8 >= ST_DISPLACED_MAX)
		return ST_DISPLACED_MAX;
	return limit.rlim_cur < 16 ? 2 : (size_t)limit.rlim_cur / 8;
}

void st_guard_init(struct st_guard *guard, const struct st_root *root, const char *state_dir) {
	*guard = (struct st_guard){
		.root = root,
		.state_dir = state_dir,
		.kept_fd = -1,
		.displaced_max = most_displaced(),
		.look_task = {.run = st_displaced_task, .data = guard},
		.archive_task = {.run = st_shelf_task, .data = guard},
		.shelf = {.moved_fd = -1, .versions_fd = -1, .max = ST_SHELF_MAX},
	};
	pthread_mutex_init(&guard->lock, NULL);
}

static int open_below(struct st_guard *guard, const char *name, struct stet_error *err) {
	st_autofd state = st_state_open(guard->root, guard->state_dir, err);
	if (state < 0)
		return state;
	if (st_retry(mkdirat(state, name, 0700)) < 0 && errno != EEXIST)
		return st_fail_errno(err, errno, "Cannot make %s/%s", guard->state_dir, name);
	int fd = st_retry(openat(state, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
	if (fd < 0)
		return st_fail_errno(err, errno, "Cannot open %s/%s", guard->state_dir, name);
	return fd;
}

/* Whether it is still the one of that name: somebody may have removed or renamed it. */
static bool is_in_place(const struct st_guard *guard, const char *name, int fd) {
	struct stat own, named;
	char path[300];
	snprintf(path, sizeof path, "%s/%s", guard->state_dir, name);
	return fd >= 0 && st_retry(fstat(fd, &own)) == 0 &&
	       st_retry(fstatat(guard->root->fd, path, &named, AT_SYMLINK_NOFOLLOW)) == 0 &&
	       own.st_dev == named.st_dev && own.st_ino == named.st_ino;
}

int st_guard_open(struct st_guard *guard, const char *name, int *fd, struct stet_error *err) {
	pthread_mutex_lock(&guard->lock);
	int known = *fd;
	pthread_mutex_unlock(&guard->lock);
	if (is_in_place(guard, name, known))
		return known;
	int opened = open_below(guard, name, err);
	if (opened < 0)
		return opened;
	pthread_mutex_lock(&guard->lock);
	if (*fd < 0) {
		*fd = opened;
	} else {
		/* Under the same number, which others may be using. */
		(void)st_retry(dup3(opened, *fd, O_CLOEXEC));
		close(opened);
		opened = *fd;
	}
	pthread_mutex_unlock(&guard->lock);
	return opened;
}

static void notice_release(struct st_notice *notice) {
	free(notice->text);
	free(notice->copy);
}

void st_guard_release(struct st_guard *guard) {
	st_displaced_settle(guard, ST_GRACE_EXIT_MS);
	st_shelf_flush(guard);
	for (size_t i = 0; i < guard->notice_count; i++)
		notice_release(&guard->notices[i]);
	st_close_at(&guard->kept_fd);
	st_close_at(&guard->shelf.moved_fd);
	st_close_at(&guard->shelf.versions_fd);
	pthread_mutex_destroy(&guard->lock);
}

static void add_notice(struct st_guard *guard, struct st_notice notice) {
	pthread_mutex_lock(&guard->lock);
	guard->kept += notice.copy != NULL;
	bool fits = notice.text && guard->notice_count < ST_NOTICES_MAX;
	if (fits)
		guard->notices[guard->notice_count++] = notice;
	else
		guard->notices_dropped++;
	pthread_mutex_unlock(&guard->lock);
	if (!fits)
		notice_release(&notice);
}

void st_guard_notice(struct st_guard *guard, const char *format, ...) {
	struct st_notice notice = {0};
	va_list args;
	va_start(args, format);
	if (vasprintf(&notice.text, format, args) < 0)
		notice.text = NULL;
	va_end(args);
	add_notice(guard, notice);
}

void st_guard_notice_copy(struct st_guard *guard, const char *copy, const char *format, ...) {
	struct st_notice notice = {.copy = strdup(copy)};
	va_list args;
	va_start(args, format);
	if (vasprintf(&notice.text, format, args) < 0)
		notice.text = NULL;
	va_end(args);
	add_notice(guard, notice);
}

char *st_guard_next_notice(struct st_guard *guard) {
	struct st_notice notice = {0};
	pthread_mutex_lock(&guard->lock);
	if (guard->notice_count > 0) {
		notice = guard->notices[0];
		guard->notice_count--;
		memmove(guard->notices, guard->notices + 1, guard->notice_count * sizeof *guard->notices);
	} else if (guard->notices_dropped > 0) {
		if (asprintf(&notice.text, "%zu more %s did not fit.", guard->notices_dropped,
		             st_plural(guard->notices_dropped, "notice", "notices")) < 0)
			notice.text = NULL;
		guard->notices_dropped = 0;
	}
	pthread_mutex_unlock(&guard->lock);
	if (notice.copy)
		st_keep_told(guard, notice.copy);
	free(notice.copy);
	return notice.text;
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
