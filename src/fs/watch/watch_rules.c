/* Watch the rules of git that lie outside the tree, such as .git/info/exclude. */
#include <sys/inotify.h>

#include "fs/tree/gitdir.h"
#include "fs/path/sys.h"
#include "fs/watch/watch_check.h"

/* Open .git/info, or .git if that does not exist yet, and name the entry to wait for. */
static int open_rules_dir(const struct st_watch *watch, const char **entry) {
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

void st_watch_rules_add_watch(struct st_watch *watch) {
	if (watch->in.fd < 0 || (watch->flags & (ST_WATCH_NO_FILES | ST_WATCH_USED | ST_WATCH_POLL)))
		return;
	st_autofd dir = open_rules_dir(watch, &watch->rules_entry);
	int wd = dir < 0 ? -1 : st_inotify_add(&watch->in, dir);
	int before = watch->rules_wd;
	watch->rules_wd = wd;
	/* Keep the watch if its directory is also a part of the tree. */
	if (before >= 0 && before != wd && !st_inotify_owner(&watch->in, before))
		st_inotify_drop(&watch->in, before);
}

void st_watch_rules_event(struct st_watch *watch, const struct st_inotify_event *event) {
	if (event->mask & IN_IGNORED)
		watch->rules_wd = -1;
	if (event->name.len == 0 || st_str_eq(event->name, st_str(watch->rules_entry)))
		st_watch_queue(watch, watch->table.root, true);
}
