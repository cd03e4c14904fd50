/* The hook: events of the agents in, decisions out. Each test plays one agent. */
#include <signal.h>
#include <stet/stet.h>

#include "lib/test.h"

/* Run an event; `members` follow the session and the directory. Returns the decision, "" for none. */
static const char *hook(const struct dir *dir, const char *members) {
	static char decision[64 << 10];
	char event[16 << 10];
	char *out = NULL;
	size_t len = 0;
	int size = snprintf(event, sizeof event, "{\"session_id\":\"s\",\"cwd\":\"%s\",%s}", dir->path,
	                    members);
	assert_true(size > 0 && (size_t)size < sizeof event);
	assert_int_equal(stet_hook_run(event, (size_t)size, NULL, &out, &len, NULL), 0);
	assert_true(len < sizeof decision);
	memcpy(decision, out ? out : "", out ? len + 1 : 1);
	stet_free(out);
	return decision;
}

#define CLAUDE_READ \
	"\"hook_event_name\":\"PostToolUse\",\"tool_name\":\"Read\",\"tool_input\":{\"file_path\":" \
	"\"a.txt\"}," \
	"\"tool_response\":{\"type\":\"text\",\"file\":{\"content\":\"one\\ntwo\\n\",\"numLines\":3," \
	"\"startLine\":1,\"totalLines\":3}}"
#define CLAUDE_EDIT \
	"\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Edit\",\"tool_input\":{\"file_path\":\"a." \
	"txt\"," \
	"\"old_string\":\"one\",\"new_string\":\"ONE\"}"
#define CLAUDE_WRITE \
	"\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Write\",\"tool_input\":{\"file_path\":" \
	"\"a.txt\"," \
	"\"content\":\"new\\n\"}"
#define GEMINI_READ \
	"\"timestamp\":\"t\",\"hook_event_name\":\"AfterTool\",\"tool_name\":\"read_file\",\"tool_" \
	"input\":{" \
	"\"file_path\":\"a.txt\"},\"tool_response\":{\"llmContent\":\"one\\ntwo\\n\"," \
	"\"returnDisplay\":\"\"}"
#define GEMINI_WRITE \
	"\"timestamp\":\"t\",\"hook_event_name\":\"BeforeTool\",\"tool_name\":\"write_file\",\"tool_" \
	"input\":{" \
	"\"file_path\":\"a.txt\",\"content\":\"new\\n\"}"
#define CODEX_CAT \
	"\"turn_id\":\"t\",\"hook_event_name\":\"PostToolUse\",\"tool_name\":\"Bash\",\"tool_input\":" \
	"{" \
	"\"command\":\"cat a.txt\"},\"tool_response\":\"one\\ntwo\\n\""
#define CODEX_PATCH \
	"\"turn_id\":\"t\",\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"apply_patch\",\"tool_" \
	"input\":{" \
	"\"command\":\"*** Begin Patch\\n*** Update File: a.txt\\n@@\\n-one\\n+ONE\\n*** End " \
	"Patch\\n\"}"

#define CODEX_PATCHED \
	"\"turn_id\":\"t\",\"hook_event_name\":\"PostToolUse\",\"tool_name\":\"apply_patch\",\"tool_" \
	"input\":{" \
	"\"command\":\"*** Begin Patch\\n*** Update File: a.txt\\n@@\\n-one\\n+ONE\\n*** End " \
	"Patch\\n\"},\"tool_response\":\"Success.\""

static struct dir *set_up(void **state) {
	struct dir *dir = *state;
	dir_write(dir, ".git/HEAD", "ref: refs/heads/main\n");
	dir_write(dir, "a.txt", "one\ntwo\n");
	return dir;
}

static void an_edit_of_a_changed_file_is_denied_once_with_the_diff(void **state) {
	const struct dir *dir = set_up(state);
	assert_string_equal(hook(dir, CLAUDE_READ), "");
	assert_string_equal(hook(dir, CLAUDE_EDIT), "");
	dir_write(dir, "a.txt", "one\ntwo\nthree\n");
	const char *decision = hook(dir, CLAUDE_EDIT);
	assert_non_null(strstr(decision, "\"permissionDecision\":\"deny\""));
	assert_non_null(strstr(decision, "+three"));
	assert_string_equal(hook(dir, CLAUDE_EDIT), "");
}

static void the_text_of_the_event_counts_not_the_disk(void **state) {
	const struct dir *dir = set_up(state);
	dir_write(dir, "a.txt", "one\ntwo\nthree\n");
	hook(dir, CLAUDE_READ);
	assert_non_null(strstr(hook(dir, CLAUDE_WRITE), "+three"));
}

static void a_file_that_was_never_read_is_not_overwritten(void **state) {
	const struct dir *dir = set_up(state);
	assert_non_null(strstr(hook(dir, CLAUDE_WRITE), "Read it first"));
	assert_non_null(strstr(hook(dir, GEMINI_WRITE), "\"decision\":\"deny\""));
	hook(dir, GEMINI_READ);
	assert_string_equal(hook(dir, GEMINI_WRITE), "");
}

static void a_shell_read_counts_and_a_patch_is_denied(void **state) {
	const struct dir *dir = set_up(state);
	assert_string_equal(hook(dir, CODEX_CAT), "");
	assert_string_equal(hook(dir, CODEX_PATCH), "");
	dir_write(dir, "a.txt", "one\ntwo\nthree\n");
	assert_non_null(strstr(hook(dir, CODEX_PATCH), "+three"));
	assert_string_equal(hook(dir, CODEX_PATCH), "");
}

/* A text of 400 lines, in place of that which the model has read. */
static void rewrite(const struct dir *dir, const char *name) {
	FILE *file = fopen(dir_at(dir, name), "w");
	assert_non_null(file);
	for (int line = 0; line < 400; line++)
		fprintf(file, "line %d of a file that others changed\n", line);
	assert_int_equal(fclose(file), 0);
}

/* Codex cuts a reason and the patch behind it at 48,000 characters. What it cuts must not count as read. */
static void the_reasons_of_many_files_fit_together(void **state) {
	const struct dir *dir = set_up(state);
	char event[4096], name[32];
	size_t len =
		(size_t)snprintf(event, sizeof event,
	                     "\"turn_id\":\"t\",\"hook_event_name\":\"PreToolUse\",\"tool_name\":"
	                     "\"apply_patch\",\"tool_input\":{\"command\":\"*** Begin Patch\\n");
	for (int i = 0; i < 12; i++) {
		char cat[512];
		snprintf(name, sizeof name, "f%d.txt", i);
		dir_write(dir, name, "one\n");
		snprintf(cat, sizeof cat,
		         "\"turn_id\":\"t\",\"hook_event_name\":\"PostToolUse\",\"tool_name\":\"Bash\","
		         "\"tool_input\":{\"command\":\"cat %s\"},\"tool_response\":\"one\\n\"",
		         name);
		hook(dir, cat);
		rewrite(dir, name);
		len += (size_t)snprintf(event + len, sizeof event - len,
		                        "*** Update File: %s\\n@@\\n-one\\n+ONE\\n", name);
	}
	snprintf(event + len, sizeof event - len, "*** End Patch\\n\"}");
	const char *decision = hook(dir, event);
	assert_non_null(strstr(decision, "\"permissionDecision\":\"deny\""));
	assert_non_null(strstr(decision, "f11.txt"));
	assert_true(strlen(decision) < 40000);
}

static void a_change_that_would_damage_line_ends_is_denied(void **state) {
	const struct dir *dir = set_up(state);
	dir_write(dir, "a.txt", "one\r\ntwo\n");
	assert_non_null(strstr(hook(dir, CLAUDE_EDIT), "CRLF"));
	assert_string_equal(dir_read(dir, "a.txt"), "one\r\ntwo\n");
}

static void a_write_over_a_late_change_is_reported(void **state) {
	const struct dir *dir = set_up(state);
	hook(dir, CLAUDE_READ);
	assert_string_equal(hook(dir, CLAUDE_WRITE), "");
	dir_write(dir, "a.txt", "new\n");
	assert_non_null(strstr(
		hook(dir,
	         "\"hook_event_name\":\"PostToolUse\",\"tool_name\":\"Write\",\"tool_input\":{"
	         "\"file_path\":\"a.txt\",\"content\":\"new\\n\"},\"tool_response\":{\"originalFile\":"
	         "\"one\\ntwo\\nlate\\n\"}"),
		"+late"));
}

#define CLAUDE_EDITED \
	"\"hook_event_name\":\"PostToolUse\",\"tool_name\":\"Edit\",\"tool_input\":{\"file_path\":" \
	"\"a." \
	"txt\"," \
	"\"old_string\":\"one\",\"new_string\":\"ONE\"},\"tool_response\":{\"originalFile\":" \
	"\"one\\ntwo\\n\"}"
#define PROMPT "\"hook_event_name\":\"UserPromptSubmit\",\"prompt\":\"go on\""

/* Append to a file as another program does, and leave it open. */
static int append_late(const struct dir *dir, const char *text) {
	int fd = open(dir_at(dir, "a.txt"), O_WRONLY | O_APPEND | O_CLOEXEC);
	assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	return fd;
}

static void undo_last(const struct dir *dir) {
	struct stet_workspace *ws = NULL;
	struct stet_session *session = NULL;
	struct stet_answer *answer = NULL;
	assert_int_equal(stet_workspace_open(dir->path, &ws, NULL), 0);
	assert_int_equal(stet_session_open(ws, "codex:s", &session, NULL), 0);
	assert_int_equal(stet_undo(session, "a.txt", &answer, NULL), 0);
	stet_answer_free(answer);
	stet_session_close(session);
	stet_workspace_close(ws);
}

/* The tool has read the file before the other program wrote, and truncates it: only a witness has the bytes. */
static void bytes_that_a_tool_truncates_are_reported(void **state) {
	const struct dir *dir = set_up(state);
	hook(dir, CLAUDE_READ);
	assert_string_equal(hook(dir, CLAUDE_EDIT), "");
	close(append_late(dir, "late\n"));
	close(append_late(dir, "later\n"));
	dir_write(dir, "a.txt", "ONE\ntwo\n");
	close(append_late(dir, "after\n"));
	const char *decision = hook(dir, CLAUDE_EDITED);
	assert_non_null(strstr(decision, "Lost update"));
	assert_non_null(strstr(decision, "+late\\n+later"));
	assert_null(strstr(decision, "+after"));
}

static void what_others_added_and_a_tool_kept_is_no_loss(void **state) {
	const struct dir *dir = set_up(state);
	hook(dir, CLAUDE_READ);
	assert_string_equal(hook(dir, CLAUDE_EDIT), "");
	close(append_late(dir, "late\n"));
	dir_write(dir, "a.txt", "ONE\ntwo\nlate\n");
	assert_null(strstr(hook(dir, CLAUDE_EDITED), "Lost update"));
}

static void a_codex_patch_over_a_late_change_is_reported(void **state) {
	const struct dir *dir = set_up(state);
	hook(dir, CODEX_CAT);
	assert_string_equal(hook(dir, CODEX_PATCH), "");
	close(append_late(dir, "late\n"));
	dir_write(dir, "a.txt", "ONE\ntwo\n");
	assert_non_null(strstr(hook(dir, CODEX_PATCHED), "+late"));
	undo_last(dir);
	assert_string_equal(dir_read(dir, "a.txt"), "one\ntwo\nlate\n");
}

/* The hook reports a foreign write between a tool's truncation and its write, with its bytes if a witness saw them. */
static void a_write_into_the_truncated_file_is_reported(void **state) {
	const struct dir *dir = set_up(state);
	hook(dir, CLAUDE_READ);
	assert_string_equal(hook(dir, CLAUDE_EDIT), "");
	int fd = open(dir_at(dir, "a.txt"), O_WRONLY | O_TRUNC | O_CLOEXEC);
	close(append_late(dir, "late\n"));
	assert_int_equal(write(fd, "ONE\ntwo\n", 8), 8);
	close(fd);
	const char *decision = hook(dir, CLAUDE_EDITED);
	assert_true(strstr(decision, "+late") || strstr(decision, "at the same moment"));
}

/* A tool that renames: what is written to the old file afterwards is rescued, and told with a later event. */
static void a_write_to_the_file_that_a_tool_replaced_is_rescued(void **state) {
	const struct dir *dir = set_up(state);
	hook(dir, CLAUDE_READ);
	assert_string_equal(hook(dir, CLAUDE_EDIT), "");
	int fd = append_late(dir, "late\n");
	dir_write(dir, "new", "ONE\ntwo\n");
	assert_int_equal(rename(dir_at(dir, "new"), dir_at(dir, "a.txt")), 0);
	assert_non_null(strstr(hook(dir, CLAUDE_EDITED), "+late"));
	assert_int_equal(write(fd, "last\n", 5), 5);
	close(fd);
	const char *said = "";
	for (int tries = 0; tries < 5000 && !strstr(said, "rescued"); tries++) {
		assert_int_equal(usleep(1000), 0);
		said = hook(dir, PROMPT);
	}
	assert_non_null(strstr(said, "rescued"));
}

/* Claude Code replaces the file, finds that it has another size than expected, and calls that an error. */
static void a_tool_that_failed_after_its_write_is_followed(void **state) {
	const struct dir *dir = set_up(state);
	hook(dir, CLAUDE_READ);
	assert_string_equal(hook(dir, CLAUDE_EDIT), "");
	close(append_late(dir, "late\n"));
	dir_write(dir, "a.txt", "ONE\ntwo\n");
	close(append_late(dir, "after\n"));
	const char *decision =
		hook(dir,
	         "\"hook_event_name\":\"PostToolUseFailure\",\"tool_name\":\"Edit\",\"tool_input\":{"
	         "\"file_path\":\"a.txt\",\"old_string\":\"one\",\"new_string\":\"ONE\"},"
	         "\"error\":\"Write verification failed\"");
	assert_non_null(strstr(decision, "\"hookEventName\":\"PostToolUseFailure\""));
	assert_non_null(strstr(decision, "In spite of the error"));
	assert_non_null(strstr(decision, "+late"));
	assert_null(strstr(decision, "+after"));
}

#define GEMINI_FAILED(tool, rest) \
	"\"timestamp\":\"t\",\"hook_event_name\":\"AfterTool\",\"tool_name\":\"" tool \
	"\",\"tool_input\":{\"file_path\":\"a.txt\"" rest \
	"},\"tool_response\":{\"llmContent\":\"No.\",\"error\":{\"message\":\"No.\"}}"

/* Gemini CLI reports failed tools as it reports others. */
static void a_tool_that_failed_and_changed_nothing_is_not_followed(void **state) {
	const struct dir *dir = set_up(state);
	hook(dir, GEMINI_READ);
	assert_string_equal(hook(dir, GEMINI_WRITE), "");
	assert_string_equal(hook(dir, GEMINI_FAILED("write_file", ",\"content\":\"new\\n\"")), "");
	assert_string_equal(hook(dir, GEMINI_FAILED("read_file", "")), "");
	assert_string_equal(hook(dir, GEMINI_WRITE), "");
	dir_write(dir, "a.txt", "one\ntwo\nthree\n");
	assert_string_equal(hook(dir, GEMINI_FAILED("write_file", ",\"content\":\"new\\n\"")), "");
	assert_non_null(strstr(hook(dir, GEMINI_WRITE), "+three"));
}

static void lines_that_a_failed_command_printed_count(void **state) {
	const struct dir *dir = set_up(state);
	hook(dir,
	     "\"hook_event_name\":\"PostToolUseFailure\",\"tool_name\":\"Bash\",\"tool_input\":{"
	     "\"command\":\"cat a.txt; exit 3\"},\"error\":\"Exit code 3\\none\\ntwo\"");
	assert_string_equal(hook(dir, CLAUDE_WRITE), "");
}

static void what_an_agent_adds_to_an_output_is_no_change(void **state) {
	const struct dir *dir = set_up(state);
	hook(
		dir,
		"\"timestamp\":\"t\",\"hook_event_name\":\"AfterTool\",\"tool_name\":\"run_shell_command\","
		"\"tool_input\":{\"command\":\"cat a.txt\"},\"tool_response\":{\"llmContent\":"
		"\"<untrusted_context>\\nOutput: one\\ntwo\\nProcess Group PGID: "
		"1\\n</untrusted_context>\"}");
	assert_string_equal(hook(dir, CLAUDE_EDIT), "");
}

#define GEMINI(event, tool, rest) \
	"\"timestamp\":\"t\",\"hook_event_name\":\"" event "\",\"tool_name\":\"" tool \
	"\",\"tool_input\":{\"file_path\":\"a.txt\"" rest

static void a_file_that_tells_of_truncated_lines_is_read_whole(void **state) {
	const struct dir *dir = set_up(state);
	dir_write(dir, "a.txt", "Showing lines 1-2, truncated\ntwo\n");
	hook(dir,
	     GEMINI("AfterTool", "read_file",
	            "},\"tool_response\":{\"llmContent\":\"Showing lines 1-2, truncated\\ntwo\\n\"}"));
	assert_string_equal(hook(dir, GEMINI_WRITE), "");
}

#define GEMINI_PART(lines) \
	GEMINI("AfterTool", "read_file", \
	       "},\"tool_response\":{\"llmContent\":\"Showing lines " lines \
	       " of 9, truncated\\n--- FILE CONTENT (truncated) ---\\nsix\\n\"}")

static void a_part_behind_the_end_of_the_file_is_not_recorded(void **state) {
	const struct dir *dir = set_up(state);
	hook(dir, GEMINI_PART("6-6"));
	hook(dir, GEMINI_PART("-1"));
	hook(dir, GEMINI_PART("99999999999999999999"));
	const char *decision = hook(
		dir, GEMINI("BeforeTool", "replace", ",\"old_string\":\"one\",\"new_string\":\"ONE\"}"));
	assert_string_equal(decision, "");
}

static void invalid_bytes_that_an_agent_shows_as_one_mark_are_no_change(void **state) {
	const struct dir *dir = set_up(state);
	dir_write(dir, "a.txt", "one\ncaf\xe2\x82\n");
	hook(dir, GEMINI("AfterTool", "read_file",
	                 "},\"tool_response\":{\"llmContent\":\"one\\ncaf\xef\xbf\xbd\\n\"}"));
	const char *decision = hook(
		dir, GEMINI("BeforeTool", "replace", ",\"old_string\":\"one\",\"new_string\":\"ONE\"}"));
	assert_null(strstr(decision, "modified"));
	assert_non_null(strstr(decision, "not UTF-8"));
}

static void a_user_who_is_asked_first_is_not_passed_over_by_apply(void **state) {
	const struct dir *dir = set_up(state);
	setenv("STET_GUARD", "apply", 1);
	assert_string_equal(hook(dir, "\"permission_mode\":\"default\"," CLAUDE_EDIT), "");
	assert_string_equal(dir_read(dir, "a.txt"), "one\ntwo\n");
	const char *decision = hook(dir, "\"permission_mode\":\"acceptEdits\"," CLAUDE_EDIT);
	assert_non_null(strstr(decision, "Done by stet"));
	assert_string_equal(dir_read(dir, "a.txt"), "ONE\ntwo\n");
	unsetenv("STET_GUARD");
}

static void with_apply_stet_makes_all_files_of_a_patch_and_merges(void **state) {
	const struct dir *dir = set_up(state);
	setenv("STET_GUARD", "apply", 1);
	hook(dir, CODEX_CAT);
	dir_write(dir, "a.txt", "one\ntwo\nthree\nfour\n");
	const char *decision =
		hook(dir,
	         "\"turn_id\":\"t\",\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"apply_patch\","
	         "\"tool_input\":{\"command\":\"*** Begin Patch\\n*** Update File: a.txt\\n@@\\n-one\\n"
	         "+ONE\\n*** Add File: sub/new.txt\\n+new\\n*** End Patch\\n\"}");
	assert_non_null(strstr(decision, "Done by stet"));
	assert_string_equal(dir_read(dir, "a.txt"), "ONE\ntwo\nthree\nfour\n");
	assert_string_equal(dir_read(dir, "sub/new.txt"), "new\n");
	unsetenv("STET_GUARD");
}

/* While somebody writes the file, stet cannot make the change; the agent's tool would write over it. */
static void with_apply_no_tool_runs_while_others_write(void **state) {
	const struct dir *dir = set_up(state);
	setenv("STET_GUARD", "apply", 1);
	hook(dir, CODEX_CAT);
	int fd = open(dir_at(dir, "a.txt"), O_RDWR | O_CLOEXEC);
	signal(SIGIO, SIG_IGN);
	assert_int_equal(fcntl(fd, F_SETLEASE, F_WRLCK), 0);
	assert_non_null(strstr(hook(dir, CODEX_PATCH), "Try again"));
	assert_non_null(strstr(hook(dir, CLAUDE_EDIT), "Try again"));
	close(fd);
	assert_non_null(strstr(hook(dir, CODEX_PATCH), "Done by stet"));
	unsetenv("STET_GUARD");
}

static void in_place_of_a_replaced_tool_stet_keeps_line_ends_and_the_mark(void **state) {
	const struct dir *dir = set_up(state);
	dir_write(dir, "a.txt", "\xef\xbb\xbfone\r\ntwo\r\n");
#define OPENCODE(event, tool) \
	"\"transcript_path\":\"/opencode/\",\"hook_event_name\":\"" event "\",\"tool_name\":\"" tool \
	"\","
	hook(dir, OPENCODE("PostToolUse", "read") "\"tool_input\":{\"filePath\":\"a.txt\"},\"tool_response\":{"
	                                          "\"file\":{\"content\":\"one\\ntwo\\n\",\"startLine\":1,"
	                                          "\"numLines\":2,\"totalLines\":2}}");
	const char *decision =
		hook(dir, OPENCODE("PreToolUse", "write") "\"tool_input\":{\"filePath\":\"a.txt\",\"content\":"
	                                              "\"one\\nTWO\\n\"}");
	assert_non_null(strstr(decision, "\"decision\":\"done\""));
	assert_string_equal(dir_read(dir, "a.txt"), "\xef\xbb\xbfone\r\nTWO\r\n");
}

static void one_task_at_a_time_is_followed(void **state) {
	const struct dir *dir = set_up(state);
	static const char create[] =
		"\"hook_event_name\":\"PostToolUse\",\"tool_name\":\"TaskCreate\",\"tool_input\":{"
		"\"subject\":"
		"\"Mend it\"},\"tool_response\":{\"task\":{\"id\":\"1\"}}";
	static const char update[] =
		"\"hook_event_name\":\"PostToolUse\",\"tool_name\":\"TaskUpdate\",\"tool_input\":{"
		"\"taskId\":"
		"\"1\",\"subject\":\"Mend all of it\",\"status\":\"in_progress\"}";
	assert_string_equal(hook(dir, create), "");
	assert_string_equal(hook(dir, update), "");
	const char *start = hook(dir, "\"hook_event_name\":\"SessionStart\",\"source\":\"startup\"");
	assert_non_null(strstr(start, "Mend all of it"));
}

static void nothing_is_denied_where_nothing_can_be_stored(void **state) {
	const struct dir *dir = set_up(state);
	dir_write(dir, ".stet", "not a directory");
	hook(dir, CLAUDE_READ);
	assert_string_equal(hook(dir, CLAUDE_WRITE), "");
	assert_non_null(strstr(hook(dir, "\"hook_event_name\":\"SessionStart\",\"source\":\"startup\""),
	                       "does not guard this session"));
}

/* No state directory can be made here: the model would be told to read the file again and again. */
static void a_denial_that_cannot_be_stored_is_dropped(void **state) {
	static const char start[] = "\"hook_event_name\":\"SessionStart\",\"source\":\"startup\"";
	const struct dir *dir = set_up(state);
	uid_t user = geteuid();
	assert_int_equal(chmod(dir->path, 0555), 0);
	/* Root may write anywhere; another user may not read root's configuration. */
	setenv("XDG_CONFIG_HOME", dir->path, 1);
	if (user == 0)
		assert_int_equal(seteuid(65534), 0);
	assert_non_null(strstr(hook(dir, start), "does not guard this session"));
	hook(dir, CLAUDE_READ);
	const char *decision = hook(dir, CLAUDE_WRITE);
	assert_int_equal(seteuid(user), 0);
	unsetenv("XDG_CONFIG_HOME");
	assert_int_equal(chmod(dir->path, 0755), 0);
	assert_null(strstr(decision, "permissionDecision"));
	assert_non_null(strstr(decision, "does not guard this session"));
}

static void files_outside_the_root_are_left_alone(void **state) {
	const struct dir *dir = set_up(state);
	assert_string_equal(
		hook(dir,
	         "\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Write\",\"tool_input\":{"
	         "\"file_path\":\"/etc/hostname\",\"content\":\"x\"}"),
		"");
}

static void an_event_that_is_none_gets_no_decision(void **state) {
	static const char *const events[] = {
		"",
		"[]",
		"{}",
		"nonsense",
		"{\"session_id\":1,\"cwd\":\"/\"}",
		"{\"session_id\":\"s\",\"cwd\":\"relative\",\"hook_event_name\":\"PreToolUse\"}"};
	(void)state;
	for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
		char *out = NULL;
		assert_true(stet_hook_run(events[i], strlen(events[i]), NULL, &out, NULL, NULL) < 0);
		assert_null(out);
	}
}

static void members_of_a_wrong_type_are_harmless(void **state) {
	static const char *const members[] = {
		"\"hook_event_name\":1",
		"\"hook_event_name\":\"PostToolUse\",\"tool_name\":[],\"tool_input\":{}",
		"\"hook_event_name\":\"PostToolUse\",\"tool_name\":\"Read\",\"tool_input\":\"a.txt\"",
		"\"hook_event_name\":\"PostToolUse\",\"tool_name\":\"Read\",\"tool_input\":{\"file_path\":{"
		"}}",
		"\"hook_event_name\":\"PostToolUse\",\"tool_name\":\"Read\",\"tool_input\":{\"file_path\":"
		"\"a.txt\"},\"tool_response\":{\"file\":{\"content\":7,\"startLine\":\"x\"}}",
		"\"hook_event_name\":\"PostToolUse\",\"tool_name\":\"Bash\",\"tool_input\":{\"command\":[1]"
		"}",
		"\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"apply_patch\",\"tool_input\":{}",
		"\"hook_event_name\":\"PostToolUse\",\"tool_name\":\"TodoWrite\",\"tool_input\":{\"todos\":"
		"1}",
		"\"hook_event_name\":\"SessionStart\",\"source\":null"};
	const struct dir *dir = set_up(state);
	for (size_t i = 0; i < sizeof members / sizeof *members; i++)
		assert_string_equal(hook(dir, members[i]), "");
}

int main(void) {
	const struct CMUnitTest tests[] = {
		claim(an_edit_of_a_changed_file_is_denied_once_with_the_diff),
		claim(the_text_of_the_event_counts_not_the_disk),
		claim(a_file_that_was_never_read_is_not_overwritten),
		claim(a_shell_read_counts_and_a_patch_is_denied),
		claim(the_reasons_of_many_files_fit_together),
		claim(a_change_that_would_damage_line_ends_is_denied),
		claim(a_write_over_a_late_change_is_reported),
		claim(bytes_that_a_tool_truncates_are_reported),
		claim(what_others_added_and_a_tool_kept_is_no_loss),
		claim(a_codex_patch_over_a_late_change_is_reported),
		claim(a_write_into_the_truncated_file_is_reported),
		claim(a_write_to_the_file_that_a_tool_replaced_is_rescued),
		claim(a_tool_that_failed_after_its_write_is_followed),
		claim(a_tool_that_failed_and_changed_nothing_is_not_followed),
		claim(lines_that_a_failed_command_printed_count),
		claim(what_an_agent_adds_to_an_output_is_no_change),
		claim(a_file_that_tells_of_truncated_lines_is_read_whole),
		claim(a_part_behind_the_end_of_the_file_is_not_recorded),
		claim(invalid_bytes_that_an_agent_shows_as_one_mark_are_no_change),
		claim(a_user_who_is_asked_first_is_not_passed_over_by_apply),
		claim(with_apply_stet_makes_all_files_of_a_patch_and_merges),
		claim(with_apply_no_tool_runs_while_others_write),
		claim(in_place_of_a_replaced_tool_stet_keeps_line_ends_and_the_mark),
		claim(one_task_at_a_time_is_followed),
		claim(nothing_is_denied_where_nothing_can_be_stored),
		claim(a_denial_that_cannot_be_stored_is_dropped),
		claim(files_outside_the_root_are_left_alone),
		claim(an_event_that_is_none_gets_no_decision),
		claim(members_of_a_wrong_type_are_harmless),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
