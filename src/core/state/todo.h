/** An agent's own list of tasks, taken over as the tasks of the state. */
#ifndef STET_CORE_STATE_TODO_H
#define STET_CORE_STATE_TODO_H

#include "base/json.h"
#include "core/session/session.h"

/** Whether a tool by this name sets a list of tasks: TodoWrite, update_plan, write_todos and the like. */
bool st_todo_is_tool(struct st_str name);

/**
 * Make the list in the arguments of such a tool the tasks of the state, with
 * the status of each. Unfinished tasks that the list lacks are removed, unless
 * another session works on them.
 *
 * @arguments  {"todos": [{"content", "status"}]} or {"plan": [{"step", "status"}]}.
 * @return     0, also if there is no list; or the codes of stet_tasks_set().
 */
[[nodiscard]] int st_todo_take(struct stet_session *session, yyjson_val *arguments,
                               struct stet_error *err);

#endif
