/*
 * Notice that others reported something. A process that has stored events writes
 * to a file beside the registry, after the commit: the database's own files change
 * before others can read what is new.
 */
#include <stdio.h>
#include <sys/inotify.h>

#include "core/places/places.h"
#include "fs/path/sys.h"
#include "fs/versions/state_dir.h"

static const char bell[] = "changed";

void st_places_announce(void) {
	st_autofd dir = st_user_state_open("places");
	st_autofd fd =
		dir < 0
			? -1
			: st_retry(openat(dir, bell,
	                          O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
	                          0600));
	if (fd >= 0)
		(void)!st_retry(pwrite(fd, "\n", 1, 0));
}

static int watch_registry(struct st_places *places, struct stet_error *err) {
	char path[40];
	st_autofd dir = st_user_state_open("places");
	st_autofd inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	snprintf(path, sizeof path, "/proc/self/fd/%d", dir);
	if (dir < 0 || inotify < 0 || inotify_add_watch(inotify, path, IN_MODIFY | IN_ONLYDIR) < 0)
		return st_fail_errno(err, errno, "The registry of places cannot be watched");
	places->inotify = inotify;
	inotify = -1;
	return places->inotify;
}

int st_places_fd(struct st_places *places, struct stet_error *err) {
	pthread_mutex_lock(&places->lock);
	(void)st_places_open_locked(places);
	int fd = places->off ? STET_E_NOT_FOUND : places->inotify;
	if (!places->off && fd < 0) {
		fd = watch_registry(places, err);
		if (places->registry.db && places->registry.repository > 0)
			(void)st_registry_last(&places->registry, &places->arrived, NULL);
	}
	pthread_mutex_unlock(&places->lock);
	return fd;
}

/* Read the events; whether one is of the file that announces. */
static bool drain(int fd) {
	_Alignas(struct inotify_event) char events[4096];
	bool any = false;
	ssize_t len;
	while ((len = st_retry(read(fd, events, sizeof events))) > 0) {
		for (char *at = events; at < events + len;) {
			const struct inotify_event *event = (const struct inotify_event *)(const void *)at;
			any = any || (event->len > 0 && strcmp(event->name, bell) == 0) ||
			      (event->mask & IN_Q_OVERFLOW);
			at += sizeof *event + event->len;
		}
	}
	return any;
}

bool st_places_arrived(struct st_places *places) {
	struct st_registry *registry = &places->registry;
	int64_t last = 0;
	bool arrived = false;
	pthread_mutex_lock(&places->lock);
	if (places->inotify >= 0 && drain(places->inotify)) {
		places->missed_ms = 0;
		bool open = st_places_open_locked(places) == 1;
		if (open && (registry->repository == 0 || registry->checkout == 0))
			open = st_registry_find(registry, &places->checkout, places->machine, NULL) == 0;
		arrived = open && st_registry_last(registry, &last, NULL) == 0 && last > places->arrived;
		if (arrived)
			places->arrived = last;
	}
	pthread_mutex_unlock(&places->lock);
	return arrived;
}
