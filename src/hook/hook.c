#include "hook/hook.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/places/places.h"
#include "core/state/state.h"
#include "core/state/tasks_follow.h"
#include "core/state/usage.h"
#include "stet/config.h"
#include "stet/instructions.h"

/* How long a witness waits for the end of a tool, and of one about which the agent asks its user. */
enum { WITNESS_S = 60, WITNESS_ASKED_S = 600 };

/* ---- one event ---- */

bool st_hook_path(const struct st_hook_call *call, struct st_str path, struct st_buf *out) {
	struct st_str cwd = call->event->cwd;
	st_auto(st_buf) full = ST_BUF_INIT;
	if (path.len == 0 || memchr(path.ptr, '\0', path.len))
		return false;
	if (path.ptr[0] != '/') {
		st_buf_add(&full, cwd);
		st_buf_addc(&full, '/');
	}
	st_buf_add(&full, path);
	struct st_str root = call->root;
	/* The event may spell the root through a link, which the workspace does not know by that name. */
	bool begins =
		full.len > root.len && st_str_starts(st_buf_str(&full), root) && full.ptr[root.len] == '/';
	st_buf_adds(out, st_buf_cstr(&full) + (begins ? root.len + 1 : 0));
	st_auto(st_buf) spelling = ST_BUF_INIT;
	return !out->failed && !full.failed && out->len > 0 &&
	       st_root_spelling(&call->session->ws->root, out->ptr, &spelling);
}

static void decide_before(struct st_hook_call *call) {
	if (call->event->tool == ST_HOOK_EDIT || call->event->tool == ST_HOOK_WRITE ||
	    call->event->tool == ST_HOOK_PATCH)
		st_hook_before_change(call);
}

static void follow_tasks(struct st_hook_call *call) {
	const struct st_hook_event *event = call->event;
	if (event->failed)
		return;
	if (event->tool == ST_HOOK_TODO)
		(void)!st_tasks_follow(call->session, event->input, NULL);
	else
		(void)!st_tasks_follow_one(call->session, event->input, event->response, NULL);
}

static void decide_after(struct st_hook_call *call) {
	switch (call->event->tool) {
	case ST_HOOK_READ:
		st_hook_after_read(call);
		break;
	case ST_HOOK_EDIT:
	case ST_HOOK_WRITE:
	case ST_HOOK_PATCH:
		st_hook_after_change(call);
		break;
	case ST_HOOK_SHELL:
		st_hook_after_shell(call);
		break;
	case ST_HOOK_TODO:
	case ST_HOOK_TASK:
		follow_tasks(call);
		break;
	case ST_HOOK_TOOL_OTHER:
		break;
	}
}

/* The name under which usage counts the event; NULL if it is not counted. */
static const char *usage_name(const struct st_hook_call *call) {
	static const char *const tools[] = {
		[ST_HOOK_READ] = "native read",   [ST_HOOK_EDIT] = "native edit",
		[ST_HOOK_WRITE] = "native write", [ST_HOOK_PATCH] = "native patch",
		[ST_HOOK_SHELL] = "native shell", [ST_HOOK_TODO] = "native tasks",
		[ST_HOOK_TASK] = "native tasks",
	};
	switch (call->event->moment) {
	case ST_HOOK_BEFORE_TOOL:
		return call->decision->denies ? tools[call->event->tool] : NULL;
	case ST_HOOK_AFTER_TOOL:
		return tools[call->event->tool];
	case ST_HOOK_SESSION_START:
		return "session start";
	case ST_HOOK_PROMPT:
		return call->decision->text.len > 0 ? "prompt" : NULL;
	case ST_HOOK_COMPACT:
		return "compaction";
	default:
		return NULL;
	}
}

static void count_usage(const struct st_hook_call *call) {
	const char *name = usage_name(call);
	st_auto(st_buf) path = ST_BUF_INIT;
	bool named = name && st_hook_path(call, call->event->path, &path);
	if (name)
		st_usage_record(call->session,
		                &(struct st_usage_call){
							.tool = name,
							.path = named ? st_buf_cstr(&path) : NULL,
							.failed = call->decision->denies || call->event->failed,
							.tokens = st_usage_tokens(st_buf_str(&call->decision->text)),
						});
}

static void say_notices(struct st_hook_call *call) {
	for (char *notice; (notice = st_write_next_notice(&call->session->ws->writes));) {
		st_hook_say(call->decision, st_str(notice));
		free(notice);
	}
}

/* Name the bytes that were rescued since the last event, if the answer to this one can hold a text. */
static void tell_notices(struct st_hook_call *call) {
	struct st_write_context *writes = &call->session->ws->writes;
	enum st_hook_moment moment = call->event->moment;
	if (moment != ST_HOOK_AFTER_TOOL && moment != ST_HOOK_PROMPT &&
	    moment != ST_HOOK_SESSION_START && !call->decision->denies)
		return;
	say_notices(call);
	/* A server looked before; a witness, another process, may have saved bytes since. */
	writes->rescued.recovered = false;
	st_rescued_recover(&writes->rescued);
	say_notices(call);
}

void st_hook_start_witness(struct st_hook_call *call) {
	/* Where the agent asks its user first, the tool may wait for long. */
	st_witness_start(call->witness, call->event->asks ? WITNESS_ASKED_S : WITNESS_S);
	call->witness = NULL;
}

void st_hook_decide(struct st_hook_call *call) {
	[[maybe_unused]] st_auto(st_call_scope) scope = st_call_scope_begin(call->session, true);
	switch (call->event->moment) {
	case ST_HOOK_BEFORE_TOOL:
		decide_before(call);
		break;
	case ST_HOOK_AFTER_TOOL:
		decide_after(call);
		break;
	case ST_HOOK_SESSION_START:
		st_hook_start(call);
		break;
	case ST_HOOK_PROMPT:
		st_hook_tell_changes(call, "Files that you have read were changed since then, not by you:");
		break;
	case ST_HOOK_COMPACT:
		stet_instructions_clear(call->session);
		break;
	case ST_HOOK_SAMPLE:
	case ST_HOOK_OTHER:
		break;
	}
	tell_notices(call);
	count_usage(call);
}

/* ---- the workspace ---- */

static bool has_entry(const struct st_buf *dir, const char *name) {
	st_auto(st_buf) path = ST_BUF_INIT;
	struct stat st;
	st_buf_addf(&path, "%s/%s", st_buf_cstr(dir), name);
	return !path.failed && lstat(path.ptr, &st) == 0;
}

/*
 * The nearest directory upwards that has a state directory or a repository; else
 * the working directory. The home directory counts only if it has one itself.
 */
static bool find_root(struct st_str cwd, struct st_buf *out) {
	const char *home = getenv("HOME");
	while (cwd.len > 1 && cwd.ptr[cwd.len - 1] == '/')
		cwd.len--;
	for (size_t len = cwd.len; len > 1;) {
		st_buf_clear(out);
		st_buf_add(out, st_str_slice(cwd, 0, len));
		if (has_entry(out, ".stet") || has_entry(out, ".git"))
			return !out->failed;
		while (len > 1 && cwd.ptr[len - 1] != '/')
			len--;
		len -= len > 1;
	}
	st_buf_clear(out);
	st_buf_add(out, cwd);
	return cwd.len > 1 && !out->failed && !(home && st_str_eq(st_str(home), cwd));
}

static int configure_workspace(struct stet_workspace *ws, struct stet_error *err) {
	struct stet_config *config = NULL;
	int code = stet_workspace_set(ws, STET_OPTION_STATE, ST_STATE_ALL, err);
	if (code == 0)
		code = stet_config_load(ws, &config, err);
	if (code == 0)
		code = stet_config_apply(config, ws, err);
	stet_config_free(config);
	return code;
}

static int open_workspace(const char *root, struct stet_workspace **out, struct stet_error *err) {
	int code = stet_workspace_open(root, out, err);
	if (code < 0)
		return code;
	st_background_disable(&(*out)->background);
	st_state_of(*out)->store.brief = true;
	st_places_be_brief((*out)->places);
	return configure_workspace(*out, err);
}

/* `claude:ID`, and `claude:ID:AGENT` for a subagent. */
static int open_session(struct stet_workspace *ws, const struct st_hook_event *event,
                        struct stet_session **out, struct stet_error *err) {
	st_auto(st_buf) name = ST_BUF_INIT;
	st_buf_addf(&name, "%s:%.*s", st_hook_client_name(event->client), (int)event->session.len,
	            event->session.ptr);
	if (event->agent.len > 0)
		st_buf_addf(&name, ":%.*s", (int)event->agent.len, event->agent.ptr);
	return name.failed ? st_fail_nomem(err) : stet_session_open(ws, name.ptr, out, err);
}

static int touch_session(struct st_store *store, void *data, struct stet_error *err) {
	const struct stet_session *session = data;
	int64_t id, version;
	int code = st_store_session(store, session->name, true, &id, &version, err);
	return code < 0 ? code : st_store_session_touch(store, id, &version, err);
}

/*
 * Whether the next event, another process, will know what this one stored. The start of a session makes no state
 * directory, but looks whether one can be made.
 */
static int check_storage(struct stet_session *session, bool starts, struct stet_error *err) {
	struct st_store *store = &st_state_of(session->ws)->store;
	const struct st_root *root = &session->ws->root;
	if (starts && !st_store_exists(store))
		return faccessat(root->fd, ".", W_OK, AT_EACCESS) == 0
		           ? 0
		           : st_fail_errno(err, errno, "Cannot make %s/%s", root->path,
		                           session->ws->writes.state_dir);
	/* If the session could not be saved a moment ago, wait no second time. */
	enum st_store_mode mode = session->unsaved ? ST_STORE_RETRY : ST_STORE_WRITE;
	int code = st_store_do(store, mode, touch_session, session, err);
	return code < 0 ? code : st_store_is_stored(store, err);
}

/* A denial that is not stored would come again and again, and the agent could not do its work. */
static int drop_unstored(struct st_hook_call *call, struct stet_error *err) {
	struct st_hook_decision *decision = call->decision;
	bool starts = call->event->moment == ST_HOOK_SESSION_START;
	bool denies = decision->denies && !decision->done;
	int code = starts || denies ? check_storage(call->session, starts, err) : 0;
	if (code == 0 || !denies)
		return code;
	st_buf_clear(&decision->text);
	decision->denies = false;
	decision->drops = true;
	return code;
}

static int run_event(const struct st_hook_event *event, struct st_hook_decision *decision,
                     struct stet_error *err) {
	st_auto(st_buf) root = ST_BUF_INIT;
	struct stet_workspace *ws = NULL;
	struct stet_session *session = NULL;
	struct st_hook_call call = {.event = event, .decision = decision};
	if (event->moment == ST_HOOK_OTHER || !find_root(event->cwd, &root))
		return 0;
	int code = open_workspace(root.ptr, &ws, err);
	if (code == 0 && event->moment == ST_HOOK_SAMPLE)
		st_buf_addf(&decision->text, "stet guards %s.", root.ptr);
	else if (code == 0)
		code = open_session(ws, event, &session, err);
	if (code == 0)
		ws->page_bytes = st_hook_reason_max(event);
	/* Without a stored state, the reads end with this process, and stet would refuse every write as unread. */
	if (session && code == 0)
		code = st_store_is_stored(&st_state_of(ws)->store, err);
	if (session && code == 0) {
		call.session = session;
		call.root = st_buf_str(&root);
		st_hook_decide(&call);
		code = drop_unstored(&call, err);
	}
	stet_session_close(session);
	stet_workspace_close(ws);
	st_hook_start_witness(&call);
	return code;
}

/* At the start of a session, and where a denial is dropped, tell the person why the hook cannot work. */
static void tell_fault(const struct st_hook_event *event, struct st_hook_decision *decision,
                       const struct stet_error *err) {
	if (event->moment == ST_HOOK_SESSION_START || decision->drops)
		st_buf_addf(&decision->notice, "stet does not guard this session. %s", err->message);
}

static int decide_event(yyjson_val *root, const char *client, struct st_buf *out,
                        struct stet_error *err) {
	st_auto(st_hook_decision) decision = ST_HOOK_DECISION_INIT;
	struct st_hook_event event;
	int code = st_hook_event_read(root, client, &event, err);
	if (code < 0)
		return code;
	struct stet_error why = {0};
	if (run_event(&event, &decision, &why) < 0)
		tell_fault(&event, &decision, &why);
	return st_hook_decision_write(&decision, &event, out, err);
}

int stet_hook_run(const char *event, size_t event_len, const char *client, char **out, size_t *len,
                  struct stet_error *err) {
	yyjson_doc *doc = NULL;
	struct st_buf text = ST_BUF_INIT;
	*out = NULL;
	if (len)
		*len = 0;
	if (event_len > ST_HOOK_EVENT_MAX)
		return st_fail(err, STET_E_TOO_BIG, "The event has %zu bytes; the limit is %zu.", event_len,
		               ST_HOOK_EVENT_MAX);
	int code = st_json_parse(st_strn(event ? event : "", event ? event_len : 0),
	                         "The members of the event", &doc, err);
	if (code == 0)
		code = decide_event(yyjson_doc_get_root(doc), client, &text, err);
	yyjson_doc_free(doc);
	if (code < 0 || text.len == 0) {
		st_buf_release(&text);
		return code;
	}
	*out = text.ptr;
	if (len)
		*len = text.len;
	return 0;
}
