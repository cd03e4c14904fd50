/**
 * A recorded run of an agent, turn by turn: what its context came to with the
 * full history, and what it comes to with a snapshot.
 *
 * A run is a text of JSON objects, one a line, in order: `turn`, `tool` (or
 * "system", "user", "assistant", "disk"), `op` ("read", "write", "edit" ...),
 * `args`, `result_text`, `path`, `is_error`, `tokens`.
 *
 *     struct stet_replay *replay = NULL;
 *
 *     if (stet_replay_open("", 0, &replay, err) == 0)
 *             while (stet_replay_next(replay, err) > 0)
 *                     printf("%zu %zu\n", stet_replay_full(replay), stet_replay_short(replay));
 *     stet_replay_close(replay);
 */
#ifndef STET_REPLAY_H
#define STET_REPLAY_H

#include <stddef.h>

#include "stet/error.h"

#ifdef __cplusplus
extern "C" {
#endif

struct stet_replay;

/** What a run is counted by, up to the current turn. */
enum stet_replay_count {
	/** Turns so far. */
	STET_REPLAY_TURNS,
	/** Files that were read, written or edited. */
	STET_REPLAY_FILES,
	/** Files that were written as a whole, and how often. */
	STET_REPLAY_WRITTEN,
	STET_REPLAY_WRITES,
	/** Writes of the bytes that were there: with stet, no-ops. */
	STET_REPLAY_IDENTICAL,
	/** Writes of nearly the bytes that were there, while the snapshot named the file. */
	STET_REPLAY_NEARLY,
	/** Edits, those that failed, and those of a file that had changed behind the agent's back. */
	STET_REPLAY_EDITS,
	STET_REPLAY_FAILED,
	STET_REPLAY_STALE,
	/** Prompts in which a text was cut, visibly. */
	STET_REPLAY_CUT,
};

/**
 * Begin to replay.
 *
 * @rows   Is kept, and must stay until the end.
 * @return 0, STET_E_INVALID (not such a text; the message names the line) or
 *         STET_E_NOMEM.
 */
STET_API STET_NODISCARD int stet_replay_open(const char *rows, size_t len, struct stet_replay **out,
                                             struct stet_error *err);

/** Close it; NULL is fine. */
STET_API void stet_replay_close(struct stet_replay *replay);

/** How many tokens a prompt may have; 5000 at first. */
STET_API void stet_replay_budget(struct stet_replay *replay, size_t tokens);

/** Go on to the next reply of the model. Returns 1, 0 after the last, or a negative code. */
STET_API STET_NODISCARD int stet_replay_next(struct stet_replay *replay, struct stet_error *err);

/** Tokens of the context of this reply: with the full history, and with the snapshot. */
STET_API size_t stet_replay_full(const struct stet_replay *replay);
STET_API size_t stet_replay_short(const struct stet_replay *replay);

/** The prompt of this reply with the snapshot, as JSON of chat completions; valid until the next. */
STET_API const char *stet_replay_prompt(const struct stet_replay *replay, size_t *len);

/** The snapshot in it; after the last reply, that of the end. */
STET_API const char *stet_replay_snapshot(const struct stet_replay *replay, size_t *len);

/** One of the figures. */
STET_API size_t stet_replay_count(const struct stet_replay *replay, int count);

#ifdef __cplusplus
}
#endif

#endif
