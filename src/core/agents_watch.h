/**
 * Watching for instruction files, wherever in a workspace one appears, changes
 * or goes: AGENTS.md and the other names that count there, also those that are
 * ignored. It takes a watch for every directory that is not ignored, so it is
 * made only for somebody who wants just that.
 */
#ifndef STET_CORE_AGENTS_WATCH_H
#define STET_CORE_AGENTS_WATCH_H

#include "core/workspace.h"
#include "fs/watch.h"

struct st_agents_watch {
	struct stet_workspace *ws;
	struct st_watch watch;
	void (*report)(void *data, struct stet_workspace *ws, const char *path,
	               enum st_watch_event event);
	void *data;
};

/**
 * Begin. What is there already is not reported.
 *
 * @ws      Borrowed until the end.
 * @report  Called by st_agents_watch_dispatch() only.
 * @return  0, or the codes of st_watch_start().
 */
[[nodiscard]] int st_agents_watch_new(struct stet_workspace *ws,
                                      void (*report)(void *data, struct stet_workspace *ws,
                                                     const char *path, enum st_watch_event event),
                                      void *data, struct st_agents_watch **out,
                                      struct stet_error *err);
void st_agents_watch_free(struct st_agents_watch *agents);

/** As st_watch_dispatch(). What there is to say of the watch goes with the workspace's next answer. */
[[nodiscard]] int st_agents_watch_dispatch(struct st_agents_watch *agents, struct stet_error *err);

#endif
