/** The inside of a watcher; its contract is in stet/watch.h. */
#ifndef STET_CORE_WATCHER_H
#define STET_CORE_WATCHER_H

#include "fs/watch.h"
#include "stet/watch.h"

struct stet_watcher {
	struct st_root root;
	struct st_watch watch;
	stet_watch_callback *callback;
	void *data;
	char clock[48];
};

#endif
