/**
 * A recorded run of an agent, turn by turn: what its context came to with the
 * full history, and what it comes to with a snapshot.
 *
 * A run is a text of JSON objects, one a line, in order: `turn`, `tool` (or
 * "system", "user", "assistant", "disk"), `op` ("read", "write", "edit" ...),
 * `args`, `result_text`, `path`, `is_error`, `tokens`.
 *
 *     struct st_replay *replay = NULL;
 *
 *     if (st_replay_open("", 0, &replay, err) == 0)
 *             while (st_replay_next(replay, err) > 0)
 *                     printf("%zu %zu\n", st_replay_full(replay), st_replay_short(replay));
 *     st_replay_close(replay);
 */
#ifndef STET_EVAL_REPLAY_H
#define STET_EVAL_REPLAY_H

#include <stddef.h>

#include "stet/error.h"

struct st_replay;

/** What a run is counted by, up to the current turn. */
enum st_replay_count {
	/** Turns so far. */
	ST_REPLAY_TURNS,
	/** Files that were read, written or edited. */
	ST_REPLAY_FILES,
	/** Files that were written as a whole, and how often. */
	ST_REPLAY_WRITTEN,
	ST_REPLAY_WRITES,
	/** Writes of the bytes that were there: with stet, no-ops. */
	ST_REPLAY_IDENTICAL,
	/** Writes of nearly the bytes that were there, while the snapshot named the file. */
	ST_REPLAY_NEARLY,
	/** Edits, those that failed, and those of a file that had changed behind the agent's back. */
	ST_REPLAY_EDITS,
	ST_REPLAY_FAILED,
	ST_REPLAY_STALE,
	/** Prompts in which a text was cut, visibly. */
	ST_REPLAY_CUT,
	/**
	 * Prompts that leave out something without saying so: each is held against
	 * the history, and its snapshot against the files.
	 */
	ST_REPLAY_UNSAID,
	/** Turns in which nothing was done but to write what was there, or nearly. */
	ST_REPLAY_NEEDLESS,
	/** With a stage: files on it, and writes that it refused. */
	ST_REPLAY_STAGED,
	ST_REPLAY_REFUSED,
	/** Turns of the whole run, known from the beginning. */
	ST_REPLAY_TOTAL,
};

/**
 * Begin to replay.
 *
 * @rows   Is kept, and must stay until the end.
 * @return 0, STET_E_INVALID (not such a text; the message names the line) or
 *         STET_E_NOMEM.
 */
[[nodiscard]] int st_replay_open(const char *rows, size_t len, struct st_replay **out,
                                 struct stet_error *err);

/** Close it; NULL is fine. */
void st_replay_close(struct st_replay *replay);

/** How many tokens a prompt may have; 5000 at first. */
void st_replay_budget(struct st_replay *replay, size_t tokens);

/**
 * Play the run in a real workspace as well: a session writes what the agent
 * wrote, as far as the run tells the bytes. Before the first turn.
 *
 * @dir    An empty directory, which stays the caller's.
 * @return 0, or why there can be no workspace.
 */
[[nodiscard]] int st_replay_stage(struct st_replay *replay, const char *dir,
                                  struct stet_error *err);

/**
 * Close that workspace with its session and state, and go on with what is
 * found on the disk.
 *
 * @return 1 if the state is what it was, to the letter; 0 if not, or without a
 *         stage; or a negative code.
 */
[[nodiscard]] int st_replay_restart(struct st_replay *replay, struct stet_error *err);

/**
 * Compare the state of that workspace with the run.
 *
 * @wrong  Receives how many of the files on the stage are not, in the state
 *         or on the disk, what the run made of them.
 * @return 0 or a negative code.
 */
[[nodiscard]] int st_replay_verify(struct st_replay *replay, size_t *wrong, struct stet_error *err);

/** Go on to the next reply of the model. Returns 1, 0 after the last, or a negative code. */
[[nodiscard]] int st_replay_next(struct st_replay *replay, struct stet_error *err);

/** Tokens of the context of this reply: with the full history, and with the snapshot. */
size_t st_replay_full(const struct st_replay *replay);
size_t st_replay_short(const struct st_replay *replay);

/** The prompt of this reply with the snapshot, as JSON of chat completions; valid until the next. */
const char *st_replay_prompt(const struct st_replay *replay, size_t *len);

/** The snapshot in it; after the last reply, that of the end. */
const char *st_replay_snapshot(const struct st_replay *replay, size_t *len);

/** One of the figures. */
size_t st_replay_count(const struct st_replay *replay, int count);

#endif
