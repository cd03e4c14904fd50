/**
 * Agents have to-do lists of their own (TodoWrite, update_plan, todowrite,
 * write_todos). This makes such a list part of the tasks, so that they follow
 * the work without a call of stet's own tool.
 *
 *     if (st_tasks_is_list_tool("TodoWrite"))
 *             code = st_tasks_follow(session, arguments, err);
 */
#ifndef STET_CORE_STATE_TASKS_FOLLOW_H
#define STET_CORE_STATE_TASKS_FOLLOW_H

#include "base/json.h"
#include "core/session/session.h"

/** Whether a tool of this name replaces its agent's to-do list. */
bool st_tasks_is_list_tool(const char *tool);

/**
 * Make the tasks follow an agent's to-do list: new items are added, items that
 * are done are completed, and tasks that the session's former list had and this
 * one lacks are removed. Tasks that came from elsewhere stay.
 *
 * @value  The tool's arguments, its result, or an object that holds them; the
 *         list is its member `newTodos`, `todos` or `plan`. An item has a text
 *         (`content`, `step` or `description`) and a `status`.
 * @return 1 if there was a list, 0 if not or if it has no usable form, or the
 *         codes of st_store_do(), STET_E_TOO_BIG.
 */
[[nodiscard]] int st_tasks_follow(struct stet_session *session, yyjson_val *value,
                                  struct stet_error *err);

/**
 * Follow an agent that adds and changes one task at a time (Claude Code's
 * TaskCreate and TaskUpdate).
 *
 * @input     The arguments: `subject` of a new task; `taskId` and the new
 *            `status` or `subject` of one that is there.
 * @response  The tool's answer, which has the number of a new task.
 * @return    1, 0 if they name no task, or the codes of st_store_do().
 */
[[nodiscard]] int st_tasks_follow_one(struct stet_session *session, yyjson_val *input,
                                      yyjson_val *response, struct stet_error *err);

#endif
