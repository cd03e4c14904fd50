/** The inside of a watcher; its contract is in stet/watch.h. */
#ifndef STET_CORE_WATCH_WATCHER_H
#define STET_CORE_WATCH_WATCHER_H

#include "core/watch/changes.h"

struct stet_watcher {
	struct st_root root;
	struct st_watch watch;
	stet_watch_callback *callback;
	void *data;
	/** What stet_watcher_state_dir() was told; NULL if nothing. */
	char *state_dir;
	char clock[ST_CLOCK_SIZE];
};

#endif
