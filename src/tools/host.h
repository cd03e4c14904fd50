/** What the library uses of a host besides stet/host.h. */
#ifndef STET_TOOLS_HOST_H
#define STET_TOOLS_HOST_H

#include "stet/host.h"
#include "tools/tool.h"

/**
 * Begin a client's call, whose arguments are bound: find the client that the
 * argument "session" names, wait until its previous call has ended, and fill in
 * the call's sessions.
 *
 * @return 0, STET_E_ACCESS (the server is read-only), or the codes of stet_host_client().
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
