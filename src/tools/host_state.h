/** The structs of a host and its clients, for host.c and host_move.c. */
#ifndef STET_TOOLS_HOST_STATE_H
#define STET_TOOLS_HOST_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "tools/host.h"

struct stet_host {
	struct stet_workspace *spaces[ST_ROOTS_MAX];
	size_t count;
	/** Called for each workspace that stet_host_move() opens; may be NULL. */
	stet_host_ready *ready;
	void *ready_arg;
	/** The client chooses the directories; see stet_host_follow(). */
	bool follows;
	/** Protects the fields below, and refs and used_ms of all clients. */
	pthread_mutex_t lock;
	/** All clients, linked by after and before. */
	struct stet_client *clients;
	/** The clients with a name, linked by next. */
	struct stet_client *named;
	size_t named_count;
	/** How many clients are in use: refs is not 0. */
	size_t client_count;
	/** The session name of clients that give none; NULL for none. */
	char *session;
	/** The number of the last client without a name. */
	atomic_uint unnamed;
	/** What callers may do; see st_host_set_limits(). The lock protects them. */
	struct st_limit *limits;
	size_t limit_count;
};

struct stet_client {
	struct stet_host *host;
	char *owner;
	/** NULL if no other connection can share it. */
	char *name;
	bool stateless;
	/** Distinguishes clients that run the same program. */
	unsigned number;
	/** Held during a call: a client's calls run one at a time. */
	pthread_mutex_t lock;
	/** One per workspace; none if stateless. */
	struct stet_session *sessions[ST_ROOTS_MAX];
	size_t refs;
	int64_t used_ms;
	/** The host's list of all clients. */
	struct stet_client *after, *before;
	/** The host's list of named clients. */
	struct stet_client *next;
};

/** Find the workspace with the same root directory; NULL if there is none. */
struct stet_workspace *st_host_find_root(struct stet_workspace *const *spaces, size_t count,
                                         const struct stet_workspace *ws);

/** Free what st_host_set_limits() copied. */
void st_limits_free(struct st_limit *limits, size_t count);

/** Whether there are workspaces that a client may not use. */
bool st_client_is_limited(const struct stet_client *client);

/** Whether the owner of a client is a name that a person gave. */
bool st_client_has_caller(const struct stet_client *client);

/** The number of the n-th workspace that a client may use; ST_ROOTS_MAX beyond the last. */
size_t st_client_space(const struct stet_client *client, size_t n);

/** Open a client's session in a workspace. Returns 0 or a code. */
[[nodiscard]] int st_client_open_session(const struct stet_client *client,
                                         struct stet_workspace *ws, struct stet_session **out,
                                         struct stet_error *err);

#endif
