#include "hook/decision.h"

/* The most that a model has to read. */
enum { REASON_MAX = 40000 };

/* The largest reason that each client handed on whole, or the largest that was tried; docs/hooks.md has the versions. */
static const size_t whole_reasons[] = {
	[ST_HOOK_CLAUDE] = 200000, [ST_HOOK_CODEX] = 42000,  [ST_HOOK_GEMINI] = 200000,
	[ST_HOOK_QWEN] = 190000,   [ST_HOOK_CURSOR] = 20000, [ST_HOOK_OPENCODE] = 40000,
};

size_t st_hook_reason_max(const struct st_hook_event *event) {
	enum { LEAST = 2000 };
	size_t most = whole_reasons[event->client];
	/* Codex repeats the call behind the reason, and cuts both together in the middle. */
	size_t command = event->client == ST_HOOK_CODEX ? st_hook_patch_text(event).len : 0;
	most = most > command + LEAST ? most - command : LEAST;
	return most < REASON_MAX ? most : REASON_MAX;
}

void st_hook_decision_release(struct st_hook_decision *decision) {
	st_buf_release(&decision->text);
	st_buf_release(&decision->notice);
}

void st_hook_say(struct st_hook_decision *decision, struct st_str paragraph) {
	paragraph = st_str_trim(paragraph);
	if (paragraph.len == 0)
		return;
	if (decision->text.len > 0)
		st_buf_adds(&decision->text, "\n\n");
	st_buf_add(&decision->text, paragraph);
}

/* Claude Code, Codex, Qwen Code, VS Code: the members are in an object of their own. */
static void add_specific(yyjson_mut_doc *doc, yyjson_mut_val *root,
                         const struct st_hook_event *event, const char *key, struct st_str text) {
	yyjson_mut_val *object = st_json_add_object(doc, root, "hookSpecificOutput");
	st_json_add_text(doc, object, "hookEventName", event->name);
	if (key)
		st_json_add_text(doc, object, "permissionDecision", ST_STR("deny"));
	st_json_add_text(doc, object, key ? key : "additionalContext", text);
}

static void add_denial(yyjson_mut_doc *doc, yyjson_mut_val *root, const struct st_hook_event *event,
                       struct st_str text) {
	switch (event->client) {
	case ST_HOOK_CLAUDE:
	case ST_HOOK_CODEX:
	case ST_HOOK_QWEN:
		add_specific(doc, root, event, "permissionDecisionReason", text);
		break;
	case ST_HOOK_CURSOR:
		st_json_add_text(doc, root, "permission", ST_STR("deny"));
		st_json_add_text(doc, root, "agent_message", text);
		[[fallthrough]];
	case ST_HOOK_GEMINI:
		st_json_add_text(doc, root, "decision", ST_STR("deny"));
		st_json_add_text(doc, root, "reason", text);
		break;
	case ST_HOOK_OPENCODE:
		break;
	}
}

/* stet's own plugin knows a change that stet made from a denial. */
static void add_for_plugin(yyjson_mut_doc *doc, yyjson_mut_val *root,
                           const struct st_hook_decision *decision) {
	struct st_str text = st_buf_str(&decision->text);
	if (decision->denies)
		st_json_add_text(doc, root, "decision", st_str(decision->done ? "done" : "deny"));
	if (text.len > 0)
		st_json_add_text(doc, root, decision->denies ? "reason" : "context", text);
}

/* Codex refuses an answer with a member that it does not know. */
static bool shows_notices(const struct st_hook_event *event) {
	return event->client != ST_HOOK_CODEX && event->client != ST_HOOK_CURSOR &&
	       event->client != ST_HOOK_OPENCODE;
}

static void add_members(yyjson_mut_doc *doc, yyjson_mut_val *root,
                        const struct st_hook_decision *decision,
                        const struct st_hook_event *event) {
	struct st_str text = st_buf_str(&decision->text);
	if (event->client == ST_HOOK_OPENCODE)
		add_for_plugin(doc, root, decision);
	else if (decision->denies)
		add_denial(doc, root, event, text);
	else if (text.len > 0 && event->client == ST_HOOK_CURSOR)
		st_json_add_text(doc, root, "additional_context", text);
	else if (text.len > 0)
		add_specific(doc, root, event, NULL, text);
	if (decision->notice.len > 0 && shows_notices(event))
		st_json_add_text(doc, root, "systemMessage", st_buf_str(&decision->notice));
}

int st_hook_decision_write(const struct st_hook_decision *decision,
                           const struct st_hook_event *event, struct st_buf *out,
                           struct stet_error *err) {
	if (decision->text.failed || decision->notice.failed)
		return st_fail_nomem(err);
	yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
	yyjson_mut_val *root = doc ? yyjson_mut_obj(doc) : NULL;
	if (!root) {
		yyjson_mut_doc_free(doc);
		return st_fail_nomem(err);
	}
	yyjson_mut_doc_set_root(doc, root);
	add_members(doc, root, decision, event);
	int code = yyjson_mut_obj_size(root) > 0 ? st_json_write(doc, root, out, err) : 0;
	yyjson_mut_doc_free(doc);
	return code;
}
