/* The state of the work and prompts, through the public headers. */
#include <stet/stet.h>

#include "lib/test.h"

struct opened {
	struct stet_workspace *ws;
	struct stet_session *session;
};

static struct opened open_dir(const struct dir *dir) {
	struct opened opened = {0};
	assert_int_equal(stet_workspace_open(dir->path, &opened.ws, NULL), 0);
	assert_int_equal(stet_workspace_set(opened.ws, STET_OPTION_STATE, 2, NULL), 0);
	assert_int_equal(stet_session_open(opened.ws, "me", &opened.session, NULL), 0);
	return opened;
}

static void close_dir(struct opened *opened) {
	stet_session_close(opened->session);
	stet_workspace_close(opened->ws);
}

/* Whether the state, as JSON, holds a text. */
static bool state_has(struct stet_session *session, const char *text) {
	char *json = NULL;
	size_t len = 0;
	assert_int_equal(stet_state_json(session, &json, &len, NULL), 0);
	assert_int_equal(strlen(json), len);
	bool found = strstr(json, text) != NULL;
	stet_free(json);
	return found;
}

static void a_story_has_tasks_that_sessions_claim(void **state) {
	const struct dir *dir = *state;
	struct opened opened = open_dir(dir);
	struct stet_error err = {0};
	char *story = NULL;
	assert_int_equal(stet_story(opened.ws, &story, &err), 0);
	assert_null(story);
	assert_int_equal(stet_story_begin(opened.ws, "hello-001", &err), 0);
	assert_int_equal(stet_story(opened.ws, &story, &err), 0);
	assert_string_equal(story, "hello-001");
	stet_free(story);

	int64_t first = 0, second = 0, claimed = 0;
	assert_int_equal(stet_task_add(opened.ws, "write", 5, 0, &first, &err), 0);
	assert_int_equal(stet_task_add(opened.ws, "test", 4, 0, &second, &err), 0);
	assert_int_equal(stet_task_prioritise(opened.ws, second, 1, &err), 0);
	assert_int_equal(stet_task_claim(opened.session, &claimed, &err), 0);
	assert_true(claimed == first || claimed == second);
	int64_t other = claimed == first ? second : first;
	assert_int_equal(stet_task_start(opened.session, other, &err), 0);
	assert_int_equal(stet_task_release(opened.session, other, &err), 0);
	assert_int_equal(stet_task_complete(opened.session, other, &err), 0);
	assert_int_equal(stet_task_remove(opened.ws, claimed, &err), 0);
	assert_int_equal(stet_task_complete(opened.session, 999, &err), STET_E_NOT_FOUND);

	const char *texts[] = {"one", "two"};
	assert_int_equal(stet_tasks_set(opened.ws, texts, 2, &err), 0);
	assert_true(state_has(opened.session, "\"two\""));
	assert_int_equal(stet_snapshot_used(opened.ws, &err), 1);
	assert_int_equal(stet_story_use_snapshot(opened.ws, 0, &err), 0);
	assert_int_equal(stet_snapshot_used(opened.ws, &err), 0);
	assert_int_equal(stet_story_end(opened.ws, &err), 0);
	close_dir(&opened);
}

static void a_write_is_logged_and_taken_back(void **state) {
	const struct dir *dir = *state;
	dir_write(dir, "a.txt", "one\n");
	struct opened opened = open_dir(dir);
	struct stet_error err = {0};
	struct stet_answer *answer = NULL;
	assert_int_equal(
		stet_session_edit(opened.session, "a.txt", "one", 3, "two", 3, NULL, &answer, &err), 0);
	stet_answer_free(answer);
	char *log = NULL;
	assert_int_equal(stet_log(opened.ws, "a.txt", 10, &log, &err), 0);
	assert_non_null(strstr(log, "\"me\""));
	stet_free(log);
	assert_int_equal(stet_undo(opened.session, "a.txt", &answer, &err), 0);
	stet_answer_free(answer);
	assert_string_equal(dir_read(dir, "a.txt"), "one\n");
	assert_int_equal(stet_undo(opened.session, "b.txt", NULL, &err), STET_E_NOT_FOUND);
	assert_int_equal(stet_state_is_stored(opened.session, &err), 0);
	close_dir(&opened);
}

static void other_tools_and_the_tree_are_recorded(void **state) {
	const struct dir *dir = *state;
	dir_write(dir, "b.txt", "b\n");
	dir_write(dir, "c.txt", "c\n");
	struct opened opened = open_dir(dir);
	struct stet_error err = {0};
	const char *result = "{\"path\": \"b.txt\", \"content\": \"b\\n\"}";
	char *told = NULL;
	assert_int_equal(stet_record(opened.session, "write_file", result, strlen(result), &told, &err),
	                 0);
	assert_non_null(strstr(told, "b.txt"));
	stet_free(told);
	assert_int_equal(stet_record(opened.session, "write_file", "no", 2, NULL, &err),
	                 STET_E_INVALID);
	assert_true(state_has(opened.session, "b.txt"));
	assert_false(state_has(opened.session, "c.txt"));
	assert_int_equal(stet_state_scan(opened.ws, &err), 0);
	assert_true(state_has(opened.session, "c.txt"));
	assert_int_equal(stet_state_flush(opened.ws, &err), 0);
	assert_non_null(strstr(dir_read(dir, ".stet/repostate.json"), "c.txt"));

	char *check = NULL;
	assert_int_equal(stet_state_check(opened.ws, &check, &err), 0);
	assert_non_null(strstr(check, "\"database\""));
	stet_free(check);
	close_dir(&opened);
}

static void the_state_goes_into_another_directory(void **state) {
	const struct dir *dir = *state;
	struct stet_workspace *ws = NULL;
	assert_int_equal(stet_workspace_open(dir->path, &ws, NULL), 0);
	assert_int_equal(stet_workspace_state_dir(ws, "a/b", NULL), STET_E_INVALID);
	assert_int_equal(stet_workspace_state_dir(ws, ".maestro", NULL), 0);
	assert_int_equal(stet_workspace_hub(ws, "host=db password=x", NULL), STET_E_INVALID);
	assert_int_equal(stet_workspace_hub(ws, "postgresql://me:x@db/agents", NULL), STET_E_INVALID);
	assert_int_equal(stet_workspace_hub(ws, "postgresql://me@db/agents", NULL), 0);
	assert_int_equal(stet_workspace_hub(ws, NULL, NULL), 0);
	assert_int_equal(stet_workspace_project(ws, "git.example/ann/hello=hello", NULL), 0);
	assert_int_equal(stet_workspace_project(ws, "/srv/hello", NULL), STET_E_INVALID);
	assert_int_equal(stet_workspace_project(ws, NULL, NULL), 0);
	int64_t id = 0;
	assert_int_equal(stet_task_add(ws, "write", 5, 0, &id, NULL), 0);
	assert_int_equal(stet_state_flush(ws, NULL), 0);
	stet_workspace_close(ws);
	assert_true(dir_has(dir, ".maestro/repostate.json"));
	assert_false(dir_has(dir, ".stet"));
}

static void a_long_history_becomes_a_short_prompt(void **state) {
	const struct dir *dir = *state;
	struct opened opened = open_dir(dir);
	struct stet_error err = {0};
	assert_int_equal(stet_workspace_log(opened.ws, dir_at(dir, "snapshots.log"), &err), 0);
	struct stet_context *context = stet_context_new();
	assert_non_null(context);
	stet_context_set_number(context, STET_CONTEXT_STRICT, 1);
	stet_context_set_number(context, STET_CONTEXT_ARCHIVED, 1);
	assert_int_equal(stet_context_learn(context, opened.session, "[]", 2, &err), 0);
	assert_int_equal(stet_context_take(context, opened.session, &err), 0);
	assert_int_equal(stet_context_set(context, STET_CONTEXT_REQUEST, "Go on.", 6, &err), 0);
	assert_int_equal(stet_context_set(context, STET_CONTEXT_SHAPE, "x", 1, &err), STET_E_INVALID);
	stet_context_set_number(context, STET_CONTEXT_BUDGET, 1000);

	char *prompt = NULL;
	size_t len = 0;
	assert_int_equal(stet_context_prompt(context, &prompt, &len, &err), 0);
	assert_int_equal(strlen(prompt), len);
	assert_non_null(strstr(prompt, "Go on."));
	stet_free(prompt);

	static char messages[60000];
	size_t used =
		(size_t)snprintf(messages, sizeof messages, "[{\"role\":\"user\",\"content\":\"Do it.\"}");
	for (int i = 0; i < 200; i++)
		used += (size_t)snprintf(
			messages + used, sizeof messages - used,
			",{\"role\":\"%s\",\"content\":\"step %d of a long story, told at length\"}",
			i % 2 ? "user" : "assistant", i);
	used += (size_t)snprintf(messages + used, sizeof messages - used, "]");
	assert_int_equal(stet_context_compact(context, messages, used, &prompt, &len, &err), 0);
	assert_true(len < used);
	assert_non_null(strstr(prompt, "Do it."));
	assert_true(stet_context_count(context, STET_CONTEXT_TOKENS) <= 1000);
	assert_int_equal(strlen(stet_context_archive(context)), 16);
	stet_free(prompt);
	stet_context_free(context);
	assert_true(dir_has(dir, "snapshots.log"));
	close_dir(&opened);
}

static void a_state_in_json_becomes_a_snapshot(void **state) {
	static const char json[] =
		"{\"work_dir\":\"/work/coder-001\",\"story_id\":\"hello-001\",\"files\":["
		"{\"path\":\"go.mod\",\"hash\":\"8d2c47\",\"size\":89,\"status\":\"unchanged\"},"
		"{\"path\":\"README.md\",\"hash\":\"1b4e9a\",\"size\":156}],"
		"\"open_tasks\":[{\"description\":\"Run go build\",\"status\":\"pending\",\"priority\":2},"
		"{\"description\":\"Add unit tests\",\"status\":\"in_progress\",\"priority\":1}],"
		"\"last_updated\":\"2025-10-22T03:15:42Z\"}";
	char *text = NULL;
	struct stet_error err = {0};
	(void)state;
	assert_int_equal(stet_snapshot_format(json, sizeof json - 1, 0, &text, NULL, &err), 0);
	assert_string_equal(text,
	                    "--- Repository State ---\n"
	                    "Workspace: /work/coder-001\n"
	                    "Story: hello-001\n\n"
	                    "Existing Files (2):\n"
	                    "  • README.md (1b4e9a, 156 bytes) - markdown\n"
	                    "  • go.mod (8d2c47, 89 bytes, unchanged) - go module\n\n"
	                    "Open Tasks (2):\n"
	                    "  1. [in_progress] Add unit tests\n"
	                    "  2. [pending] Run go build\n\n"
	                    "Last updated: 2025-10-22 03:15:42 UTC\n");
	stet_free(text);
	assert_int_equal(stet_snapshot_format("[]", 2, 0, &text, NULL, &err), STET_E_INVALID);
	assert_null(text);

	static const char odd[] = "{\"files\":[{\"path\":\"a\",\"size\":-5}]}";
	assert_int_equal(stet_snapshot_format(odd, sizeof odd - 1, 0, &text, NULL, &err), 0);
	assert_non_null(strstr(text, "a (000000, 0 bytes)"));
	stet_free(text);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		claim(a_story_has_tasks_that_sessions_claim), claim(a_write_is_logged_and_taken_back),
		claim(other_tools_and_the_tree_are_recorded), claim(the_state_goes_into_another_directory),
		claim(a_long_history_becomes_a_short_prompt), claim(a_state_in_json_becomes_a_snapshot),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
