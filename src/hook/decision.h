/**
 * A decision: what the hook tells the agent, in the form that its client reads.
 *
 * The text of a denial is the result of the tool that was not run. Context is
 * a text that the model gets beside the result, or beside the prompt.
 */
#ifndef STET_HOOK_DECISION_H
#define STET_HOOK_DECISION_H

#include "hook/event.h"

struct st_hook_decision {
	/** Deny the tool, with `text` as the reason. */
	bool denies;
	/** It is denied because stet has made the change itself. */
	bool done;
	/** It would be denied, if that could be stored. */
	bool drops;
	/** The reason or the context; empty for no decision. */
	struct st_buf text;
	/** A sentence for the person, where the client shows one; empty for none. */
	struct st_buf notice;
};

#define ST_HOOK_DECISION_INIT \
	{ .text = ST_BUF_INIT, .notice = ST_BUF_INIT }

/**
 * How many bytes the text of a denial may have: a model should not have to read
 * more, and its client hands on no more. Lines that a client cuts off would
 * count as seen all the same.
 */
size_t st_hook_reason_max(const struct st_hook_event *event);

void st_hook_decision_release(struct st_hook_decision *decision);

/** Add a paragraph to the text. */
void st_hook_say(struct st_hook_decision *decision, struct st_str paragraph);

/** Append the decision as JSON; nothing if it says nothing. Returns 0 or STET_E_NOMEM. */
[[nodiscard]] int st_hook_decision_write(const struct st_hook_decision *decision,
                                         const struct st_hook_event *event, struct st_buf *out,
                                         struct stet_error *err);

#endif
