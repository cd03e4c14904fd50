/**
 * The figures of one or several measured runs as a table has them: each run
 * weighs as many times as its history has tokens.
 *
 *     struct st_summary summary = {0};
 *     st_summary_add(&summary, st_replay_measured(replay));
 *     double whole = st_summary_value(&summary, ST_EPOCHS, ST_COLUMN_EDITS);
 */
#ifndef STET_EVAL_SUMMARY_H
#define STET_EVAL_SUMMARY_H

#include "eval/measure.h"

enum st_column {
	/** Tokens of the average prompt, and of the largest. */
	ST_COLUMN_AVERAGE,
	ST_COLUMN_MOST,
	/** In percent. */
	ST_COLUMN_PATHS,
	ST_COLUMN_EDITS,
	ST_COLUMN_IDENTIFIERS,
	ST_COLUMN_UNGROUNDED,
	ST_COLUMN_ASK,
	/** Turns that need a look-up, of all runs together. */
	ST_COLUMN_LOOKUPS,
	/** Relative to the full history, which is cached. */
	ST_COLUMN_COST,
	ST_COLUMNS,
};

struct st_summary {
	size_t runs;
	size_t turns;
	/* Private: sums of weighted values, and of the weights of the runs that have cases. */
	double sums[ST_STRATEGIES][ST_COLUMNS];
	double weights[ST_STRATEGIES][ST_COLUMNS];
};

/** The heading of a column. */
const char *st_column_name(enum st_column column);

/** Add a measured run, which has ended. */
void st_summary_add(struct st_summary *summary, const struct st_measure *measure);

/** A value; negative if there are no cases. */
double st_summary_value(const struct st_summary *summary, enum st_strategy strategy,
                        enum st_column column);

#endif
