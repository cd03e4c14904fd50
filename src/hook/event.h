/**
 * src/hook makes the agents' own tools as safe as stet's. An agent calls a hook
 * before and after each of its tools, with an event as JSON; the hook answers
 * with a decision, or with nothing.
 *
 * This header reads the event. Each client has its own names for events, tools
 * and members; a struct st_hook_event has them in one form. It is a view of the
 * parsed JSON and owns nothing else.
 */
#ifndef STET_HOOK_EVENT_H
#define STET_HOOK_EVENT_H

#include "base/json.h"

enum st_hook_client {
	/** Claude Code, and VS Code, which speaks its dialect. */
	ST_HOOK_CLAUDE,
	ST_HOOK_CODEX,
	ST_HOOK_GEMINI,
	ST_HOOK_QWEN,
	ST_HOOK_CURSOR,
	/** Through stet's plugin (src/cli/setup/opencode.js), which asks in place of the edit and write tools. */
	ST_HOOK_OPENCODE,
};

enum st_hook_moment {
	/** An event that stet does not know, or has nothing to do with. */
	ST_HOOK_OTHER,
	ST_HOOK_BEFORE_TOOL,
	ST_HOOK_AFTER_TOOL,
	ST_HOOK_SESSION_START,
	ST_HOOK_PROMPT,
	/** The agent summarises its context, or has done so. */
	ST_HOOK_COMPACT,
	/** stet doctor tries the hook. */
	ST_HOOK_SAMPLE,
};

/** The kind of a tool. */
enum st_hook_tool {
	ST_HOOK_TOOL_OTHER,
	ST_HOOK_READ,
	ST_HOOK_EDIT,
	ST_HOOK_WRITE,
	/** Codex's apply_patch. */
	ST_HOOK_PATCH,
	ST_HOOK_SHELL,
	/** The agent's list of tasks. */
	ST_HOOK_TODO,
	/** One task of it. */
	ST_HOOK_TASK,
};

struct st_hook_event {
	enum st_hook_client client;
	enum st_hook_moment moment;
	enum st_hook_tool tool;
	/** The event by the client's own name. */
	struct st_str name;
	/** The agent's session, and its subagent if the event names one. */
	struct st_str session, agent;
	/** The agent's working directory. */
	struct st_str cwd;
	/** The file of a read, an edit or a write as the agent spells it; empty for none. */
	struct st_str path;
	/** Why the session starts: "startup", "resume", "compact". */
	struct st_str source;
	/** The tool failed. It may have changed the file all the same. */
	bool failed;
	/** The agent asks its user before it changes a file, or changes none (Claude Code's plan mode). */
	bool asks;
	/** Arguments and answer of the tool, or its error; NULL if the event has none. */
	yyjson_val *input, *response;
};

/** The client's name, as in `claude:SESSION`. */
const char *st_hook_client_name(enum st_hook_client client);

/**
 * Read an event.
 *
 * @root    The parsed event; the views in *event borrow from it.
 * @client  The name of the client; NULL to recognise it by the event.
 * @return  0, or STET_E_INVALID: the event names no session or no directory, or
 *          the client is unknown.
 */
[[nodiscard]] int st_hook_event_read(yyjson_val *root, const char *client,
                                     struct st_hook_event *event, struct stet_error *err);

/** The text of a patch; empty for other tools. */
struct st_str st_hook_patch_text(const struct st_hook_event *event);

/** The first of several members that is a string, as a view; empty if none is. Ends with NULL. */
struct st_str st_hook_member(yyjson_val *object, const char *const *names);

#endif
