#include "hook/event.h"

#include <strings.h>

static const char *const client_names[] = {
	[ST_HOOK_CLAUDE] = "claude", [ST_HOOK_CODEX] = "codex",   [ST_HOOK_GEMINI] = "gemini",
	[ST_HOOK_QWEN] = "qwen",     [ST_HOOK_CURSOR] = "cursor", [ST_HOOK_OPENCODE] = "opencode",
};

enum { CLIENTS = sizeof client_names / sizeof *client_names };

/* ---- names ---- */

/* Events by their names, which differ in case between clients. */
static const struct {
	const char *name;
	enum st_hook_moment moment;
} moments[] = {
	{"PreToolUse", ST_HOOK_BEFORE_TOOL},
	{"BeforeTool", ST_HOOK_BEFORE_TOOL},
	{"PostToolUse", ST_HOOK_AFTER_TOOL},
	{"AfterTool", ST_HOOK_AFTER_TOOL},
	{"PostToolUseFailure", ST_HOOK_AFTER_TOOL},
	{"SessionStart", ST_HOOK_SESSION_START},
	{"UserPromptSubmit", ST_HOOK_PROMPT},
	{"BeforeAgent", ST_HOOK_PROMPT},
	{"BeforeSubmitPrompt", ST_HOOK_PROMPT},
	{"StetDoctor", ST_HOOK_SAMPLE},
	{"PreCompact", ST_HOOK_COMPACT},
	{"PostCompact", ST_HOOK_COMPACT},
};

static const struct {
	const char *name;
	enum st_hook_tool tool;
} tools[] = {
	{"read", ST_HOOK_READ},         {"read_file", ST_HOOK_READ},
	{"edit", ST_HOOK_EDIT},         {"multiedit", ST_HOOK_EDIT},
	{"replace", ST_HOOK_EDIT},      {"write", ST_HOOK_WRITE},
	{"write_file", ST_HOOK_WRITE},  {"apply_patch", ST_HOOK_PATCH},
	{"bash", ST_HOOK_SHELL},        {"shell", ST_HOOK_SHELL},
	{"local_shell", ST_HOOK_SHELL}, {"exec_command", ST_HOOK_SHELL},
	{"todowrite", ST_HOOK_TODO},    {"run_shell_command", ST_HOOK_SHELL},
	{"update_plan", ST_HOOK_TODO},  {"todo_write", ST_HOOK_TODO},
	{"write_todos", ST_HOOK_TODO},  {"taskcreate", ST_HOOK_TASK},
	{"taskupdate", ST_HOOK_TASK},
};

static bool is_name(struct st_str text, const char *name) {
	return text.len == strlen(name) && strncasecmp(text.ptr, name, text.len) == 0;
}

static enum st_hook_moment moment_of(struct st_str name) {
	for (size_t i = 0; i < sizeof moments / sizeof *moments; i++) {
		if (is_name(name, moments[i].name))
			return moments[i].moment;
	}
	return ST_HOOK_OTHER;
}

static enum st_hook_tool tool_of(struct st_str name) {
	for (size_t i = 0; i < sizeof tools / sizeof *tools; i++) {
		if (is_name(name, tools[i].name))
			return tools[i].tool;
	}
	return ST_HOOK_TOOL_OTHER;
}

const char *st_hook_client_name(enum st_hook_client client) {
	return client_names[client];
}

struct st_str st_hook_member(yyjson_val *object, const char *const *names) {
	for (; *names; names++) {
		yyjson_val *value = yyjson_obj_get(object, *names);
		if (yyjson_is_str(value))
			return st_json_str(value);
	}
	return st_str("");
}

struct st_str st_hook_patch_text(const struct st_hook_event *event) {
	static const char *const names[] = {"command", "input", "patch", "patchText", NULL};
	return st_hook_member(event->input, names);
}

static struct st_str member(yyjson_val *object, const char *name) {
	return st_json_str(yyjson_obj_get(object, name));
}

/* ---- the client ---- */

static bool has_part(struct st_str text, const char *part) {
	return memmem(text.ptr, text.len, part, strlen(part)) != NULL;
}

/* The client whose directory of transcripts the event names; CLIENTS if it tells nothing. */
static int client_by_transcript(yyjson_val *root) {
	static const char *const folders[CLIENTS] = {
		[ST_HOOK_CLAUDE] = "/.claude/", [ST_HOOK_CODEX] = "/.codex/",
		[ST_HOOK_GEMINI] = "/.gemini/", [ST_HOOK_QWEN] = "/.qwen/",
		[ST_HOOK_CURSOR] = "/.cursor/", [ST_HOOK_OPENCODE] = "/opencode/",
	};
	struct st_str path = member(root, "transcript_path");
	int client = 0;
	while (client < CLIENTS && !has_part(path, folders[client]))
		client++;
	return client;
}

/* Recognise the client by members that only its events have. */
static enum st_hook_client client_of(yyjson_val *root, struct st_str name) {
	if (is_name(name, "BeforeTool") || is_name(name, "AfterTool") || is_name(name, "BeforeAgent"))
		return ST_HOOK_GEMINI;
	if (yyjson_obj_get(root, "conversation_id"))
		return ST_HOOK_CURSOR;
	int known = client_by_transcript(root);
	if (known < CLIENTS)
		return (enum st_hook_client)known;
	if (yyjson_obj_get(root, "turn_id"))
		return ST_HOOK_CODEX;
	if (yyjson_obj_get(root, "timestamp"))
		return yyjson_obj_get(root, "permission_mode") ? ST_HOOK_QWEN : ST_HOOK_GEMINI;
	return ST_HOOK_CLAUDE;
}

static int find_client(yyjson_val *root, const char *wanted, struct st_hook_event *event,
                       struct stet_error *err) {
	if (!wanted) {
		event->client = client_of(root, event->name);
		return 0;
	}
	for (int i = 0; i < CLIENTS; i++) {
		if (is_name(st_str(wanted), client_names[i])) {
			event->client = (enum st_hook_client)i;
			return 0;
		}
	}
	return st_fail(err, STET_E_INVALID,
	               "There are no hooks for %s; there are for claude, codex, gemini, qwen, cursor "
	               "and opencode.",
	               st_quoted(wanted));
}

/* ---- the event ---- */

/* Cursor has a list of workspaces instead of a working directory. */
static struct st_str cwd_of(yyjson_val *root) {
	struct st_str cwd = member(root, "cwd");
	return cwd.len > 0 ? cwd
	                   : st_json_str(yyjson_arr_get_first(yyjson_obj_get(root, "workspace_roots")));
}

/* Claude Code and Qwen Code have an event of its own for a tool that failed, Gemini CLI a member of the answer. */
static void read_response(yyjson_val *root, struct st_hook_event *event) {
	static const char *const names[] = {"tool_response", "tool_output", "error", NULL};
	for (size_t i = 0; names[i] && !event->response; i++)
		event->response = yyjson_obj_get(root, names[i]);
	yyjson_val *error = yyjson_obj_get(event->response, "error");
	event->failed = is_name(event->name, "PostToolUseFailure") || (error && !yyjson_is_null(error));
}

static bool is_plain_text(struct st_str text) {
	return !memchr(text.ptr, '\0', text.len);
}

int st_hook_event_read(yyjson_val *root, const char *client, struct st_hook_event *event,
                       struct stet_error *err) {
	static const char *const sessions[] = {"session_id", "conversation_id", NULL};
	static const char *const paths[] = {"file_path",   "absolute_path", "filePath",
	                                    "target_file", "path",          NULL};
	*event = (struct st_hook_event){
		.name = member(root, "hook_event_name"),
		.session = st_hook_member(root, sessions),
		.agent = member(root, "agent_id"),
		.cwd = cwd_of(root),
		.source = member(root, "source"),
		.input = yyjson_obj_get(root, "tool_input"),
	};
	read_response(root, event);
	event->asks = is_name(member(root, "permission_mode"), "default") ||
	              is_name(member(root, "permission_mode"), "plan");
	event->moment = moment_of(event->name);
	event->tool = tool_of(member(root, "tool_name"));
	event->path = st_hook_member(event->input, paths);
	if (event->session.len == 0 || event->cwd.len == 0 || event->cwd.ptr[0] != '/' ||
	    !is_plain_text(event->session) || !is_plain_text(event->cwd) || !is_plain_text(event->path))
		return st_fail(err, STET_E_INVALID, "The event names no session, or no directory.");
	return find_client(root, client, event, err);
}
