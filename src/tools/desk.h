/** The inside of a desk; its contract is in stet/desk.h. */
#ifndef STET_TOOLS_DESK_H
#define STET_TOOLS_DESK_H

#include "stet/desk.h"
#include "tools/tool.h"

/**
 * Go to work on a call that came to an agent, whose arguments are bound:
 * choose whose call it is, wait for its turn, and fill in its sessions.
 *
 * @return 0, or the codes of stet_desk_agent(): the call is then nobody's.
 */
[[nodiscard]] int st_agent_enter(struct st_call *call, struct stet_error *err);

/**
 * As stet_agent_call(), with a tool and arguments that are there already.
 *
 * @args   An object, or NULL for none.
 * @structured  Add structuredContent to the answer.
 * @watch  Who waits; may be NULL.
 * @out    Receives the answer; stays empty only without memory.
 */
int st_agent_run(struct stet_agent *agent, const struct st_tool *tool, yyjson_val *args,
                 bool structured, struct st_call_watch *watch, struct st_buf *out,
                 struct stet_error *err);

/** Whether its client says where to work. */
bool st_desk_follows(const struct stet_desk *desk);

/** Number the agents without a name from here on. */
void st_desk_number_from(struct stet_desk *desk, unsigned first);

/** The answer is written: the next call may run. Fine for a call that was never entered. */
void st_agent_leave(struct st_call *call);

#endif
