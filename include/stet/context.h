/**
 * Prompts under a budget: a snapshot of the state of the work instead of the
 * history that led to it (spec 2).
 *
 * A context holds what a prompt is made of. stet_context_prompt() makes one
 * from nothing but that (spec: BuildSnapshotPrompt); stet_context_compact() also
 * takes the messages so far, in the shape of OpenAI's chat completions, OpenAI's
 * responses or Anthropic's messages, and answers in the same: the system prompt,
 * what the user asked for, the snapshot with the request to go on, and the last
 * exchange. A tool call is never parted from its result, calls that changed
 * nothing are dropped, and what does not fit is cut visibly.
 *
 *     struct stet_context *context = stet_context_new();
 *     char *prompt = NULL;
 *
 *     if (stet_context_take(context, session, err) == 0 &&
 *         stet_context_compact(context, "[]", 2, &prompt, NULL, err) == 0)
 *             puts(prompt);
 *     stet_free(prompt);
 *     stet_context_free(context);
 *
 * Nothing is lost: the prompt names an archive, the first 16 digits of the
 * SHA-256 of the messages that came in. Keep them under that name (`stet
 * compact --archive FILE` does), and what was squashed can be had again.
 */
#ifndef STET_CONTEXT_H
#define STET_CONTEXT_H

#include <stddef.h>

#include "stet/session.h"

#ifdef __cplusplus
extern "C" {
#endif

struct stet_context;

/** The texts that a prompt is made of. */
enum stet_context_text {
	/** The state of the work: the text of the tool repo_state. */
	STET_CONTEXT_SNAPSHOT,
	/** The system prompt; without one, that of the messages stays. */
	STET_CONTEXT_TEMPLATE,
	/** What to do now; without one, to complete the remaining tasks. */
	STET_CONTEXT_REQUEST,
	/** More to know. */
	STET_CONTEXT_ADDITIONAL,
	/** The shape of the messages: "auto" (as at first), "chat", "responses", "anthropic". */
	STET_CONTEXT_SHAPE,
};

/** Numbers that decide about a prompt. */
enum stet_context_number {
	/** How many tokens it may have; 5000 at first. Less than 1000 counts as that. */
	STET_CONTEXT_BUDGET,
	/** your model's tokens per 100 o200k tokens; 100 at first. */
	STET_CONTEXT_PERCENT,
	/**
	 * 1 at first. 0 for no snapshot: stet_context_compact() hands back the full
	 * history, untouched, and stet_context_prompt() leaves the snapshot out.
	 */
	STET_CONTEXT_USE_SNAPSHOT,
};

/** What the last prompt left out, see stet_context_count(). */
enum stet_context_count {
	STET_CONTEXT_TOKENS,
	STET_CONTEXT_REPLIES,
	STET_CONTEXT_RESULTS,
	STET_CONTEXT_REQUESTS,
	STET_CONTEXT_NOOPS,
	/** 1 if a text in it was cut. */
	STET_CONTEXT_CUT,
};

/** A context with nothing in it; NULL if memory is short. */
STET_API struct stet_context *stet_context_new(void);

/** Free a context; NULL is fine. */
STET_API void stet_context_free(struct stet_context *context);

/**
 * Set one of its texts, which is copied; an empty one counts as none.
 *
 * @return 0, STET_E_INVALID (no such shape) or STET_E_NOMEM.
 */
STET_API STET_NODISCARD int stet_context_set(struct stet_context *context, int text,
                                             const char *value, size_t len, struct stet_error *err);

/**
 * Take the state of a session's workspace: its snapshot, which is logged
 * (stet_workspace_log()), and whether prompts use it there
 * (stet_snapshot_used()).
 *
 * @return 0, STET_E_BUSY, STET_E_NO_SPACE, STET_E_LIMIT, STET_E_NOMEM, STET_E_IO.
 */
STET_API STET_NODISCARD int stet_context_take(struct stet_context *context,
                                              struct stet_session *session, struct stet_error *err);

/** Set one of its numbers. */
STET_API void stet_context_set_number(struct stet_context *context, int number, size_t value);

/**
 * Make a prompt from the texts alone (spec: `BuildSnapshotPrompt`), in the
 * shape of chat completions unless another was set.
 *
 * @out     Receives JSON, to be freed with stet_free().
 * @return  0 or STET_E_NOMEM.
 */
STET_API STET_NODISCARD int stet_context_prompt(struct stet_context *context, char **out,
                                                size_t *out_len, struct stet_error *err);

/**
 * Make a prompt of messages: an array of them, or a whole request with
 * `messages` or `input`, of which all other members stay.
 *
 * @out     Receives JSON of the same kind, to be freed with stet_free().
 * @return  0, STET_E_INVALID (not such JSON) or STET_E_NOMEM.
 */
STET_API STET_NODISCARD int stet_context_compact(struct stet_context *context, const char *messages,
                                                 size_t len, char **out, size_t *out_len,
                                                 struct stet_error *err);

/** A figure of the prompt made last. */
STET_API size_t stet_context_count(const struct stet_context *context, int count);

/** The name under which the messages of the last prompt are to be kept; "" before the first. */
STET_API const char *stet_context_archive(const struct stet_context *context);

/**
 * How many tokens a text has: an estimate made for o200k, seldom below its
 * count and some 10 % above it on average.
 */
STET_API size_t stet_tokens(const char *text, size_t len);

#ifdef __cplusplus
}
#endif

#endif
