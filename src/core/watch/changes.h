/** A list of changes, as stet/watch.h describes it. */
#ifndef STET_CORE_WATCH_CHANGES_H
#define STET_CORE_WATCH_CHANGES_H

#include "fs/watch/watch.h"
#include "stet/watch.h"

/** As stet_watcher_since(). The watch must have been started. */
[[nodiscard]] int st_changes_since(struct st_watch *watch, const char *clock,
                                   struct stet_changes **out, struct stet_error *err);

#endif
