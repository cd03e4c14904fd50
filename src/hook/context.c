/* The texts that the hook adds for the model: instructions, the state, changes of others. */
#include "core/instructions/lookup.h"
#include "core/places/places.h"
#include "core/prompt/snapshot.h"
#include "core/session/deliver.h"
#include "core/state/state.h"
#include "hook/hook.h"
#include "stet/instructions.h"

/* How many changed files to name, and how many bytes of instructions to add. */
enum { NAMED_MAX = 20, INSTRUCTIONS_MAX = 16 << 10 };

/* ---- instructions ---- */

/* Claude Code and opencode add the nested AGENTS.md after their own read, and after nothing else. */
static bool loads_nested(const struct st_hook_event *event) {
	return event->tool == ST_HOOK_READ &&
	       (event->client == ST_HOOK_CLAUDE || event->client == ST_HOOK_OPENCODE);
}

void st_hook_instruct(struct st_hook_call *call, const char *path) {
	const struct st_instructions_setup *setup = &call->session->ws->instructions;
	struct stet_instructions *list = NULL;
	/* Agents load the root's themselves; to Gemini CLI the server sends it, as its instructions. */
	if (!setup->deliver || st_instructions_deliver_new(call->session, path, ST_INSTRUCTIONS_NESTED,
	                                                   INSTRUCTIONS_MAX, NULL, &list, NULL) < 0)
		return;
	size_t count = list && !loads_nested(call->event) ? stet_instructions_count(list) : 0;
	for (size_t i = 0; i < count; i++) {
		size_t len = 0;
		const char *block = stet_instructions_block(list, i, &len);
		if (block)
			st_hook_say(call->decision, st_strn(block, len));
	}
	stet_instructions_free(list);
}

void st_hook_tell(struct st_hook_call *call, const char *path) {
	struct stet_session *session = call->session;
	st_auto(st_place) place = ST_PLACE_INIT;
	st_auto(st_buf) text = ST_BUF_INIT;
	const char *relative = NULL;
	if (st_root_relative_path(&session->ws->root, path, &place, &relative, NULL) < 0)
		return;
	const struct st_seen *seen = st_tracker_find(&session->tracker, relative);
	if (seen && seen->version.exists)
		st_places_tell(session->ws->places, session, NULL, relative, &seen->version.hash, &text);
	if (text.len > 0 && !text.failed)
		st_hook_say(call->decision, st_str_trim(st_buf_str(&text)));
}

/* ---- changes of others ---- */

struct changes {
	struct st_hook_call *call;
	struct st_buf names;
	size_t count;
};

/* A change is new if no notice with its path and the file's stamp was added before. */
static bool is_new_change(struct st_hook_call *call, const char *path) {
	st_auto(st_buf) notice = ST_BUF_INIT;
	struct stat st = {0};
	(void)!st_root_peek(&call->session->ws->root, path, &st, NULL);
	st_buf_addf(&notice, "changed %s %lld.%09ld %lld", path, (long long)st.st_mtim.tv_sec,
	            st.st_mtim.tv_nsec, (long long)st.st_size);
	return !notice.failed &&
	       st_delivered_add_new_notice(&call->session->instructions, st_buf_str(&notice));
}

static void add_changed(void *data, const char *path, enum st_seen_status status) {
	struct changes *changes = data;
	if (!is_new_change(changes->call, path) || ++changes->count > NAMED_MAX)
		return;
	st_buf_adds(&changes->names, "\n- ");
	st_quote_name(&changes->names, st_str(path));
	if (status == ST_DELETED)
		st_buf_adds(&changes->names, " (deleted)");
}

void st_hook_tell_changes(struct st_hook_call *call, const char *sentence) {
	struct changes changes = {.call = call, .names = ST_BUF_INIT};
	st_auto(st_buf) text = ST_BUF_INIT;
	if (st_session_each_changed(call->session, add_changed, &changes, NULL) == 0 &&
	    changes.count > 0) {
		st_buf_addf(&text, "%s%s", sentence, st_buf_cstr(&changes.names));
		if (changes.count > NAMED_MAX)
			st_buf_addf(&text, "\nand %zu more", changes.count - NAMED_MAX);
		st_hook_say(call->decision, st_buf_str(&text));
	}
	st_buf_release(&changes.names);
}

/* ---- the start of a session ---- */

void st_hook_start(struct st_hook_call *call) {
	struct stet_session *session = call->session;
	st_auto(st_repo_status) status = {0};
	st_auto(st_buf) text = ST_BUF_INIT;
	struct st_state *state = st_state_of(session->ws);
	if (st_str_eq(call->event->source, ST_STR("compact")))
		stet_instructions_clear(session);
	/* Nothing is stored yet, so there is nothing to tell. */
	if (!st_store_exists(&state->store) ||
	    st_repo_get_status(&state->repo, session, 0, &status, NULL) < 0 ||
	    status.state.file_count + status.state.task_count == 0 ||
	    st_snapshot_format(&status.state, 0, &text, NULL) < 0)
		return;
	st_workspace_log(session->ws, session->name, st_buf_str(&text));
	st_hook_say(call->decision, st_buf_str(&text));
}
