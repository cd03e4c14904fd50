#include "core/state/tasks_follow.h"

#include <stdlib.h>
#include <strings.h>

#include "core/state/state.h"

/* How deep in an object the list may be, as in {"arguments": {"todos": [...]}}. */
enum { DEPTH_MAX = 4 };

bool st_tasks_is_list_tool(const char *tool) {
	static const char *const names[] = {"todowrite", "todo_write", "write_todos", "update_plan",
	                                    "updateplan"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (strcasestr(tool, names[i]))
			return true;
	}
	return false;
}

/* ---- the list ---- */

/* "newTodos" first: a result may hold the list from before, too. */
static yyjson_val *find_list(yyjson_val *value, int depth) {
	static const char *const keys[] = {"newTodos", "todos", "plan"};
	yyjson_val *key, *list;
	if (!yyjson_is_obj(value) || depth > DEPTH_MAX)
		return NULL;
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		list = yyjson_obj_get(value, keys[i]);
		if (yyjson_is_arr(list))
			return list;
	}
	yyjson_obj_iter members = yyjson_obj_iter_with(value);
	while ((key = yyjson_obj_iter_next(&members))) {
		list = find_list(yyjson_obj_iter_get_val(key), depth + 1);
		if (list)
			return list;
	}
	return NULL;
}

static struct st_str item_text(yyjson_val *item) {
	static const char *const keys[] = {"content", "step", "subject", "description"};
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		yyjson_val *text = yyjson_obj_get(item, keys[i]);
		if (yyjson_is_str(text))
			return st_str_trim(st_json_str(text));
	}
	return (struct st_str){0};
}

/* The status of an item; -1 for one that is dropped, such as "cancelled". */
static int item_status(yyjson_val *item) {
	static const char *const names[] = {"pending", "in_progress", "completed"};
	yyjson_val *status = yyjson_obj_get(item, "status");
	for (int i = 0; i < 3; i++) {
		if (st_str_eq(st_json_str(status), st_str(names[i])))
			return i;
	}
	return status ? -1 : ST_TASK_PENDING;
}

/* ---- following ---- */

struct follow {
	const char *source;
	yyjson_val *list;
};

static int follow_list(struct st_store *store, void *data, struct stet_error *err) {
	const struct follow *follow = data;
	yyjson_val *item;
	int64_t priority = 0;
	int code = st_store_tasks_follow_mark(store, follow->source, err);
	yyjson_arr_iter items = yyjson_arr_iter_with(follow->list);
	while (code == 0 && (item = yyjson_arr_iter_next(&items))) {
		struct st_str text = item_text(item);
		int status = item_status(item);
		if (text.len > 0 && text.len <= ST_TASK_BYTES_MAX && status >= 0)
			code = st_store_task_follow(store, follow->source, text, (enum st_task_status)status,
			                            ++priority, err);
	}
	return code == 0 ? st_store_tasks_sweep(store, err) : code;
}

int st_tasks_follow(struct stet_session *session, yyjson_val *value, struct stet_error *err) {
	struct st_state *state = st_state_of(session->ws);
	struct follow follow = {st_session_who(session), find_list(value, 0)};
	if (!follow.list)
		return 0;
	if (yyjson_arr_size(follow.list) > ST_TASKS_OPEN_MAX)
		return st_fail(err, STET_E_TOO_BIG, "A list of tasks has at most %d; this one has %zu.",
		               ST_TASKS_OPEN_MAX, yyjson_arr_size(follow.list));
	int code = st_store_do(&state->store, ST_STORE_WRITE, follow_list, &follow, err);
	if (code == 0)
		st_repo_export_mark(&state->repo_export);
	return code < 0 ? code : 1;
}

/* ---- one task ---- */

struct follow_one {
	const char *source;
	/** The agent's number of the task. */
	int64_t number;
	struct st_str text;
	bool is_new, removed;
	/** -1 if the call does not change it. */
	int status;
};

/* A number, or a text of digits; 0 for neither. */
static int64_t number_of(yyjson_val *value) {
	return yyjson_is_str(value) ? strtoll(yyjson_get_str(value), NULL, 10) : st_json_int(value);
}

static int follow_one(struct st_store *store, void *data, struct stet_error *err) {
	const struct follow_one *one = data;
	if (one->is_new)
		return st_store_task_follow(store, one->source, one->text, ST_TASK_PENDING, one->number,
		                            err);
	if (one->removed)
		return st_store_task_drop_number(store, one->source, one->number, err);
	return st_store_task_follow_number(store, one->source, one->number, one->status, one->text,
	                                   err);
}

int st_tasks_follow_one(struct stet_session *session, yyjson_val *input, yyjson_val *response,
                        struct stet_error *err) {
	struct st_state *state = st_state_of(session->ws);
	yyjson_val *id = yyjson_obj_get(input, "taskId");
	yyjson_val *status = yyjson_obj_get(input, "status");
	struct follow_one one = {
		.source = st_session_who(session),
		.is_new = !id,
		.text = st_str_trim(st_json_str(yyjson_obj_get(input, "subject"))),
		.removed = st_str_eq(st_json_str(status), ST_STR("deleted")),
		.status = status ? item_status(input) : -1,
	};
	one.number = number_of(id ? id : yyjson_obj_get(yyjson_obj_get(response, "task"), "id"));
	if (one.number <= 0 || one.text.len > ST_TASK_BYTES_MAX || (one.is_new && one.text.len == 0))
		return 0;
	int code = st_store_do(&state->store, ST_STORE_WRITE, follow_one, &one, err);
	if (code == 0)
		st_repo_export_mark(&state->repo_export);
	return code < 0 ? code : 1;
}
