/**
 * One call of the hook, and what it does at each moment. st_hook_decide() opens
 * with an event and a session and calls the parts below; stet/hook.h is the
 * public way in, which finds the workspace and opens the session first.
 *
 * No part fails: where something cannot be read or stored, the hook says
 * nothing, and the agent goes on as if there were none.
 */
#ifndef STET_HOOK_HOOK_H
#define STET_HOOK_HOOK_H

#include "core/session/session.h"
#include "hook/decision.h"
#include "hook/witness.h"
#include "stet/hook.h"

/** The most bytes of an event; a larger one gets no decision. */
#define ST_HOOK_EVENT_MAX ((size_t)32 << 20)

struct st_hook_call {
	const struct st_hook_event *event;
	struct stet_session *session;
	/** The workspace's directory as the event spells it, without links resolved. */
	struct st_str root;
	struct st_hook_decision *decision;
	/** The witness of a change that the hook lets the tool make; NULL for none. */
	struct st_witness *witness;
};

/** After the decision, and outside of any transaction: leave the witness behind if there is one. */
void st_hook_start_witness(struct st_hook_call *call);

/** Decide about one event, in a session of the agent. */
void st_hook_decide(struct st_hook_call *call);

/**
 * The path of a file as the session takes it, made from the agent's spelling
 * and its working directory. False if it is not below the root.
 */
bool st_hook_path(const struct st_hook_call *call, struct st_str path, struct st_buf *out);

/** After the agent's read. */
void st_hook_after_read(struct st_hook_call *call);

/** After a shell command: which lines of which files its output has, and which files it changed. */
void st_hook_after_shell(struct st_hook_call *call);

/** Before an edit, a write or a patch. */
void st_hook_before_change(struct st_hook_call *call);

/** After an edit, a write or a patch. */
void st_hook_after_change(struct st_hook_call *call);

/** Tell which files changed since the session saw them; each change once. */
void st_hook_tell_changes(struct st_hook_call *call, const char *sentence);

/** Add the AGENTS.md that apply to a file and that the model does not have yet. */
void st_hook_instruct(struct st_hook_call *call, const char *path);

/** Say who changes a file elsewhere, once per change. The session must have a record of the file. */
void st_hook_tell(struct st_hook_call *call, const char *path);

/** The start of a session, and the end of a compaction. */
void st_hook_start(struct st_hook_call *call);

#endif
