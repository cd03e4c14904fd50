/** The inside of a desk; its contract is in stet/host.h. */
#ifndef STET_TOOLS_HOST_H
#define STET_TOOLS_HOST_H

#include "stet/host.h"
#include "tools/tool.h"

/**
 * Go to work on a call that came to an agent, whose arguments are bound:
 * choose whose call it is, wait for its turn, and fill in its sessions.
 *
 * @return 0, or the codes of stet_host_client(): the call is then nobody's.
 */
[[nodiscard]] int st_client_enter(struct st_call *call, struct stet_error *err);

/**
 * As stet_client_call(), with a tool and arguments that are there already.
 *
 * @args   An object, or NULL for none.
 * @structured  Add structuredContent to the answer.
 * @watch  Who waits; may be NULL.
 * @out    Receives the answer; stays empty only without memory.
 */
int st_client_run(struct stet_client *client, const struct st_tool *tool, yyjson_val *args,
                  bool structured, struct st_call_watch *watch, struct st_buf *out,
                  struct stet_error *err);

/** Whether its client says where to work. */
bool st_host_follows(const struct stet_host *host);

/** Number the agents without a name from here on. */
void st_host_number_from(struct stet_host *host, unsigned first);

/** The answer is written: the next call may run. Fine for a call that was never entered. */
void st_client_leave(struct st_call *call);

#endif
