/* What shortened histories still have: by hand, and on recorded runs. */
#include "eval/measure.h"

#include "eval/replay.h"
#include "eval/summary.h"
#include "lib/corpus.h"
#include "lib/npm.h"

/* ---- by hand ---- */

/* So much text that the tail and the newest exchange push the beginning out. */
static void add_filler(struct st_buf *rows, int turn) {
	st_buf_addf(rows,
	            "{\"turn\":%d,\"tool\":\"bash\",\"op\":\"bash\",\"args\":{\"command\":\"seq\"},"
	            "\"result_text\":\"",
	            turn);
	for (int i = 0; i < 6000; i++)
		st_buf_addf(rows, "%d ", i);
	st_buf_adds(rows, "\"}\n");
}

static void add_row(struct st_buf *rows, int turn, const char *rest) {
	st_buf_addf(rows, "{\"turn\":%d,%s}\n", turn, rest);
}

static struct st_replay *measure_rows(struct st_str rows, size_t above, size_t to) {
	struct st_replay *replay = NULL;
	struct stet_error err = {0};
	int code = st_replay_open(rows.ptr, rows.len, &replay, &err);
	if (code == 0)
		code = st_replay_measure(replay, above, to, &err);
	while (code >= 0 && (code = st_replay_next(replay, &err)) > 0)
		;
	if (code < 0)
		fail_msg("%s", err.message);
	return replay;
}

static void expect(const struct st_proxy *proxy, size_t hits, size_t cases) {
	assert_int_equal(proxy->cases, cases);
	assert_int_equal(proxy->hits, hits);
}

static void what_a_call_uses_is_found_or_missed(void **state) {
	(void)state;
	st_auto(st_buf) rows = ST_BUF_INIT;
	add_row(&rows, 1, "\"tool\":\"assistant\",\"result_text\":\"Shall I rename it?\"");
	add_row(&rows, 1,
	        "\"tool\":\"read\",\"op\":\"read\",\"path\":\"/w/src/main.c\",\"args\":{\"path\":"
	        "\"/w/src/main.c\"},\"result_text\":\"  12\\u2192int first_line;\\n  13\\u2192\\tint "
	        "second_line;\\n\"");
	add_row(&rows, 2, "\"tool\":\"assistant\",\"result_text\":\"Shall I rename it now?\"");
	add_row(&rows, 3, "\"tool\":\"user\",\"result_text\":\"do it\"");
	add_filler(&rows, 3);
	/* The old text is in view as it stands in the file, without the numbers of its lines. */
	add_row(&rows, 4,
	        "\"tool\":\"edit\",\"op\":\"edit\",\"path\":\"/w/src/main.c\",\"args\":{\"path\":"
	        "\"/w/src/main.c\",\"oldText\":\"first_line;\\n\\tint second_line;\",\"newText\":"
	        "\"int brand_new;\"},\"result_text\":\"ok\"");
	/* New to the history: no case. */
	add_row(&rows, 5,
	        "\"tool\":\"edit\",\"op\":\"edit\",\"path\":\"/w/other.c\",\"args\":{\"path\":"
	        "\"/w/other.c\",\"oldText\":\"never_seen\",\"newText\":\"\"},\"result_text\":\"ok\"");
	struct st_replay *replay = measure_rows(st_buf_str(&rows), 24000, 6000);
	const struct st_measure *measure = st_replay_measured(replay);
	const struct st_figures *full = st_measure_figures(measure, ST_FULL);
	const struct st_figures *tail = st_measure_figures(measure, ST_TAIL);
	assert_int_equal(full->turns, 5);
	expect(&full->edits, 1, 1);
	expect(&full->paths, 1, 1);
	/* Turns 3 to 5 have a request before them, and words before that. */
	expect(&full->ask, 3, 3);
	expect(&full->grounded, 1, 1);
	assert_int_equal(full->misses, 0);
	/* Its 5,000 tokens are the filler and what came later. */
	expect(&tail->edits, 0, 1);
	expect(&tail->paths, 0, 1);
	expect(&tail->ask, 1, 3);
	expect(&tail->grounded, 0, 1);
	assert_int_equal(tail->misses, 1);
	/* Ours is below 24,000 tokens: the whole history. */
	assert_int_equal(st_measure_figures(measure, ST_EPOCHS)->tokens, full->tokens);
	assert_true(st_measure_figures(measure, ST_EPOCHS)->cost == full->cost);
	st_replay_close(replay);
}

static void a_cached_prefix_costs_a_tenth(void **state) {
	(void)state;
	st_auto(st_buf) rows = ST_BUF_INIT;
	add_filler(&rows, 1);
	add_row(&rows, 2,
	        "\"tool\":\"bash\",\"op\":\"bash\",\"args\":{\"command\":\"ls\"},\"result_text\":\"\"");
	struct st_replay *replay = measure_rows(st_buf_str(&rows), 24000, 6000);
	const struct st_measure *measure = st_replay_measured(replay);
	const struct st_shortener *prompt = st_measure_prompt(measure, ST_FULL);
	const struct st_figures *full = st_measure_figures(measure, ST_FULL);
	/* The first prompt is empty, the second has the filler. */
	assert_int_equal(prompt->cached, 0);
	assert_true(full->cost == (double)full->tokens);
	st_replay_close(replay);
	add_row(&rows, 3,
	        "\"tool\":\"bash\",\"op\":\"bash\",\"args\":{\"command\":\"ls\"},\"result_text\":\"\"");
	replay = measure_rows(st_buf_str(&rows), 24000, 6000);
	measure = st_replay_measured(replay);
	prompt = st_measure_prompt(measure, ST_FULL);
	full = st_measure_figures(measure, ST_FULL);
	assert_true(prompt->cached > 5000 && prompt->cached < prompt->tokens);
	assert_true(full->cost < 0.6 * (double)full->tokens);
	st_replay_close(replay);
}

static void without_cases_there_is_no_figure(void **state) {
	(void)state;
	st_auto(st_buf) rows = ST_BUF_INIT;
	struct st_summary summary = {0};
	add_row(&rows, 1,
	        "\"tool\":\"bash\",\"op\":\"bash\",\"args\":{\"command\":\"ls\"},\"result_text\":\"\"");
	struct st_replay *replay = measure_rows(st_buf_str(&rows), 24000, 6000);
	st_summary_add(&summary, st_replay_measured(replay));
	assert_true(st_summary_value(&summary, ST_EPOCHS, ST_COLUMN_EDITS) < 0);
	assert_true(st_summary_value(&summary, ST_EPOCHS, ST_COLUMN_ASK) < 0);
	assert_int_equal(summary.runs, 1);
	st_replay_close(replay);
}

/* ---- recorded runs ---- */

struct recorded {
	size_t above, to;
	struct st_summary summary;
	struct counter counter;
};

/* Keep the prompts that are near the limit, to be counted. */
static void add_prompt(struct recorded *recorded, const struct st_shortener *prompt) {
	if (prompt->tokens * 20 > recorded->above * 19)
		counter_add(&recorded->counter, st_buf_str(&prompt->list));
}

static void measure_run(void *data, const char *name, struct st_str rows) {
	struct recorded *recorded = data;
	struct st_replay *replay = NULL;
	struct stet_error err = {0};
	int code = st_replay_open(rows.ptr, rows.len, &replay, &err);
	(void)name;
	if (code == 0)
		code = st_replay_measure(replay, recorded->above, recorded->to, &err);
	while (code >= 0 && (code = st_replay_next(replay, &err)) > 0)
		add_prompt(recorded, st_measure_prompt(st_replay_measured(replay), ST_EPOCHS));
	if (code < 0)
		fail_msg("%s", err.message);
	if (st_measure_tokens(st_replay_measured(replay)) >= recorded->above)
		st_summary_add(&recorded->summary, st_replay_measured(replay));
	st_replay_close(replay);
}

static void print_strategy(const struct st_summary *summary, enum st_strategy strategy) {
	print_message("# %s:", st_strategy_name(strategy));
	for (int i = 0; i < ST_COLUMNS; i++)
		print_message(" %s %.2f", st_column_name((enum st_column)i),
		              st_summary_value(summary, strategy, (enum st_column)i));
	print_message("\n");
}

/* Play all runs, and print what they show. */
static void measure_runs(struct recorded *recorded) {
	corpus_each_run(measure_run, recorded);
	for (int i = 0; i < ST_STRATEGIES; i++)
		print_strategy(&recorded->summary, (enum st_strategy)i);
}

static double epochs_value(const struct recorded *recorded, enum st_column column) {
	return st_summary_value(&recorded->summary, ST_EPOCHS, column);
}

/* No prompt is longer than the limit, by the real tokenizer. */
static void check_limit(struct recorded *recorded, const struct dir *dir) {
	size_t most = 0;
	assert_true(epochs_value(recorded, ST_COLUMN_MOST) <= (double)recorded->above);
	counter_run(&recorded->counter, dir);
	for (size_t i = 0; i < recorded->counter.count; i++)
		most = recorded->counter.counts[i] > most ? recorded->counter.counts[i] : most;
	print_message("# %zu prompts counted, at most %zu of %zu tokens\n", recorded->counter.count,
	              most, recorded->above);
	assert_true(most <= recorded->above);
	counter_release(&recorded->counter);
}

/*
 * We aim at 80 % of edits. These runs read files of up to 11,000 tokens in a row and edit them 30,000
 * tokens later: even the last 24,000 tokens in every turn have less.
 */
static void epochs_of_24000_tokens_keep_most_for_a_third_of_the_cost(void **state) {
	struct dir *dir = *state;
	struct recorded recorded = {.above = 24000, .to = 6000};
	measure_runs(&recorded);
	assert_true(epochs_value(&recorded, ST_COLUMN_EDITS) >= 70);
	assert_true(epochs_value(&recorded, ST_COLUMN_UNGROUNDED) <= 4);
	assert_true(epochs_value(&recorded, ST_COLUMN_ASK) >= 98);
	assert_true(epochs_value(&recorded, ST_COLUMN_COST) <= 0.3);
	check_limit(&recorded, dir);
}

static void epochs_of_5000_tokens_cost_a_fifth(void **state) {
	struct dir *dir = *state;
	struct recorded recorded = {.above = 5000, .to = 2500};
	measure_runs(&recorded);
	assert_true(epochs_value(&recorded, ST_COLUMN_EDITS) >= 46);
	assert_true(epochs_value(&recorded, ST_COLUMN_ASK) >= 95);
	assert_true(epochs_value(&recorded, ST_COLUMN_COST) <= 0.2);
	check_limit(&recorded, dir);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_call_uses_is_found_or_missed),
		cmocka_unit_test(a_cached_prefix_costs_a_tenth),
		cmocka_unit_test(without_cases_there_is_no_figure),
		claim(epochs_of_24000_tokens_keep_most_for_a_third_of_the_cost),
		claim(epochs_of_5000_tokens_cost_a_fifth),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
