/** What the library uses of a host besides stet/host.h. */
#ifndef STET_TOOLS_HOST_H
#define STET_TOOLS_HOST_H

#include "core/places/reach.h"
#include "stet/host.h"
#include "tools/tool.h"

/** The most workspaces of a host: they fit into the bits of st_limit.spaces. */
enum { ST_ROOTS_MAX = 64 };

/** What the clients of one owner may do. */
struct st_limit {
	const char *owner;
	/** The owner is a name that people know, to be shown with what its clients do. */
	bool named;
	bool read_only;
	/** A bit for each workspace, the first one lowest. */
	uint64_t spaces;
};

/**
 * Limit what the clients of each owner may do, from their next call on. Owners
 * that are not listed may then do nothing: their token was removed. Without any
 * limits all owners may do everything.
 *
 * @limits  Copied, owners included. They replace all earlier ones.
 * @return  0 or STET_E_NOMEM.
 */
[[nodiscard]] int st_host_set_limits(struct stet_host *host, const struct st_limit *limits,
                                     size_t count, struct stet_error *err);

/** The bit of the workspace with a root directory. Returns 0 if there is none. */
uint64_t st_host_space_bit(const struct stet_host *host, const char *root);

/** The n-th workspace (from 0) that a client may use; NULL beyond the last. */
struct stet_workspace *st_client_workspace(struct stet_client *client, size_t n);

/** Fill in which files a client may know of. Returns NULL if it may know of all; so may a client that is NULL. */
const struct st_reach *st_client_reach(struct stet_client *client, struct st_reach *reach);

/** Whether a client may change nothing, because of its owner or of the host. */
bool st_client_is_read_only(struct stet_client *client);

/**
 * Begin a client's call, whose arguments are bound: find the client that the
 * argument "session" names, wait until its previous call has ended, and fill in
 * the call's sessions.
 *
 * @return 0, STET_E_ACCESS (the server or the caller's token is read-only), or the
 *         codes of stet_host_client().
 */
[[nodiscard]] int st_client_begin_call(struct st_call *call, struct stet_error *err);

/** End a call, after its answer is written: the client's next call may run. Fine if it never began. */
void st_client_end_call(struct st_call *call);

/**
 * As stet_client_call(), for a tool and arguments that are parsed already.
 *
 * @args   An object, or NULL for none.
 * @structured  Add structuredContent to the answer.
 * @watch  The caller that waits; may be NULL.
 * @out    Receives the answer; stays empty only if memory runs out.
 */
int st_client_run(struct stet_client *client, const struct st_tool *tool, yyjson_val *args,
                  bool structured, struct st_call_watch *watch, struct st_buf *out,
                  struct stet_error *err);

/** Whether the host takes its directories from its client; see stet_host_follow(). */
bool st_host_follows(const struct stet_host *host);

/** Number clients without a name from `first` on. */
void st_host_number_from(struct stet_host *host, unsigned first);

#endif
