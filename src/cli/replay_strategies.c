/* The table of strategies: for each way to shorten a history, the part that remains, and its cost. */
#include <stdio.h>

#include "cli/replay.h"

struct grouped group_digits(size_t number) {
	struct grouped grouped;
	char digits[24];
	int len = snprintf(digits, sizeof digits, "%zu", number);
	char *at = grouped.text;
	for (int i = 0; i < len; i++) {
		if (i > 0 && (len - i) % 3 == 0)
			*at++ = ',';
		*at++ = digits[i];
	}
	*at = '\0';
	return grouped;
}

/* A strategy's name with its numbers. */
static void add_name(struct table *table, enum st_strategy strategy, const struct limits *limits) {
	if (strategy == ST_TAIL)
		table_addf(table, "last %s tokens", group_digits(limits->budget).text);
	else if (strategy == ST_STRICT)
		table_addf(table, "last exchange, %s", group_digits(limits->budget).text);
	else if (strategy == ST_EPOCHS)
		table_addf(table, "epochs, %s to %s", group_digits(limits->above).text,
		           group_digits(limits->to).text);
	else
		table_add(table, st_strategy_name(strategy));
}

static void add_value(struct table *table, enum st_column column, double value) {
	bool counts =
		column == ST_COLUMN_AVERAGE || column == ST_COLUMN_MOST || column == ST_COLUMN_LOOKUPS;
	if (value < 0)
		table_add(table, "-");
	else if (counts)
		table_add(table, group_digits((size_t)(value + 0.5)).text);
	else
		table_addf(table, column == ST_COLUMN_COST ? "%.2f" : "%.1f", value);
}

int replay_print_strategies(const struct st_summary *summary, const struct limits *limits) {
	struct table table = {.columns = ST_COLUMNS + 1, .right = 0x3fe, .heading = true};
	table_add(&table, "strategy");
	for (int i = 0; i < ST_COLUMNS; i++)
		table_add(&table, st_column_name((enum st_column)i));
	for (int i = 0; i < ST_STRATEGIES; i++) {
		add_name(&table, (enum st_strategy)i, limits);
		for (int j = 0; j < ST_COLUMNS; j++)
			add_value(&table, (enum st_column)j,
			          st_summary_value(summary, (enum st_strategy)i, (enum st_column)j));
	}
	int status = table_print(&table);
	if (status != DONE)
		return status;
	printf(
		"\n%zu %s, %zu %s. Sizes are estimated tokens.\nIn percent, of what the next "
		"calls use and the history has: names of files in view, old texts of\nedits in view as "
		"a whole, rare identifiers in view; calls without any in view; what the model said\n"
		"before the user's last request. Cost relative to the full history: a cached token "
		"costs %.1f,\nany other 1, and a turn that misses something one more turn and %s "
		"tokens.\n",
		summary->runs, plural(summary->runs, "run", "runs, weighted by their tokens"),
		summary->turns, plural(summary->turns, "turn", "turns"), ST_MEASURE_CACHED,
		group_digits(ST_MEASURE_LOOKUP).text);
	return DONE;
}

void replay_add_strategies(struct stet_json *json, const struct st_summary *summary) {
	static const char *const keys[] = {"full", "mask", "clear", "tail", "last", "epochs"};
	static const char *const names[] = {"average", "largest",     "paths",
	                                    "edits",   "identifiers", "ungrounded",
	                                    "ask",     "lookups",     "costPercent"};
	char pointer[64];
	for (int i = 0; i < ST_STRATEGIES; i++) {
		for (int j = 0; j < ST_COLUMNS; j++) {
			double value = st_summary_value(summary, (enum st_strategy)i, (enum st_column)j);
			snprintf(pointer, sizeof pointer, "/strategies/%s/%s", keys[i], names[j]);
			if (value >= 0)
				stet_json_set_int(json, pointer,
				                  (int64_t)(value * (j == ST_COLUMN_COST ? 100 : 1) + 0.5));
		}
	}
}
