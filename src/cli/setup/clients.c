#include "cli/setup/clients.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The arguments of the server. Only Gemini CLI does not load the root's AGENTS.md itself. */
#define NESTED "\"mcp\", \"--agents\", \"nested\""
/* A little less than the largest answer that the client hands to its model whole. */
#define PAGES(bytes) ", \"--page-bytes\", \"" #bytes "\""

/* A group of hooks as Claude Code has it, for some tools or for all events. */
#define HOOKS "\"hooks\": [{\"type\": \"command\", \"command\": @H}]}"
#define FOR_TOOLS(names) "{\"matcher\": \"" names "\", " HOOKS
#define FOR_ALL "{" HOOKS

#define HOOK(file, event, value) \
	{ PART_HOOKS, ENTRY_ELEMENT, file, {"hooks", event}, value, NULL }

/* The same through the server, whose tool `hook` gets the event's members as texts. */
#define SERVED \
	"\"hooks\": [{\"type\": \"mcp_tool\", \"server\": \"stet\", \"tool\": \"hook\", \"input\": {" \
	"\"hook_event_name\": \"${hook_event_name}\", \"session_id\": \"${session_id}\", " \
	"\"cwd\": \"${cwd}\", \"permission_mode\": \"${permission_mode}\", " \
	"\"tool_name\": \"${tool_name}\", \"tool_input\": \"${tool_input}\", " \
	"\"tool_response\": \"${tool_response}\", \"error\": \"${error}\"}}]}"
#define SERVED_FOR_TOOLS(names) "{\"matcher\": \"" names "\", " SERVED
#define HOOK_FOR_TOOLS(file, event, names) \
	{ PART_HOOKS, ENTRY_ELEMENT, file, {"hooks", event}, FOR_TOOLS(names), SERVED_FOR_TOOLS(names) }
#define HOOK_FOR_ALL(file, event) \
	{ PART_HOOKS, ENTRY_ELEMENT, file, {"hooks", event}, FOR_ALL, "{" SERVED }
#define SERVER(member, value) \
	{ PART_SERVER, ENTRY_MEMBER, 0, {member, "stet"}, value }
#define DENY(file, outer, inner, value) \
	{ PART_DENY, ENTRY_ELEMENT, file, {outer, inner}, value }

/* In all projects, .mcp.json needs the user's approval, which settings.local.json has, and calls need
 * a permission, which only the user's own settings can give. */
static const struct entry claude_entries[] = {
	SERVER("mcpServers",
           "{\"type\": \"stdio\", \"command\": @P, \"args\": [" NESTED PAGES(45000) "]}"),
	{PART_SERVER, ENTRY_ELEMENT, 2, {"permissions", "allow"}, "\"mcp__stet\""},
	{PART_SERVER, ENTRY_ELEMENT, 3, {"enabledMcpjsonServers"}, "\"stet\""},
	HOOK_FOR_TOOLS(1, "PreToolUse", "Edit|MultiEdit|Write"),
	HOOK_FOR_TOOLS(1, "PostToolUse",
                   "Read|Edit|MultiEdit|Write|Bash|TodoWrite|TaskCreate|TaskUpdate"),
	HOOK_FOR_TOOLS(1, "PostToolUseFailure", "Edit|MultiEdit|Write|Bash"),
	/* The server is not connected yet. */
	HOOK(1, "SessionStart", FOR_ALL),
	HOOK_FOR_ALL(1, "UserPromptSubmit"),
	HOOK_FOR_ALL(1, "PreCompact"),
	DENY(1, "permissions", "deny", "\"Edit\""),
	DENY(1, "permissions", "deny", "\"Write\""),
	{0},
};

static const struct entry codex_entries[] = {
	{PART_SERVER,
     ENTRY_TABLE,
     0,
     {"mcp_servers", "stet"},
     "command = @P\nargs = [" NESTED PAGES(40000) "]\ndefault_tools_approval_mode = \"approve\"\n"},
	HOOK(1, "PreToolUse", FOR_TOOLS("apply_patch|Bash")),
	HOOK(1, "PostToolUse", FOR_TOOLS("apply_patch|Bash|update_plan")),
	HOOK(1, "SessionStart", FOR_ALL),
	HOOK(1, "UserPromptSubmit", FOR_ALL),
	HOOK(1, "PreCompact", FOR_ALL),
	{0},
};

static const struct entry gemini_entries[] = {
	SERVER("mcpServers", "{\"command\": @P, \"args\": [\"mcp\"" PAGES(32000) "], \"trust\": true}"),
	HOOK(0, "BeforeTool", FOR_TOOLS("replace|write_file")),
	HOOK(0, "AfterTool",
         FOR_TOOLS("read_file|read_many_files|replace|write_file|run_shell_command|write_todos")),
	HOOK(0, "SessionStart", FOR_ALL),
	HOOK(0, "BeforeAgent", FOR_ALL),
	DENY(0, "tools", "exclude", "\"replace\""),
	DENY(0, "tools", "exclude", "\"write_file\""),
	{0},
};

static const struct entry qwen_entries[] = {
	SERVER("mcpServers", "{\"command\": @P, \"args\": [" NESTED PAGES(22000) "], \"trust\": true}"),
	HOOK(0, "PreToolUse", FOR_TOOLS("edit|write_file")),
	HOOK(0, "PostToolUse", FOR_TOOLS("read_file|edit|write_file|run_shell_command|todo_write")),
	HOOK(0, "PostToolUseFailure", FOR_TOOLS("edit|write_file|run_shell_command")),
	HOOK(0, "SessionStart", FOR_ALL),
	HOOK(0, "UserPromptSubmit", FOR_ALL),
	HOOK(0, "PreCompact", FOR_ALL),
	DENY(0, "tools", "exclude", "\"edit\""),
	DENY(0, "tools", "exclude", "\"write_file\""),
	{0},
};

static const struct entry opencode_entries[] = {
	SERVER("mcp",
           "{\"type\": \"local\", \"command\": [@P, " NESTED PAGES(45000) "], \"enabled\": true}"),
	{PART_HOOKS, ENTRY_TEXT, 1, {NULL}, opencode_plugin},
	{PART_DENY, ENTRY_MEMBER, 0, {"permission", "edit"}, "\"deny\""},
	{0},
};

static const struct entry vscode_entries[] = {
	SERVER("servers",
           "{\"type\": \"stdio\", \"command\": @P, \"args\": [\"--root\", "
           "\"${workspaceFolder}\", " NESTED "]}"),
	HOOK(1, "PreToolUse", "{\"type\": \"command\", \"command\": @H}"),
	HOOK(1, "PostToolUse", "{\"type\": \"command\", \"command\": @H}"),
	HOOK(1, "SessionStart", "{\"type\": \"command\", \"command\": @H}"),
	HOOK(1, "UserPromptSubmit", "{\"type\": \"command\", \"command\": @H}"),
	HOOK(1, "PreCompact", "{\"type\": \"command\", \"command\": @H}"),
	{0},
};

static const struct entry cursor_entries[] = {
	SERVER("mcpServers",
           "{\"type\": \"stdio\", \"command\": @P, \"args\": [\"--root\", "
           "\"${workspaceFolder}\", " NESTED "]}"),
	{PART_HOOKS, ENTRY_SHARED, 1, {"version"}, "1"},
	HOOK(1, "preToolUse", "{\"command\": @H}"),
	HOOK(1, "postToolUse", "{\"command\": @H}"),
	HOOK(1, "sessionStart", "{\"command\": @H}"),
	HOOK(1, "beforeSubmitPrompt", "{\"command\": @H}"),
	HOOK(1, "preCompact", "{\"command\": @H}"),
	{0},
};

static const struct entry zed_entries[] = {
	SERVER("context_servers", "{\"command\": @P, \"args\": [" NESTED "]}"),
	{0},
};

const struct client clients[] = {
	{.name = "claude",
     .title = "Claude Code",
     .files = {{".mcp.json", "~/.claude.json"},
               {".claude/settings.json", "~/.claude/settings.json"},
               {"~/.claude/settings.json", "~/.claude/settings.json"},
               {".claude/settings.local.json", NULL}},
     .entries = claude_entries,
     .check = "claude mcp list"},
	{.name = "codex",
     .title = "Codex",
     .files = {{".codex/config.toml", "~/.codex/config.toml"},
               {".codex/hooks.json", "~/.codex/hooks.json"}},
     .user = true,
     .entries = codex_entries,
     .check = "codex mcp list",
     .hook_note = "Codex runs hooks that you trust: run codex, type /hooks and trust stet's. Until "
                  "then codex exec skips them silently."},
	{.name = "gemini",
     .title = "Gemini CLI",
     .files = {{".gemini/settings.json", "~/.gemini/settings.json"}},
     .entries = gemini_entries,
     .check = "gemini mcp list",
     .note = "Gemini CLI starts servers and hooks only in folders that you trust."},
	{.name = "qwen",
     .title = "Qwen Code",
     .files = {{".qwen/settings.json", "~/.qwen/settings.json"}},
     .entries = qwen_entries,
     .check = "qwen mcp list"},
	{.name = "opencode",
     .title = "opencode",
     .files = {{"opencode.json", "~/.config/opencode/opencode.json"},
               {".opencode/plugins/stet.js", "~/.config/opencode/plugins/stet.js"}},
     .entries = opencode_entries,
     .check = "opencode mcp list"},
	{.name = "vscode",
     .title = "VS Code",
     .files = {{".vscode/mcp.json", "~/.config/Code/User/mcp.json"},
               {".github/hooks/stet.json", NULL}},
     .entries = vscode_entries},
	{.name = "cursor",
     .title = "Cursor",
     .files = {{".cursor/mcp.json", "~/.cursor/mcp.json"},
               {".cursor/hooks.json", "~/.cursor/hooks.json"}},
     .entries = cursor_entries},
	{.name = "zed",
     .title = "Zed",
     .files = {{NULL, "~/.config/zed/settings.json"}},
     .user = true,
     .entries = zed_entries},
};

const size_t client_count = sizeof clients / sizeof *clients;

/* Variables that move a directory of the home. */
static const struct {
	const char *from;
	const char *variable;
	const char *to;
} moved[] = {
	{"~/.config/", "XDG_CONFIG_HOME", "/"},
	{"~/.codex/", "CODEX_HOME", "/"},
	{"~/.claude/", "CLAUDE_CONFIG_DIR", "/"},
	{"~/.claude.json", "CLAUDE_CONFIG_DIR", "/.claude.json"},
};

static char *join(const char *dir, const char *between, const char *name) {
	char *path = NULL;
	return dir && asprintf(&path, "%s%s%s", dir, between, name) >= 0 ? path : NULL;
}

static char *home_path(const char *name) {
	for (size_t i = 0; i < sizeof moved / sizeof *moved; i++) {
		const char *dir = getenv(moved[i].variable);
		size_t len = strlen(moved[i].from);
		if (dir && dir[0] == '/' && strncmp(name, moved[i].from, len) == 0)
			return join(dir, moved[i].to, name + len);
	}
	const char *home = getenv("HOME");
	return home && home[0] == '/' ? join(home, "/", name + 2) : NULL;
}

char *client_path(const struct client *client, size_t file, const char *root, bool user) {
	const struct client_file *at = &client->files[file];
	const char *name = user ? at->user : at->project;
	if (!name)
		return NULL;
	return strncmp(name, "~/", 2) == 0 ? home_path(name) : join(root, "/", name);
}

bool client_has_scope(const struct client *client, bool user) {
	return (user ? client->files[0].user : client->files[0].project) != NULL;
}

bool client_has_part(const struct client *client, enum part part, bool user) {
	for (const struct entry *entry = client->entries; entry->value; entry++) {
		const struct client_file *file = &client->files[entry->file];
		if (entry->part == part && (user ? file->user : file->project))
			return true;
	}
	return false;
}

bool client_serves_hooks(const struct client *client) {
	for (const struct entry *entry = client->entries; entry->value; entry++) {
		if (entry->served)
			return true;
	}
	return false;
}
