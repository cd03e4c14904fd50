/** The watcher that programs create; stet/watch.h has its contract. */
#ifndef STET_CORE_WATCH_WATCHER_H
#define STET_CORE_WATCH_WATCHER_H

#include "core/watch/changes.h"

struct stet_watcher {
	struct st_root root;
	struct st_watch watch;
	stet_watch_callback *callback;
	void *data;
	/** The argument of stet_watcher_state_dir(); NULL if it was not called. */
	char *state_dir;
	/** Readable when stet_watcher_wake() was called. */
	int wake;
	char clock[ST_CLOCK_SIZE];
};

#endif
