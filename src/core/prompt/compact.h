/**
 * A long history of messages made into a short prompt (spec 2: snapshot and
 * delta): the system prompt, what the user asked for, the snapshot with the
 * request to go on, and the last exchange. Everything between is squashed: it
 * is what the snapshot tells. Tool calls are never parted from their results,
 * and calls that changed nothing are dropped with them.
 *
 * The prompt stays within a budget, counted over its JSON. What does not fit is
 * cut with a mark that says how much is missing. The snapshot's message counts
 * what was squashed and names the archive: the first digits of the SHA-256 of
 * the list that came in, under which whoever calls keeps it.
 *
 *     struct st_compact_options options = {.snapshot = text};
 *     int code = st_compact(messages, &options, &out, &report, err);
 */
#ifndef STET_CORE_PROMPT_COMPACT_H
#define STET_CORE_PROMPT_COMPACT_H

#include "base/buf.h"
#include "core/prompt/messages.h"
#include "fs/file/hash.h"

/** How many tokens a prompt may have, and the least that it can be told. */
enum { ST_COMPACT_BUDGET = 5000, ST_COMPACT_LEAST = 1000 };

struct st_compact_options {
	/** The state of the work, as st_snapshot_format() has it; may be empty. */
	struct st_str snapshot;
	/** Leave the snapshot out. */
	bool no_snapshot;
	/** The system prompt, in place of the list's own; may be empty. */
	struct st_str template;
	/** What to do now; empty for spec 2's words. */
	struct st_str request;
	/** More to know, behind the request; may be empty. */
	struct st_str additional;
	/** In tokens; 0 for ST_COMPACT_BUDGET. */
	size_t budget;
	/** your model's tokens per 100 o200k tokens; 0 for 100. */
	unsigned percent;
	enum st_shape shape;
};

struct st_compact_report {
	/** Replies of the model, results of tools and requests of the user that are not in the prompt. */
	size_t replies;
	size_t results;
	size_t requests;
	/** Results that said that nothing had to be done, dropped with their calls. */
	size_t noops;
	/** Whether anything that is in the prompt was cut. */
	bool cut;
	/** Tokens of the prompt, estimated. */
	size_t tokens;
	/** The archive's name. */
	char archive[ST_HASH_SHORT + 1];
};

/**
 * Make a prompt of a list of messages, in the shape it has.
 *
 * @messages  An array of messages, or a request that holds one, as JSON.
 * @out       Receives the same with the prompt in the list's place.
 * @report    Receives the figures; may be NULL.
 * @return    0, STET_E_INVALID or STET_E_NOMEM.
 */
[[nodiscard]] int st_compact(struct st_str messages, const struct st_compact_options *options,
                             struct st_buf *out, struct st_compact_report *report,
                             struct stet_error *err);

#endif
