/**
 * Measure by provenance what a shortened history still has. The actions of a
 * recorded run are held fixed: for each call, is what it uses in the prompt?
 *
 * paths        the name of the file that the call is about
 * edits        the whole old text of an edit, as the history has it
 * identifiers  the rare ones in the arguments: those of 5 to 64 characters that 1
 *              to 10 messages of the history contain
 * ungrounded   calls of which no rare identifier is in view
 * ask          what the model said right before the user's last request: its first
 *              and last 200 bytes
 *
 * Only what the full history has counts as a case; so it has 100 % of everything.
 * A turn with a call whose path or old text is missing, or that is ungrounded, is
 * a miss, and charged with one more turn, to look it up.
 *
 *     struct st_measure *measure = st_measure_new(&options, err);
 *     int code = st_measure_turn(measure, &turn, err);
 *     if (code == 0)
 *             code = st_measure_call(measure, "src/main.c", args, true, err);
 *     ... st_measure_figures(measure, ST_EPOCHS)->edits.hits ...
 *     st_measure_free(measure);
 */
#ifndef STET_EVAL_MEASURE_H
#define STET_EVAL_MEASURE_H

#include "eval/strategies.h"

/** The prices: of a token that the provider's cache has; of a look-up, in tokens of call and result. */
#define ST_MEASURE_CACHED 0.1
enum { ST_MEASURE_LOOKUP = 1000 };

struct st_measure_options {
	/** Tokens of ST_TAIL; of ST_EPOCHS, to cut above and to cut to. */
	size_t tail, above, to;
};

/** A proxy: so many cases, and of these so many in view. */
struct st_proxy {
	size_t cases;
	size_t hits;
};

struct st_figures {
	size_t turns;
	/** The tokens of all prompts together, and of the largest one. */
	size_t tokens;
	size_t most;
	struct st_proxy paths, edits, identifiers, grounded, ask;
	/** Turns that miss something. */
	size_t misses;
	/** In tokens at the full price. */
	double cost;
};

struct st_measure;

/** Returns NULL, with the error set, if out of memory. */
struct st_measure *st_measure_new(const struct st_measure_options *options, struct stet_error *err);
void st_measure_free(struct st_measure *measure);

/** End the turn before, and begin one: make its prompts. Returns 0, STET_E_INVALID or STET_E_NOMEM. */
[[nodiscard]] int st_measure_turn(struct st_measure *measure, const struct st_turn *turn,
                                  struct stet_error *err);

/**
 * A call of the current turn.
 *
 * @path   The file that it is about; may be empty.
 * @args   Its arguments.
 * @edits  It edits a part of the file.
 * @return 0 or STET_E_NOMEM.
 */
[[nodiscard]] int st_measure_call(struct st_measure *measure, struct st_str path, yyjson_val *args,
                                  bool edits, struct stet_error *err);

/** End the last turn. */
void st_measure_end(struct st_measure *measure);

/** The figures up to the end of the last turn that has ended. */
const struct st_figures *st_measure_figures(const struct st_measure *measure,
                                            enum st_strategy strategy);

/** The prompt of this turn, of one strategy. */
const struct st_shortener *st_measure_prompt(const struct st_measure *measure,
                                             enum st_strategy strategy);

/** Tokens of the whole history. */
size_t st_measure_tokens(const struct st_measure *measure);

#endif
