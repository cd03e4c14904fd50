/**
 * Replay a recorded run of an agent turn by turn, and compare the size of its
 * context with the full history and with a snapshot.
 *
 * This folder evaluates recorded runs for stet replay. It is not part of the
 * library.
 *
 * A run has one JSON object per line, in order: `turn`, `tool` (or "system",
 * "user", "assistant", "disk"), `op` ("read", "write", "edit" ...), `args`,
 * `result_text`, `path`, `is_error`, `tokens`.
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

#include "eval/measure.h"
#include "stet/error.h"

struct st_replay;

/** The figures of a run, up to the current turn. */
enum st_replay_count {
	/** Turns so far. */
	ST_REPLAY_TURNS,
	/** Files that the agent read, wrote or edited. */
	ST_REPLAY_FILES,
	/** Files that the agent wrote as a whole. */
	ST_REPLAY_WRITTEN,
	/** Writes of whole files. */
	ST_REPLAY_WRITES,
	/** Writes of the same bytes that the file had: with stet, no-ops. */
	ST_REPLAY_IDENTICAL,
	/** Writes of nearly the same bytes, while the snapshot named the file. */
	ST_REPLAY_NEARLY,
	ST_REPLAY_EDITS,
	/** Edits that failed. */
	ST_REPLAY_FAILED,
	/** Edits of a file that somebody else had changed since the agent saw it. */
	ST_REPLAY_STALE,
	/** Prompts in which a text was cut, with a mark. */
	ST_REPLAY_CUT,
	/** Prompts that leave something out without saying so; see audit.h. */
	ST_REPLAY_UNSAID,
	/** Turns in which the agent only wrote what the files had, or nearly. */
	ST_REPLAY_NEEDLESS,
	/** With a stage: files on it. */
	ST_REPLAY_STAGED,
	/** With a stage: writes that it refused. */
	ST_REPLAY_REFUSED,
	/** Turns of the whole run, known from the beginning. */
	ST_REPLAY_TOTAL,
};

/**
 * Open a run.
 *
 * @rows   The run's text; must stay valid until st_replay_close().
 * @return 0, STET_E_INVALID (not a run; the message names the line) or
 *         STET_E_NOMEM.
 */
[[nodiscard]] int st_replay_open(const char *rows, size_t len, struct st_replay **out,
                                 struct stet_error *err);

/** Close a run; NULL is fine. */
void st_replay_close(struct st_replay *replay);

/** Set how many tokens a prompt may have; 5000 by default. */
void st_replay_budget(struct st_replay *replay, size_t tokens);

/**
 * Also measure what shortened histories still have; see measure.h. Call this
 * before the first turn and after st_replay_budget().
 *
 * @above, to  The tokens above which, and to which, epochs cut.
 * @return     0 or STET_E_NOMEM.
 */
[[nodiscard]] int st_replay_measure(struct st_replay *replay, size_t above, size_t to,
                                    struct stet_error *err);

/** The measure; NULL without one. */
const struct st_measure *st_replay_measured(const struct st_replay *replay);

/**
 * Also play the run in a real workspace: a session writes what the agent wrote,
 * as far as the run has the bytes. Call this before the first turn.
 *
 * @dir    An empty directory, which the caller removes.
 * @return 0, or the error of opening the workspace.
 */
[[nodiscard]] int st_replay_stage(struct st_replay *replay, const char *dir,
                                  struct stet_error *err);

/**
 * Close that workspace and open it again from the disk.
 *
 * @return 1 if the state, as JSON, is exactly the same; 0 if not, or without a
 *         stage; or a negative code.
 */
[[nodiscard]] int st_replay_restart(struct st_replay *replay, struct stet_error *err);

/**
 * Compare that workspace with the run.
 *
 * @wrong  Receives how many files on the stage differ from the run, in the
 *         state or on the disk.
 * @return 0 or a negative code.
 */
[[nodiscard]] int st_replay_verify(struct st_replay *replay, size_t *wrong, struct stet_error *err);

/** Advance to the next reply of the model. Returns 1, 0 after the last, or a negative code. */
[[nodiscard]] int st_replay_next(struct st_replay *replay, struct stet_error *err);

/** Tokens in the context of this reply, with the full history. */
size_t st_replay_full(const struct st_replay *replay);

/** Tokens in the context of this reply, with the snapshot. */
size_t st_replay_short(const struct st_replay *replay);

/** This reply's prompt with the snapshot, in the format of chat completions; valid until the next reply. */
const char *st_replay_prompt(const struct st_replay *replay, size_t *len);

/** The snapshot in that prompt; after the last reply, the snapshot at the end of the run. */
const char *st_replay_snapshot(const struct st_replay *replay, size_t *len);

/** One of the figures of enum st_replay_count. */
size_t st_replay_count(const struct st_replay *replay, int count);

#endif
