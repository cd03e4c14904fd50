#include "fs/watch/watch_inotify.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>

#include "base/auto.h"
#include "fs/path/sys.h"

#define BUFFER_SIZE ((size_t)65536)

#define MASK \
	(IN_CREATE | IN_DELETE | IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB | IN_MOVED_FROM | \
	 IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF | IN_EXCL_UNLINK | IN_ONLYDIR)

int st_inotify_open(struct st_inotify *in, struct stet_error *err) {
	in->buffer = malloc(BUFFER_SIZE);
	if (!in->buffer)
		return st_fail_nomem(err);
	in->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (in->fd < 0) {
		int errnum = errno;
		st_inotify_release(in);
		return st_fail_errno(err, errnum,
		                     "Cannot create an inotify instance (the limit is "
		                     "fs.inotify.max_user_instances)");
	}
	return 0;
}

void st_inotify_release(struct st_inotify *in) {
	st_close_at(&in->fd);
	free(in->owners);
	free(in->buffer);
	*in = (struct st_inotify)ST_INOTIFY_INIT;
}

/* inotify accepts only paths. This one leads to the open directory, whatever its name is now. */
static int add_watch(const struct st_inotify *in, int dir, uint32_t mask) {
	char path[32];
	snprintf(path, sizeof path, "/proc/self/fd/%d", dir);
	return inotify_add_watch(in->fd, path, mask);
}

int st_inotify_add(const struct st_inotify *in, int dir) {
	return add_watch(in, dir, MASK);
}

int st_inotify_add_removals(const struct st_inotify *in, int dir) {
	return add_watch(in, dir, IN_DELETE | IN_ONLYDIR | IN_MASK_CREATE);
}

/* ---- owners ---- */

static size_t slot_of(const struct st_inotify *in, int wd) {
	size_t slot = ((size_t)wd * 0x9E3779B9u) & (in->room - 1);
	while (in->owners[slot].wd != 0 && in->owners[slot].wd != wd)
		slot = (slot + 1) & (in->room - 1);
	return slot;
}

static bool grow_owners(struct st_inotify *in) {
	struct st_inotify bigger = *in;
	bigger.room = in->room ? in->room * 2 : 64;
	bigger.owners = calloc(bigger.room, sizeof *bigger.owners);
	if (!bigger.owners)
		return false;
	for (size_t i = 0; i < in->room; i++) {
		if (in->owners[i].wd != 0)
			bigger.owners[slot_of(&bigger, in->owners[i].wd)] = in->owners[i];
	}
	free(in->owners);
	/* Leave the other members alone: other threads are adding watches. */
	in->owners = bigger.owners;
	in->room = bigger.room;
	return true;
}

bool st_inotify_set_owner(struct st_inotify *in, int wd, struct st_watch_node *node) {
	if (in->count * 2 >= in->room && !grow_owners(in))
		return false;
	struct st_watch_owner *owner = &in->owners[slot_of(in, wd)];
	in->count += owner->wd == 0;
	*owner = (struct st_watch_owner){wd, node};
	return true;
}

struct st_watch_owner *st_inotify_owner(const struct st_inotify *in, int wd) {
	if (wd <= 0 || in->room == 0)
		return NULL;
	struct st_watch_owner *owner = &in->owners[slot_of(in, wd)];
	return owner->wd ? owner : NULL;
}

void st_inotify_drop(const struct st_inotify *in, int wd) {
	(void)inotify_rm_watch(in->fd, wd);
}

/* Move the entries behind the freed slot up; otherwise slot_of() would not find them. */
void st_inotify_forget(struct st_inotify *in, int wd) {
	struct st_watch_owner *owner = st_inotify_owner(in, wd);
	if (!owner)
		return;
	owner->wd = 0;
	in->count--;
	size_t slot = (size_t)(owner - in->owners);
	for (;;) {
		slot = (slot + 1) & (in->room - 1);
		struct st_watch_owner moved = in->owners[slot];
		if (moved.wd == 0)
			return;
		in->owners[slot].wd = 0;
		in->owners[slot_of(in, moved.wd)] = moved;
	}
}

/* ---- events ---- */

int st_inotify_read(struct st_inotify *in,
                    void (*handle)(void *data, const struct st_inotify_event *event), void *data,
                    struct stet_error *err) {
	if (in->fd < 0)
		return 0;
	ssize_t len = st_retry(read(in->fd, in->buffer, BUFFER_SIZE));
	if (len < 0 && errno == EAGAIN)
		return 0;
	if (len < 0)
		return st_fail_errno(err, errno, "Cannot read inotify events");
	for (ssize_t at = 0; at < len;) {
		const struct inotify_event *event = (const void *)(in->buffer + at);
		at += (ssize_t)(sizeof *event + event->len);
		struct st_inotify_event hint = {
			.wd = event->mask & IN_Q_OVERFLOW ? -1 : event->wd,
			.mask = event->mask,
			.name = event->len ? st_str(event->name) : st_str(""),
		};
		handle(data, &hint);
	}
	return (int)len;
}
