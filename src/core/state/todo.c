#include "core/state/todo.h"

#include <strings.h>

#include "core/state/state.h"
#include "stet/state.h"

/* The most tasks of a list; the rest is left out. */
enum { TODOS_MAX = 200 };

struct todo {
	const char *text;
	enum st_task_status status;
};

struct todos {
	struct todo items[TODOS_MAX];
	size_t count;
};

bool st_todo_is_tool(struct st_str name) {
	static const char *const names[] = {"todowrite", "todo_write", "update_plan", "write_todos"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (name.len == strlen(names[i]) && strncasecmp(name.ptr, names[i], name.len) == 0)
			return true;
	}
	return false;
}

/* ---- the agent's list ---- */

static const char *text_of(yyjson_val *item) {
	static const char *const names[] = {"content", "step", "description", "text", "subject"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		yyjson_val *text = yyjson_obj_get(item, names[i]);
		if (yyjson_is_str(text) && yyjson_get_len(text) > 0)
			return yyjson_get_str(text);
	}
	return NULL;
}

static void add_todo(struct todos *todos, yyjson_val *item) {
	struct st_str status = st_json_str(yyjson_obj_get(item, "status"));
	const char *text = text_of(item);
	if (!text || todos->count == TODOS_MAX || st_str_eq(status, ST_STR("cancelled")))
		return;
	struct todo *todo = &todos->items[todos->count++];
	*todo = (struct todo){.text = text, .status = ST_TASK_PENDING};
	if (st_str_eq(status, ST_STR("in_progress")))
		todo->status = ST_TASK_IN_PROGRESS;
	else if (st_str_eq(status, ST_STR("completed")))
		todo->status = ST_TASK_COMPLETED;
}

/* False if there is no list. */
static bool read_todos(yyjson_val *arguments, struct todos *todos) {
	yyjson_val *list = yyjson_obj_get(arguments, "todos"), *item;
	if (!list)
		list = yyjson_obj_get(arguments, "plan");
	if (!yyjson_is_arr(list))
		return false;
	yyjson_arr_iter items = yyjson_arr_iter_with(list);
	while ((item = yyjson_arr_iter_next(&items)))
		add_todo(todos, item);
	return true;
}

/* ---- the tasks of the state ---- */

static bool is_open(const struct st_repo_task *task) {
	return task->status != ST_TASK_COMPLETED;
}

static const struct st_repo_task *find_open(const struct st_repo_state *state, const char *text) {
	for (size_t i = 0; i < state->task_count; i++) {
		if (is_open(&state->tasks[i]) && strcmp(state->tasks[i].description, text) == 0)
			return &state->tasks[i];
	}
	return NULL;
}

/* Another session works on it. */
static bool is_taken(const struct stet_session *session, const struct st_repo_task *task) {
	return is_open(task) && task->owner && session->name && strcmp(task->owner, session->name) != 0;
}

/* A task that was finished before stet knew of it does not become one. */
static int set_open(struct stet_session *session, const struct todos *todos,
                    const struct st_repo_state *state, struct stet_error *err) {
	const char *texts[2 * TODOS_MAX];
	size_t count = 0;
	for (size_t i = 0; i < todos->count; i++) {
		if (todos->items[i].status != ST_TASK_COMPLETED || find_open(state, todos->items[i].text))
			texts[count++] = todos->items[i].text;
	}
	for (size_t i = 0; i < state->task_count && count < 2 * TODOS_MAX; i++) {
		if (is_taken(session, &state->tasks[i]))
			texts[count++] = state->tasks[i].description;
	}
	return stet_tasks_set(session->ws, texts, count, err);
}

/* A task that another session works on keeps its status. */
static void set_status(struct stet_session *session, const struct todo *todo,
                       const struct st_repo_state *state) {
	const struct st_repo_task *task = find_open(state, todo->text);
	if (!task || task->status == todo->status)
		return;
	if (todo->status == ST_TASK_IN_PROGRESS)
		(void)!stet_task_start(session, task->id, NULL);
	else if (todo->status == ST_TASK_COMPLETED)
		(void)!stet_task_complete(session, task->id, NULL);
}

int st_todo_take(struct stet_session *session, yyjson_val *arguments, struct stet_error *err) {
	struct st_repo *repo = &st_state_of(session->ws)->repo;
	st_auto(st_repo_status) before = {0};
	st_auto(st_repo_status) after = {0};
	struct todos todos = {.count = 0};
	if (!read_todos(arguments, &todos))
		return 0;
	int code = st_repo_get_status(repo, NULL, ST_REPO_STORED, &before, err);
	if (code == 0)
		code = set_open(session, &todos, &before.state, err);
	if (code == 0)
		code = st_repo_get_status(repo, NULL, ST_REPO_STORED, &after, err);
	for (size_t i = 0; i < todos.count && code == 0; i++)
		set_status(session, &todos.items[i], &after.state);
	return code;
}
