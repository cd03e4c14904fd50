/**
 * The ways to shorten a history that the measure compares. Each takes a history as
 * passages and gives the passages of the prompt.
 *
 * full     everything
 * mask     the text of all but the last 10 results is left out
 * clear    as Anthropic's context editing: once the prompt has 100,000 tokens, the
 *          texts of all but the last 3 results are left out, for good
 * tail     the last tokens of the history, blindly
 * strict   as stet compact --keep last: snapshot and last exchange, in every turn
 * epochs   ours: append, and cut once when the prompt is too long
 *
 *     struct st_shortener shortener = {.strategy = ST_MASK};
 *     int code = st_shortener_turn(&shortener, &history, &turn, err);
 *     ... shortener.prompt[0] ... shortener.count ...
 *     st_shortener_release(&shortener);
 */
#ifndef STET_EVAL_STRATEGIES_H
#define STET_EVAL_STRATEGIES_H

#include "eval/passage.h"

enum st_strategy {
	ST_FULL,
	ST_MASK,
	ST_CLEAR,
	ST_TAIL,
	ST_STRICT,
	ST_EPOCHS,
	ST_STRATEGIES,
};

/** The name of a strategy, as in the table. */
const char *st_strategy_name(enum st_strategy strategy);

/** All messages of a run so far. */
struct st_history {
	struct st_passage *items;
	size_t count;
};

/** The additions of a turn. */
struct st_turn {
	/** The messages since the last turn, as the elements of a JSON array; may begin with a comma. */
	struct st_str delta;
	struct st_str snapshot;
	/** The paths of the files in the snapshot, one a line. */
	struct st_str verified;
	/** The prompt of the strict form. */
	struct st_str strict;
};

struct st_shortener {
	enum st_strategy strategy;
	/** Tokens: of ST_TAIL; of ST_EPOCHS, to cut above and to cut to. */
	size_t tail, above, to;
	/** The prompt of this turn. */
	const struct st_passage **prompt;
	size_t count;
	size_t tokens;
	/** So many tokens at its beginning are as in the prompt before. */
	size_t cached;
	/** Of ST_EPOCHS: the prompt as JSON. */
	struct st_buf list;
	/** How often ST_EPOCHS cut. */
	size_t cuts;
	/* Private: passages that are not the history's, the last prompt's sums, results cleared. */
	struct st_passage *own;
	size_t own_count;
	uint64_t *before;
	size_t before_count;
	size_t cleared;
};

/** Make the prompt of a turn. Returns 0, STET_E_INVALID or STET_E_NOMEM. */
[[nodiscard]] int st_shortener_turn(struct st_shortener *shortener,
                                    const struct st_history *history, const struct st_turn *turn,
                                    struct stet_error *err);
void st_shortener_release(struct st_shortener *shortener);

/** Whether a strategy changes the middle of the prompt in every turn, so that only its beginning is cached. */
bool st_strategy_rewrites(enum st_strategy strategy);

#endif
