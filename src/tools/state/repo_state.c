/* repo_state: show the state of the work as text, within a budget of tokens. */
#include "core/prompt/snapshot.h"
#include "core/state/state.h"
#include "stet/state.h"
#include "tools/render.h"

/* Add the numbers of files and tasks by status. */
static void add_counts(struct st_call *call, const struct st_repo_state *state) {
	size_t counts[ST_FILE_STATUSES] = {0}, external = 0, open = 0;
	for (size_t i = 0; i < state->file_count; i++) {
		counts[state->files[i].status]++;
		external += state->files[i].external;
	}
	for (size_t i = 0; i < state->task_count; i++)
		open += state->tasks[i].status != ST_TASK_COMPLETED;
	yyjson_mut_val *files = st_json_add_object(call->doc, call->result, "files");
	for (size_t i = 0; i < ST_FILE_STATUSES; i++)
		st_json_add_size(call->doc, files, st_file_status_name((enum st_file_status)i), counts[i]);
	st_json_add_size(call->doc, files, "external", external);
	st_json_add_size(call->doc, call->result, "openTasks", open);
	st_json_add_size(call->doc, call->result, "finishedTasks", state->task_count - open);
}

static int run_repo_state(struct st_call *call, struct stet_error *err) {
	struct stet_session *session = call->session;
	int64_t budget = st_arg_int(call, "budget", 0);
	if (budget < 0)
		return st_fail(err, STET_E_INVALID,
		               "\"budget\" of repo_state is a number of tokens; it cannot be negative.");
	st_auto(st_repo_status) status = {0};
	int code = st_state_read(session, st_arg_flag(call, "scan", false), &status, err);
	if (code == 0)
		code = st_snapshot_format(&status.state, (size_t)budget, &call->text, err);
	if (code < 0)
		return code;
	st_call_note_roots(call);
	st_workspace_log(session->ws, session->name, st_buf_str(&call->text));
	st_json_add_text(call->doc, call->result, "status", ST_STR("success"));
	st_json_add_text(call->doc, call->result, "storyId", st_str(status.state.story_id));
	add_counts(call, &status.state);
	st_json_add_time(call->doc, call->result, "lastUpdated", status.state.last_updated);
	return 0;
}

static const struct st_param params[] = {
	{.name = "scan",
     .type = ST_PARAM_BOOLEAN,
     .description = "Add every file that is not ignored."},
	{.name = "budget", .type = ST_PARAM_INTEGER, .description = "How many tokens; 500 by default."},
	ST_PARAM_SESSION,
	ST_PARAMS_END,
};

const struct st_tool st_repo_state = {
	.name = "repo_state",
	.title = "Show the state of the work",
	.description =
		"Show which files were read, created and changed in this story, by whom, and the open "
		"tasks. Call it after your context was compacted.",
	.params = params,
	.output_schema = ST_OUTPUT("\"storyId\":{\"type\":\"string\"},"
                               "\"files\":{\"type\":\"object\"},"
                               "\"openTasks\":{\"type\":\"integer\"},"
                               "\"finishedTasks\":{\"type\":\"integer\"},"
                               "\"lastUpdated\":{\"type\":\"string\"}"),
	.hints = ST_HINT_READ_ONLY | ST_HINT_IDEMPOTENT,
	.group = ST_GROUP_STATE,
	.listed = ST_LISTED_DEFAULT,
	.run = run_repo_state,
};
