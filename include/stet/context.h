/**
 * Prompts within a token budget: instead of the whole history of a conversation,
 * the prompt holds a snapshot of the state of the work and the newest exchanges.
 *
 * A context holds the parts of a prompt. stet_context_prompt() builds a prompt
 * from these parts alone. stet_context_compact() takes the messages so far, in the
 * format of OpenAI's chat completions, OpenAI's responses, Anthropic's messages or
 * Gemini's contents. Below STET_CONTEXT_ABOVE tokens they come back byte for byte;
 * above, they are cut once, to STET_CONTEXT_TO tokens, and the conversation goes
 * on from the result. A tool call always stays with its result, and a text that
 * does not fit is visibly truncated.
 *
 *     struct stet_context *context = stet_context_new();
 *     char *prompt = NULL;
 *
 *     if (stet_context_learn(context, session, "[]", 2, err) == 0 &&
 *         stet_context_take(context, session, err) == 0 &&
 *         stet_context_compact(context, "[]", 2, &prompt, NULL, err) == 0)
 *             puts(prompt);
 *     stet_free(prompt);
 *     stet_context_free(context);
 *
 * Messages that were cut have an archive name: the first 16 digits of the SHA-256
 * of the original. A host that stores the original under that name, as `stet
 * compact --archive FILE` does, sets STET_CONTEXT_ARCHIVED, and the prompt names it.
 */
#ifndef STET_CONTEXT_H
#define STET_CONTEXT_H

#include <stddef.h>

#include "stet/session.h"

#ifdef __cplusplus
extern "C" {
#endif

struct stet_context;

/** The texts of a prompt. */
enum stet_context_text {
	/** The state of the work: the text of the tool repo_state. */
	STET_CONTEXT_SNAPSHOT = 0,
	/** The system prompt; by default the one in the messages. */
	STET_CONTEXT_TEMPLATE = 1,
	/**
	 * What the model should do now. By default, what the user said last; or to
	 * complete the open tasks, if there are any and no user spoke.
	 */
	STET_CONTEXT_REQUEST = 2,
	/** Additional information. */
	STET_CONTEXT_ADDITIONAL = 3,
	/** The format of the messages: "auto" (the default), "chat", "responses", "anthropic",
	 *  "gemini". */
	STET_CONTEXT_SHAPE = 4,
};

/** The numeric settings of a prompt. */
enum stet_context_number {
	/**
	 * The most tokens in the prompt; at least 1000. Of stet_context_prompt() and
	 * with STET_CONTEXT_STRICT: 5000 by default. Otherwise it sets
	 * STET_CONTEXT_ABOVE to this number, and STET_CONTEXT_TO to half of it.
	 */
	STET_CONTEXT_BUDGET = 0,
	/** Your model's tokens per 100 o200k tokens; 100 by default. */
	STET_CONTEXT_PERCENT = 1,
	/**
	 * 1 by default. With 0, stet_context_compact() returns the full history
	 * unchanged, and stet_context_prompt() omits the snapshot.
	 */
	STET_CONTEXT_USE_SNAPSHOT = 2,
	/** Cut messages that have more tokens than this, 24000 by default, ... */
	STET_CONTEXT_ABOVE = 3,
	/** ... to this number, 6000 by default. */
	STET_CONTEXT_TO = 4,
	/** 1: keep only the last exchange, within STET_CONTEXT_BUDGET, whatever the messages have. */
	STET_CONTEXT_STRICT = 5,
	/** 1: the host stores the original messages under stet_context_archive(). */
	STET_CONTEXT_ARCHIVED = 6,
	/** Tokens of the host's tool definitions, which count, too; 0 by default. */
	STET_CONTEXT_OVERHEAD = 7,
	/** 0: no marks for Anthropic's cache in messages that were cut; 1 by default. */
	STET_CONTEXT_CACHE_MARKS = 8,
};

/** Figures of the last prompt, for stet_context_count(). */
enum stet_context_count {
	/** Tokens of the prompt, estimated. */
	STET_CONTEXT_TOKENS = 0,
	/** Replies of the model, results of tools and requests of the user that it left out. */
	STET_CONTEXT_REPLIES = 1,
	STET_CONTEXT_RESULTS = 2,
	STET_CONTEXT_REQUESTS = 3,
	/** Tool calls that it left out because they changed nothing. */
	STET_CONTEXT_NOOPS = 4,
	/** 1 if a text was truncated. */
	STET_CONTEXT_CUT = 5,
};

/** Make an empty context; NULL if out of memory. */
STET_API struct stet_context *stet_context_new(void);

/** Free a context; NULL is fine. */
STET_API void stet_context_free(struct stet_context *context);

/**
 * Set a text. The context copies it; an empty text counts as not set.
 *
 * @return 0, STET_E_INVALID (unknown format) or STET_E_NOMEM.
 */
STET_API STET_NODISCARD int stet_context_set(struct stet_context *context, int text,
                                             const char *value, size_t len, struct stet_error *err);

/**
 * Set the snapshot to the current state of the session's workspace, and
 * STET_CONTEXT_USE_SNAPSHOT as stet_snapshot_used() returns it. Logs the
 * snapshot if stet_workspace_log() has set a log.
 *
 * @return 0, STET_E_BUSY, STET_E_NO_SPACE, STET_E_LIMIT, STET_E_NOMEM, STET_E_IO.
 */
STET_API STET_NODISCARD int stet_context_take(struct stet_context *context,
                                              struct stet_session *session, struct stet_error *err);

/**
 * Record the files that tool calls in the messages name, as stet_record() does,
 * so that stet_context_take() knows them; the tools may be any agent's. Files
 * that cannot be verified on the disk are named as such in the prompt. Does
 * nothing for messages that stet_context_compact() would not cut.
 *
 * @return 0, STET_E_INVALID (not messages in JSON), or a code of stet_record().
 */
STET_API STET_NODISCARD int stet_context_learn(struct stet_context *context,
                                               struct stet_session *session, const char *messages,
                                               size_t len, struct stet_error *err);

/** Set a number. */
STET_API void stet_context_set_number(struct stet_context *context, int number, size_t value);

/**
 * Make a prompt from the texts alone, in the format of chat completions unless
 * STET_CONTEXT_SHAPE is set.
 *
 * @out     Receives JSON, to be freed with stet_free().
 * @return  0 or STET_E_NOMEM.
 */
STET_API STET_NODISCARD int stet_context_prompt(struct stet_context *context, char **out,
                                                size_t *out_len, struct stet_error *err);

/**
 * Make a prompt from messages.
 *
 * @messages  A JSON array of messages, or a whole request with `messages`,
 *            `input` or `contents`; the request's other members stay as they are.
 * @out       Receives JSON of the same kind, to be freed with stet_free().
 * @return    0, STET_E_INVALID (not messages in JSON) or STET_E_NOMEM.
 */
STET_API STET_NODISCARD int stet_context_compact(struct stet_context *context, const char *messages,
                                                 size_t len, char **out, size_t *out_len,
                                                 struct stet_error *err);

/** One of enum stet_context_count, for the last prompt. */
STET_API size_t stet_context_count(const struct stet_context *context, int count);

/** The archive name of the last prompt's messages; "" if they were not cut. */
STET_API const char *stet_context_archive(const struct stet_context *context);

/**
 * Estimate how many o200k tokens a text has: seldom less than the real count,
 * and about 10 % more on average.
 */
STET_API size_t stet_tokens(const char *text, size_t len);

#ifdef __cplusplus
}
#endif

#endif
