/*
 * hook: decide about an event of the client's own tools, in the session that the client has here. Claude Code calls
 * it in place of the process `stet hook` (hooks of the type mcp_tool); no list has it, since no model calls it.
 */
#include "hook/hook.h"

#include "tools/render.h"
#include "tools/table.h"

/*
 * Add an argument that is JSON as text. Claude Code hands on a text, such as a command's output, as it is. One that
 * nests too deeply stays a text, too: yyjson copies a document by recursion.
 */
static void add_parsed(yyjson_mut_doc *doc, yyjson_mut_val *event, const char *name,
                       struct st_str json) {
	yyjson_doc *parsed = NULL;
	if (json.len > 0 && st_json_parse_text(json, "The members of the event", &parsed, NULL) == 0)
		yyjson_mut_obj_add_val(doc, event, name,
		                       yyjson_val_mut_copy(doc, yyjson_doc_get_root(parsed)));
	else if (json.len > 0)
		st_json_add_text(doc, event, name, json);
	yyjson_doc_free(parsed);
}

/* The event as `stet hook` gets it. NULL if memory is short. */
static yyjson_doc *make_event(const struct st_call *call) {
	static const char *const texts[] = {"hook_event_name", "session_id", "cwd",
	                                    "permission_mode", "tool_name",  "agent_id",
	                                    "source",          NULL};
	yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
	yyjson_mut_val *event = doc ? yyjson_mut_obj(doc) : NULL;
	yyjson_mut_doc_set_root(doc, event);
	for (size_t i = 0; texts[i] && event; i++) {
		struct st_str text = st_arg_str(call, texts[i]);
		if (text.len > 0)
			st_json_add_text(doc, event, texts[i], text);
	}
	add_parsed(doc, event, "tool_input", st_arg_str(call, "tool_input"));
	add_parsed(doc, event, "tool_response", st_arg_str(call, "tool_response"));
	add_parsed(doc, event, "error", st_arg_str(call, "error"));
	yyjson_doc *made = event ? yyjson_mut_doc_imut_copy(doc, NULL) : NULL;
	yyjson_mut_doc_free(doc);
	return made;
}

/* The session of the workspace that the event's file is in. */
static struct stet_session *session_for(const struct st_call *call,
                                        const struct st_hook_event *event) {
	for (size_t i = 0; i < call->session_count && event->path.len > 0; i++) {
		struct st_hook_call hook = {
			.event = event,
			.session = call->sessions[i],
			.root = st_str(call->sessions[i]->ws->root.path),
		};
		st_auto(st_buf) path = ST_BUF_INIT;
		if (st_hook_path(&hook, event->path, &path))
			return call->sessions[i];
	}
	return call->sessions[0];
}

static int decide(struct st_call *call, yyjson_val *root, struct stet_error *err) {
	st_auto(st_hook_decision) decision = ST_HOOK_DECISION_INIT;
	struct st_hook_event event;
	int code = st_hook_event_read(root, "claude", &event, err);
	if (code < 0 || call->session_count == 0)
		return code;
	struct stet_session *session = session_for(call, &event);
	struct st_hook_call hook = {
		.event = &event,
		.session = session,
		.root = st_str(session->ws->root.path),
		.decision = &decision,
	};
	st_hook_decide(&hook);
	st_hook_start_witness(&hook);
	code = st_hook_decision_write(&decision, &event, &call->text, err);
	if (code == 0 && call->text.len == 0)
		st_buf_adds(&call->text, "{}");
	return code;
}

static int run_hook(struct st_call *call, struct stet_error *err) {
	yyjson_doc *event = make_event(call);
	int code = event ? decide(call, yyjson_doc_get_root(event), err) : st_fail_nomem(err);
	yyjson_doc_free(event);
	return code;
}

#define TEXT(text_name) \
	{ .name = text_name, .description = "As in the client's event." }

static const struct st_param params[] = {
	TEXT("hook_event_name"), TEXT("session_id"), TEXT("cwd"),      TEXT("permission_mode"),
	TEXT("tool_name"),       TEXT("agent_id"),   TEXT("source"),   TEXT("tool_input"),
	TEXT("tool_response"),   TEXT("error"),      ST_PARAM_SESSION, ST_PARAMS_END,
};

const struct st_tool st_hook_tool = {
	.name = "hook",
	.title = "Decide about an event of the client's own tools",
	.description = "For hooks of the client, not for models.",
	.params = params,
	.output_schema = ST_OUTPUT(""),
	.hints = ST_HINT_INSTRUCTS | ST_HINT_PLAIN,
	.group = ST_GROUP_STATE,
	.run = run_hook,
};
