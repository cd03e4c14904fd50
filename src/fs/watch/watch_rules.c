#include <sys/inotify.h>

#include "fs/tree/gitdir.h"
#include "fs/path/sys.h"
#include "fs/watch/watch_look.h"

/* The directory to be watched, and the entry of it that counts; -1 if there is none. */
static int open_dir(const struct st_watch *watch, const char **entry) {
	int gitdir = st_gitdir_open(watch->root->fd);
	int git = gitdir < 0 ? -1 : st_gitdir_common(gitdir);
	if (git < 0)
		return -1;
	int info = st_retry(openat(git, "info", O_PATH | O_DIRECTORY | O_CLOEXEC));
	*entry = info < 0 ? "info" : "exclude";
	if (info < 0)
		return git;
	close(git);
	return info;
}

void st_watch_rules_attach(struct st_watch *watch) {
	if (watch->in.fd < 0 || (watch->flags & (ST_WATCH_NO_FILES | ST_WATCH_USED | ST_WATCH_POLL)))
		return;
	st_autofd dir = open_dir(watch, &watch->rules_entry);
	int wd = dir < 0 ? -1 : st_inotify_add(&watch->in, dir);
	int before = watch->rules_wd;
	watch->rules_wd = wd;
	/* It may be a directory of the tree as well. */
	if (before >= 0 && before != wd && !st_inotify_owner(&watch->in, before))
		st_inotify_drop(&watch->in, before);
}

void st_watch_rules_hear(struct st_watch *watch, const struct st_inotify_event *event) {
	if (event->mask & IN_IGNORED)
		watch->rules_wd = -1;
	if (event->name.len == 0 || st_str_eq(event->name, st_str(watch->rules_entry)))
		st_watch_queue(watch, watch->table.root, true);
}
