#include "core/agents_watch.h"

#include <stdlib.h>

#include "fs/ignore_file.h"

static bool is_wanted(void *data, struct st_str name) {
	const struct st_agents_watch *agents = data;
	const struct st_agents_setup *setup = &agents->ws->agents;
	return st_agents_rank(setup, name) < setup->name_count;
}

static void hand_on(void *data, const char *path, enum st_watch_event event) {
	struct st_agents_watch *agents = data;
	agents->report(agents->data, agents->ws, path, event);
}

int st_agents_watch_new(struct stet_workspace *ws,
                        void (*report)(void *data, struct stet_workspace *ws, const char *path,
                                       enum st_watch_event event),
                        void *data, struct st_agents_watch **out, struct stet_error *err) {
	*out = NULL;
	struct st_agents_watch *agents = malloc(sizeof *agents);
	if (!agents)
		return st_fail_nomem(err);
	*agents = (struct st_agents_watch){
		.ws = ws,
		.watch = ST_WATCH_INIT,
		.report = report,
		.data = data,
	};
	_Static_assert((int)ST_WATCH_NO_BUILTIN == (int)ST_IGNORE_NO_BUILTIN &&
	                   (int)ST_WATCH_NO_FILES == (int)ST_IGNORE_NO_FILES,
	               "the flags are handed on");
	agents->watch.flags = st_agents_ignore_flags(&ws->agents);
	agents->watch.state_dir = ws->guard.state_dir;
	agents->watch.wanted = is_wanted;
	agents->watch.report = hand_on;
	agents->watch.data = agents;
	int code = st_watch_start(&agents->watch, &ws->root, err);
	if (code < 0)
		free(agents);
	else
		*out = agents;
	return code;
}

void st_agents_watch_free(struct st_agents_watch *agents) {
	if (!agents)
		return;
	st_watch_stop(&agents->watch);
	free(agents);
}

int st_agents_watch_dispatch(struct st_agents_watch *agents, struct stet_error *err) {
	int code = st_watch_dispatch(&agents->watch, err);
	for (char *notice; (notice = st_watch_next_notice(&agents->watch));) {
		st_guard_notice(&agents->ws->guard, "%s", notice);
		free(notice);
	}
	return code;
}
