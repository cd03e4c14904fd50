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
	/**
	 * Prompts that leave out something without saying so: each is held against
	 * the history, and its snapshot against the files.
	 */
	STET_REPLAY_UNSAID,
	/** Turns in which nothing was done but to write what was there, or nearly. */
	STET_REPLAY_NEEDLESS,
	/** With a stage: files on it, and writes that it refused. */
	STET_REPLAY_STAGED,
	STET_REPLAY_REFUSED,
	/** Turns of the whole run, known from the beginning. */
	STET_REPLAY_TOTAL,
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

/**
 * Play the run in a real workspace as well: a session writes what the agent
 * wrote, as far as the run tells the bytes. Before the first turn.
 *
 * @dir    An empty directory, which stays the caller's.
 * @return 0, or why there can be no workspace.
 */
STET_API STET_NODISCARD int stet_replay_stage(struct stet_replay *replay, const char *dir,
                                              struct stet_error *err);

/**
 * Close that workspace with its session and state, and go on with what is
 * found on the disk.
 *
 * @return 1 if the state is what it was, to the letter; 0 if not, or without a
 *         stage; or a negative code.
 */
STET_API STET_NODISCARD int stet_replay_restart(struct stet_replay *replay, struct stet_error *err);

/**
 * Compare the state of that workspace with the run.
 *
 * @wrong  Receives how many of the files on the stage are not, in the state
 *         or on the disk, what the run made of them.
 * @return 0 or a negative code.
 */
STET_API STET_NODISCARD int stet_replay_verify(struct stet_replay *replay, size_t *wrong,
                                               struct stet_error *err);

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
