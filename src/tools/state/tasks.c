/* tasks: list and change the tasks, which all sessions share. */
#include <strings.h>

#include "base/clock.h"
#include "core/prompt/snapshot.h"
#include "core/state/state.h"
#include "stet/state.h"
#include "tools/render.h"

/* The most tasks in an answer; the rest are counted. */
enum { SHOWN_MAX = 100 };

#define MINUTE_NS ((int64_t)60 * 1000000000)

/* ---- the list ---- */

/* The owner of a task, the place, and how long the claim holds without activity. */
static void add_claim(struct st_buf *out, const struct st_repo_task *task) {
	if (task->status != ST_TASK_IN_PROGRESS || !task->owner)
		return;
	st_buf_adds(out, " by ");
	st_snapshot_add_name(out, st_str(task->owner));
	if (task->place) {
		st_buf_adds(out, " in ");
		st_snapshot_add_name(out, st_str(task->place));
	}
	int64_t minutes = (task->expires - st_wall_ns() + MINUTE_NS - 1) / MINUTE_NS;
	if (task->expires)
		st_buf_addf(out, minutes > 0 ? ", for %lld min" : ", ending", (long long)minutes);
}

static void render_task(struct st_call *call, yyjson_mut_val *list,
                        const struct st_repo_task *task) {
	static const char *const names[] = {"pending", "in_progress", "completed"};
	yyjson_mut_val *object = yyjson_mut_obj(call->doc);
	st_json_add(call->doc, object, "id", yyjson_mut_sint(call->doc, task->id));
	st_json_add_text(call->doc, object, "description", st_str(task->description));
	st_json_add_text(call->doc, object, "status", st_str(names[task->status]));
	st_json_add(call->doc, object, "priority", yyjson_mut_sint(call->doc, task->priority));
	if (task->owner)
		st_json_add_text(call->doc, object, "owner", st_str(task->owner));
	if (task->place)
		st_json_add_text(call->doc, object, "place", st_str(task->place));
	if (task->expires)
		st_json_add_time(call->doc, object, "claimedUntil", task->expires);
	st_json_push(call->doc, list, object);
	st_buf_addf(&call->text, "%lld. [%s", (long long)task->id, names[task->status]);
	add_claim(&call->text, task);
	st_buf_adds(&call->text, "] ");
	st_quote_line(&call->text, st_str(task->description), SIZE_MAX / 2);
	st_buf_addc(&call->text, '\n');
}

/* A task that was removed was not done. */
static void say_none_open(struct st_call *call, size_t finished) {
	const char *action = st_arg(call, "action") ? st_arg_str(call, "action").ptr : "";
	bool removed = strcasecmp(action, "remove") == 0;
	const char *none = removed ? "No task is left to do.\n" : "All tasks are done.\n";
	st_buf_adds(&call->text, finished ? none : "There are no tasks.\n");
}

static int list_tasks(struct st_call *call, struct stet_error *err) {
	st_auto(st_repo_status) status = {0};
	int code = st_repo_get_status(&st_state_of(call->session->ws)->repo, NULL, ST_REPO_STORED,
	                              &status, err);
	if (code < 0)
		return code;
	const struct st_repo_state *state = &status.state;
	yyjson_mut_val *list = st_json_add_array(call->doc, call->result, "tasks");
	size_t open = 0;
	for (size_t i = 0; i < state->task_count; i++) {
		if (state->tasks[i].status != ST_TASK_COMPLETED && open++ < SHOWN_MAX)
			render_task(call, list, &state->tasks[i]);
	}
	st_json_add_size(call->doc, call->result, "open", open);
	st_json_add_size(call->doc, call->result, "finished", state->task_count - open);
	if (open > SHOWN_MAX)
		st_buf_addf(&call->text, "and %zu more\n", open - SHOWN_MAX);
	if (open == 0)
		say_none_open(call, state->task_count);
	return 0;
}

/* ---- actions ---- */

static int add_one(struct st_call *call, struct stet_error *err) {
	struct st_str text = st_arg_str(call, "description");
	int64_t id;
	int code = stet_task_add(call->session->ws, text.ptr, text.len, st_arg_int(call, "priority", 0),
	                         &id, err);
	if (code == 0)
		st_json_add(call->doc, call->result, "id", yyjson_mut_sint(call->doc, id));
	return code;
}

/* An item is a description, or an object that has one. */
static const char *item_text(yyjson_val *item) {
	return yyjson_get_str(yyjson_is_obj(item) ? yyjson_obj_get(item, "description") : item);
}

static int check_items(yyjson_val *items, struct stet_error *err) {
	yyjson_val *item;
	if (!yyjson_is_arr(items))
		return st_fail(err, STET_E_INVALID, "\"items\" of tasks must be a list of texts, not %s.",
		               st_json_kind(items));
	yyjson_arr_iter each = yyjson_arr_iter_with(items);
	while ((item = yyjson_arr_iter_next(&each))) {
		if (!item_text(item))
			return st_fail(err, STET_E_INVALID,
			               "\"items\" of tasks must be a list of texts, but contains %s.",
			               st_json_kind(item));
	}
	return 0;
}

static int set_list(struct st_call *call, struct stet_error *err) {
	yyjson_val *items = st_arg(call, "items"), *item;
	size_t count = 0;
	if (!items)
		return st_fail(err, STET_E_INVALID, "To set the list, tasks needs \"items\".");
	st_autofree const char **texts = calloc(yyjson_arr_size(items) + 1, sizeof *texts);
	if (!texts)
		return st_fail_nomem(err);
	yyjson_arr_iter each = yyjson_arr_iter_with(items);
	while ((item = yyjson_arr_iter_next(&each)))
		texts[count++] = item_text(item);
	return stet_tasks_set(call->session->ws, texts, count, err);
}

static int claim_next(struct st_call *call, struct stet_error *err) {
	int64_t id;
	int code = stet_task_claim(call->session, &id, err);
	if (code == 0 && id)
		st_json_add(call->doc, call->result, "id", yyjson_mut_sint(call->doc, id));
	if (code == 0 && id)
		st_buf_addf(&call->text, "Task %lld is yours.\n", (long long)id);
	else if (code == 0)
		st_buf_adds(&call->text, "No unclaimed task is left.\n");
	return code;
}

static int claim_one(struct st_call *call, int64_t id, struct stet_error *err) {
	int code = stet_task_start(call->session, id, err);
	if (code == 0)
		st_buf_addf(&call->text, "Task %lld is yours.\n", (long long)id);
	return code;
}

static int run_action(struct st_call *call, const char *action, struct stet_error *err) {
	int64_t id = st_arg_int(call, "id", 0);
	if (!*action || strcasecmp(action, "list") == 0)
		return st_state_see_tasks(call->session->ws, err);
	if (strcasecmp(action, "add") == 0)
		return add_one(call, err);
	if (strcasecmp(action, "set") == 0)
		return set_list(call, err);
	if (strcasecmp(action, "claim") == 0 && !st_arg(call, "id"))
		return claim_next(call, err);
	if (!st_arg(call, "id"))
		return st_fail(err, STET_E_INVALID, "To %s a task, tasks needs its \"id\".", action);
	if (strcasecmp(action, "start") == 0)
		return stet_task_start(call->session, id, err);
	if (strcasecmp(action, "claim") == 0)
		return claim_one(call, id, err);
	if (strcasecmp(action, "release") == 0)
		return stet_task_release(call->session, id, err);
	if (strcasecmp(action, "complete") == 0)
		return stet_task_complete(call->session, id, err);
	if (strcasecmp(action, "remove") == 0)
		return stet_task_remove(call->session->ws, id, err);
	if (!st_arg(call, "priority"))
		return st_fail(err, STET_E_INVALID, "To prioritise a task, tasks needs a \"priority\".");
	return stet_task_prioritise(call->session->ws, id, st_arg_int(call, "priority", 0), err);
}

static int run_tasks_tool(struct st_call *call, struct stet_error *err) {
	int code = st_arg(call, "items") ? check_items(st_arg(call, "items"), err) : 0;
	if (code == 0)
		code = run_action(call, st_arg_str(call, "action").ptr, err);
	if (code < 0)
		return code;
	st_json_add_text(call->doc, call->result, "status", ST_STR("success"));
	return list_tasks(call, err);
}

static const struct st_param params[] = {
	{.name = "action",
     .choices = "list|add|set|start|complete|prioritise|remove|claim|release",
     .description = "Default: list. set replaces the unfinished ones; claim starts the first free "
                    "one; release "
                    "frees one."},
	{.name = "id", .type = ST_PARAM_INTEGER, .description = "Which task."},
	{.name = "description", .description = "What is to be done."},
	{.name = "items",
     .type = ST_PARAM_ANY,
     .schema = "\"type\":\"array\",\"items\":{\"type\":\"string\"}",
     .description = "For set: descriptions, in order."},
	{.name = "priority",
     .type = ST_PARAM_INTEGER,
     .blank = true,
     .description = "The lowest comes first."},
	ST_PARAM_SESSION,
	ST_PARAMS_END,
};

const struct st_tool st_tasks = {
	.name = "tasks",
	.title = "Plan and finish tasks",
	.description = "List and change the open tasks that all sessions share.",
	.params = params,
	.output_schema = ST_OUTPUT("\"id\":{\"type\":\"integer\"},"
                               "\"tasks\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}},"
                               "\"open\":{\"type\":\"integer\"},"
                               "\"finished\":{\"type\":\"integer\"}"),
	.group = ST_GROUP_STATE,
	.listed = ST_LISTED_DEFAULT,
	.run = run_tasks_tool,
};
