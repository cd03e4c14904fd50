#include "eval/summary.h"

const char *st_column_name(enum st_column column) {
	static const char *const names[] = {"average",    "largest", "paths",    "edits", "identifiers",
	                                    "ungrounded", "ask",     "look-ups", "cost"};
	return names[column];
}

static void add_value(struct st_summary *summary, enum st_strategy strategy, enum st_column column,
                      double weight, double value) {
	summary->sums[strategy][column] += weight * value;
	summary->weights[strategy][column] += weight;
}

static void add_proxy(struct st_summary *summary, enum st_strategy strategy, enum st_column column,
                      double weight, const struct st_proxy *proxy) {
	if (proxy->cases == 0)
		return;
	double percent = 100 * (double)proxy->hits / (double)proxy->cases;
	add_value(summary, strategy, column, weight,
	          column == ST_COLUMN_UNGROUNDED ? 100 - percent : percent);
}

static void add_strategy(struct st_summary *summary, const struct st_measure *measure,
                         enum st_strategy strategy) {
	const struct st_figures *figures = st_measure_figures(measure, strategy);
	const struct st_figures *full = st_measure_figures(measure, ST_FULL);
	double weight = (double)st_measure_tokens(measure), most = (double)figures->most;
	double *largest = &summary->sums[strategy][ST_COLUMN_MOST];
	if (figures->turns == 0)
		return;
	add_value(summary, strategy, ST_COLUMN_AVERAGE, weight,
	          (double)figures->tokens / (double)figures->turns);
	*largest = most > *largest ? most : *largest;
	add_proxy(summary, strategy, ST_COLUMN_PATHS, weight, &figures->paths);
	add_proxy(summary, strategy, ST_COLUMN_EDITS, weight, &figures->edits);
	add_proxy(summary, strategy, ST_COLUMN_IDENTIFIERS, weight, &figures->identifiers);
	add_proxy(summary, strategy, ST_COLUMN_UNGROUNDED, weight, &figures->grounded);
	add_proxy(summary, strategy, ST_COLUMN_ASK, weight, &figures->ask);
	summary->sums[strategy][ST_COLUMN_LOOKUPS] += (double)figures->misses;
	if (full->cost > 0)
		add_value(summary, strategy, ST_COLUMN_COST, weight, figures->cost / full->cost);
}

void st_summary_add(struct st_summary *summary, const struct st_measure *measure) {
	for (int i = 0; i < ST_STRATEGIES; i++)
		add_strategy(summary, measure, (enum st_strategy)i);
	summary->runs++;
	summary->turns += st_measure_figures(measure, ST_FULL)->turns;
}

double st_summary_value(const struct st_summary *summary, enum st_strategy strategy,
                        enum st_column column) {
	double sum = summary->sums[strategy][column], weight = summary->weights[strategy][column];
	if (column == ST_COLUMN_MOST || column == ST_COLUMN_LOOKUPS)
		return sum;
	return weight > 0 ? sum / weight : -1;
}
