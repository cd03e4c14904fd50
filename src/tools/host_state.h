/** The structs behind a desk, for the files that make one up. */
#ifndef STET_TOOLS_HOST_STATE_H
#define STET_TOOLS_HOST_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "tools/host.h"

enum { ST_ROOTS_MAX = 64 };

struct stet_host {
	struct stet_workspace *spaces[ST_ROOTS_MAX];
	size_t count;
	/** Called for each workspace that is opened later; may be NULL. */
	stet_host_ready *ready;
	void *ready_arg;
	/** The client says where to work. */
	bool follows;
	/** Guards what follows, and refs and used_ms of the agents. */
	pthread_mutex_t lock;
	/** All agents, and those with a name. */
	struct stet_client *clients;
	struct stet_client *named;
	size_t named_count;
	size_t agent_count;
	/** The name of clients that name no session; NULL for none. */
	char *session;
	/** The number of the last agent without a name. */
	atomic_uint unnamed;
};

struct stet_client {
	struct stet_host *host;
	char *owner;
	/** NULL for one that nobody else can ask for. */
	char *name;
	bool stateless;
	/** Tells it from others of the same client. */
	unsigned number;
	/** One call at a time. */
	pthread_mutex_t lock;
	/** One per workspace; none if stateless. */
	struct stet_session *sessions[ST_ROOTS_MAX];
	size_t refs;
	int64_t used_ms;
	/** The others of the desk. */
	struct stet_client *after, *before;
	/** The next one with a name. */
	struct stet_client *next;
};

/** A workspace among some that has the same root; NULL if there is none. */
struct stet_workspace *st_host_find_root(struct stet_workspace *const *spaces, size_t count,
                                         const struct stet_workspace *ws);

/** Open the session of an agent in a workspace. Returns 0 or a code. */
[[nodiscard]] int st_client_open_session(const struct stet_client *client,
                                         struct stet_workspace *ws, struct stet_session **out,
                                         struct stet_error *err);

#endif
