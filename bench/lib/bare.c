#include "lib/bare.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/bench.h"

struct pending {
	struct pending *next;
	char path[];
};

static struct pending *stack;
static unsigned busy;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t change = PTHREAD_COND_INITIALIZER;
static int root;
static void (*on_enter)(int dir);
static void (*on_file)(int dir, const char *name);

static void push(const char *dir, const char *name) {
	size_t len = strlen(dir) + strlen(name) + 2;
	struct pending *pending = malloc(sizeof *pending + len);
	bench_check(pending != NULL, "out of memory");
	snprintf(pending->path, len, "%s/%s", dir, name);
	pthread_mutex_lock(&lock);
	pending->next = stack;
	stack = pending;
	pthread_cond_signal(&change);
	pthread_mutex_unlock(&lock);
}

static void list(const char *path, char *buffer) {
	int fd = openat(root, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	bench_check(fd >= 0, "openat");
	if (on_enter)
		on_enter(fd);
	for (ssize_t len; (len = getdents64(fd, buffer, 65536)) > 0;) {
		for (ssize_t at = 0; at < len;) {
			const struct dirent64 *entry = (const void *)(buffer + at);
			at += entry->d_reclen;
			if (entry->d_type == DT_DIR && strcmp(entry->d_name, ".") != 0 &&
			    strcmp(entry->d_name, "..") != 0)
				push(path, entry->d_name);
			else if (entry->d_type != DT_DIR && on_file)
				on_file(fd, entry->d_name);
		}
	}
	close(fd);
}

static void *list_all(void *data) {
	(void)data;
	char *buffer = malloc(65536);
	bench_check(buffer != NULL, "out of memory");
	pthread_mutex_lock(&lock);
	while (stack || busy > 0) {
		struct pending *pending = stack;
		if (!pending) {
			pthread_cond_wait(&change, &lock);
			continue;
		}
		stack = pending->next;
		busy++;
		pthread_mutex_unlock(&lock);
		list(pending->path, buffer);
		free(pending);
		pthread_mutex_lock(&lock);
		busy--;
	}
	pthread_cond_broadcast(&change);
	pthread_mutex_unlock(&lock);
	free(buffer);
	return NULL;
}

void bare_walk(int top, void (*enter)(int dir), void (*file)(int dir, const char *name)) {
	root = top;
	on_enter = enter;
	on_file = file;
	pthread_t helper;
	push(".", ".");
	bench_check(pthread_create(&helper, NULL, list_all, NULL) == 0, "thread");
	list_all(NULL);
	pthread_join(helper, NULL);
}
