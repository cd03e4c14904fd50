/**
 * Compaction turns a long history of messages into a short prompt: the system
 * prompt, the user's requests, the snapshot with the request to go on, and the
 * last exchange. This is the strict form; epoch.h keeps more. It never separates
 * tool calls from their results, and drops both for calls that changed nothing.
 *
 * The prompt's JSON fits a budget. A text that does not fit is cut, with a mark
 * that says how much is missing. The snapshot's message counts what was left out.
 * If the caller stores the original list, it also names the archive: the first
 * digits of the SHA-256 of that list.
 *
 *     struct st_compact_options options = {.snapshot = text};
 *     int code = st_compact(messages, &options, &out, &report, err);
 */
#ifndef STET_CORE_PROMPT_COMPACT_H
#define STET_CORE_PROMPT_COMPACT_H

#include "base/buf.h"
#include "core/prompt/messages.h"
#include "fs/file/hash.h"

/** The default budget in tokens, and the smallest. */
enum { ST_COMPACT_BUDGET = 5000, ST_COMPACT_BUDGET_MIN = 1000 };

struct st_compact_options {
	/** The text of st_snapshot_format(); may be empty. */
	struct st_str snapshot;
	/** Leave the snapshot out. */
	bool no_snapshot;
	/** Replaces the list's own system prompt; may be empty. */
	struct st_str template;
	/** What the model should do now; if empty, and tasks are open and no user spoke: to complete these. */
	struct st_str request;
	/** Additional context after the request; may be empty. */
	struct st_str additional;
	/** In tokens; 0 for ST_COMPACT_BUDGET. */
	size_t budget;
	/** The model's tokens per 100 o200k tokens; 0 for 100. */
	unsigned percent;
	enum st_shape shape;
	/** The caller stores the original list under the archive's name, so the prompt may name it. */
	bool archived;
};

struct st_compact_report {
	/** How many replies, tool results, and requests of the user or the system the prompt leaves out. */
	size_t replies;
	size_t results;
	size_t requests;
	/** How many calls that changed nothing were dropped from the last exchange. */
	size_t noops;
	/** Whether a text in the prompt was cut. */
	bool cut;
	/** The estimated tokens of the prompt. */
	size_t tokens;
	/** The archive's name. */
	char archive[ST_HASH_SHORT + 1];
};

/**
 * Make a prompt from a list of messages, in the same shape.
 *
 * @messages  An array of messages, or a request that contains one, as JSON.
 * @out       Receives the same JSON with the prompt in place of the list.
 * @report    Receives the figures; may be NULL.
 * @return    0, STET_E_INVALID or STET_E_NOMEM.
 */
[[nodiscard]] int st_compact(struct st_str messages, const struct st_compact_options *options,
                             struct st_buf *out, struct st_compact_report *report,
                             struct stet_error *err);

#endif
