/* stet replay: replay recorded runs, with their full history and with shorter ones. */
#include <errno.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/replay.h"

static size_t run_count(const struct run *run, int count) {
	return st_replay_count(run->replay, count);
}

static int add_turn(struct run *run) {
	struct turn *turns = reallocarray(run->turns, run->count + 1, sizeof *turns);
	if (!turns)
		return report_nomem();
	run->turns = turns;
	const struct st_measure *measure = st_replay_measured(run->replay);
	run->turns[run->count++] =
		(struct turn){.full = st_measure_prompt(measure, ST_FULL)->tokens,
	                  .small = st_replay_short(run->replay),
	                  .epochs = st_measure_prompt(measure, ST_EPOCHS)->tokens};
	return DONE;
}

static double now(void) {
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* ---- the workspace ---- */

static int open_stage(struct run *run) {
	struct stet_error err = {0};
	const char *parent = getenv("TMPDIR");
	snprintf(run->dir, sizeof run->dir, "%s/stet-replay-XXXXXX",
	         parent && *parent ? parent : "/tmp");
	if (!mkdtemp(run->dir)) {
		int status = report_as(STET_E_IO, "Cannot create %s for the replay: %s. Set TMPDIR.",
		                       run->dir, strerror(errno));
		run->dir[0] = '\0';
		return status;
	}
	return st_replay_stage(run->replay, run->dir, &err) < 0 ? report(&err) : DONE;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at) {
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

static void remove_stage(const struct run *run) {
	if (run->dir[0] && nftw(run->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0)
		complain("Cannot remove %s.", run->dir);
}

static int restart_stage(struct run *run) {
	struct stet_error err = {0};
	int code = st_replay_restart(run->replay, &err);
	if (code < 0)
		return report(&err);
	run->restart.turn = run->count;
	run->restart.same = code == 1;
	run->restart.staged = run_count(run, ST_REPLAY_STAGED);
	return DONE;
}

/* Whether a turn was needed is known when the next one begins. */
static void judge_turn(struct run *run, size_t *needless) {
	size_t count = run_count(run, ST_REPLAY_NEEDLESS);
	if (run->count > 0)
		run->turns[run->count - 1].needless = count > *needless;
	*needless = count;
}

static int play_turns(struct run *run) {
	struct stet_error err = {0};
	size_t half = (run_count(run, ST_REPLAY_TOTAL) + 1) / 2, needless = 0;
	int code, status = DONE;
	while (status == DONE && (code = st_replay_next(run->replay, &err)) > 0) {
		judge_turn(run, &needless);
		status = add_turn(run);
		if (status == DONE && run->count == half)
			status = restart_stage(run);
		progress_count(run->count);
	}
	if (status != DONE)
		return status;
	judge_turn(run, &needless);
	if (code == 0)
		code = st_replay_verify(run->replay, &run->restart.wrong, &err);
	return code < 0 ? report(&err) : DONE;
}

static int play(struct run *run) {
	double from = now();
	progress_begin("Replaying");
	int status = open_stage(run);
	if (status == DONE)
		status = play_turns(run);
	progress_end();
	run->seconds = now() - from;
	return status;
}

/* ---- the report ---- */

size_t replay_most(const struct run *run, bool full) {
	size_t most = 0;
	for (size_t i = 0; i < run->count; i++) {
		size_t tokens = full ? run->turns[i].full : run->turns[i].small;
		most = tokens > most ? tokens : most;
	}
	return most;
}

static size_t turn_tokens(const struct turn *turn, int line) {
	return line == 0 ? turn->full : line == 1 ? turn->small : turn->epochs;
}

/* Print a line of up to 60 bars, each the maximum of its share of the turns. */
static void print_spark(const struct run *run, const char *title, int line, size_t scale) {
	size_t bars = run->count < 60 ? run->count : 60;
	printf("%s  ", title);
	for (size_t i = 0; i < bars; i++) {
		size_t top = 0;
		for (size_t j = i * run->count / bars; j < (i + 1) * run->count / bars; j++) {
			size_t tokens = turn_tokens(&run->turns[j], line);
			top = tokens > top ? tokens : top;
		}
		printf("\xe2\x96%c", (int)(0x81 + (scale ? top * 7 / scale : 0)));
	}
	printf("  %s\n", group_digits(turn_tokens(&run->turns[run->count - 1], line)).text);
}

/* Print the turns 1, 2, 4, 8 ... and the last. */
static bool is_shown(size_t turn, size_t count) {
	return turn == count || (turn & (turn - 1)) == 0;
}

static void add_saved(struct table *table, const struct turn *turn) {
	double percent = 100.0 - 100.0 * (double)turn->epochs / (double)(turn->full ? turn->full : 1);
	if (percent < -0.5)
		table_add(table, "larger");
	else
		table_addf(table, "%.0f %%", percent < 0 ? 0 : percent);
}

static int print_turns(const struct run *run) {
	struct table table = {.columns = 5, .right = 0x1f, .heading = true};
	table_add(&table, "turn");
	table_add(&table, "full history");
	table_add(&table, "last exchange");
	table_add(&table, "epochs");
	table_add(&table, "saved");
	for (size_t i = 0; i < run->count; i++) {
		const struct turn *turn = &run->turns[i];
		if (!is_shown(i + 1, run->count))
			continue;
		table_addf(&table, "%zu", i + 1);
		table_add(&table, group_digits(turn->full).text);
		table_add(&table, group_digits(turn->small).text);
		table_add(&table, group_digits(turn->epochs).text);
		add_saved(&table, turn);
	}
	return table_print(&table);
}

static void add_metric(struct table *table, const char *name, const char *was, const char *is,
                       bool good) {
	table_add(table, name);
	table_add(table, was);
	table_add(table, is);
	table_add(table, good ? "yes" : "no");
}

static void add_restart(struct table *table, const struct run *run) {
	const struct restart *restart = &run->restart;
	size_t refused = run_count(run, ST_REPLAY_REFUSED), staged = run_count(run, ST_REPLAY_STAGED);
	char is[200];
	snprintf(is, sizeof is, "%s state at turn %zu, %zu %s refused, %zu of %zu %s right",
	         restart->same ? "same" : "another", restart->turn, refused,
	         plural(refused, "write", "writes"), staged - restart->wrong, staged,
	         plural(staged, "file", "files"));
	add_metric(table, "restart is clean", "-", staged ? is : "no whole file to test it with",
	           restart->same && refused == 0 && restart->wrong == 0);
	if (staged == 0) {
		free(table->cells[table->count - 1]);
		table->cells[table->count - 1] = strdup("-");
	}
}

/*
 * A model's time depends on the turns and the tokens it reads; stet's own is
 * measured. A turn that misses something is counted with one more, to look it up.
 */
static void add_time(struct table *table, const struct run *run) {
	const struct st_figures *figures =
		st_measure_figures(st_replay_measured(run->replay), ST_STRICT);
	size_t full = 0, small = 0, turns = 0;
	char was[96], is[160];
	for (size_t i = 0; i < run->count; i++) {
		full += run->turns[i].full;
		small += run->turns[i].needless ? 0 : run->turns[i].small;
		turns += !run->turns[i].needless;
	}
	if (run->count)
		small += figures->misses * (figures->tokens / run->count + ST_MEASURE_LOOKUP);
	snprintf(was, sizeof was, "%zu %s, %s tokens", run->count, plural(run->count, "turn", "turns"),
	         group_digits(full).text);
	snprintf(is, sizeof is, "%zu %s and %zu to look up, %s tokens; %.2f s in stet", turns,
	         plural(turns, "turn", "turns"), figures->misses, group_digits(small).text,
	         run->seconds);
	add_metric(table, "completion time", was, is, small <= full);
}

static int print_metrics(const struct run *run) {
	char was[64], is[160];
	struct table table = {.columns = 4, .heading = true};
	size_t writes = run_count(run, ST_REPLAY_WRITES), files = run_count(run, ST_REPLAY_WRITTEN);
	size_t same = run_count(run, ST_REPLAY_IDENTICAL), near = run_count(run, ST_REPLAY_NEARLY);
	size_t needed = writes - same - near;
	add_metric(&table, "metric", "recorded", "last exchange", true);
	free(table.cells[3]);
	table.cells[3] = strdup("met");
	snprintf(was, sizeof was, "%zu %s of %zu %s", writes, plural(writes, "write", "writes"), files,
	         plural(files, "file", "files"));
	snprintf(is, sizeof is, "%zu %s", needed, plural(needed, "write", "writes"));
	add_metric(&table, "one write per unique file", was, is, needed <= files);
	snprintf(was, sizeof was, "up to %s tokens", group_digits(replay_most(run, true)).text);
	snprintf(is, sizeof is, "up to %s tokens", group_digits(replay_most(run, false)).text);
	add_metric(&table, "every turn in the budget", was, is,
	           replay_most(run, false) <= run->limits.budget);
	size_t unsaid = run_count(run, ST_REPLAY_UNSAID);
	snprintf(is, sizeof is, "%zu of %zu %s; %zu cut, marked", unsaid, run->count,
	         plural(run->count, "prompt hides one", "prompts hide one"),
	         run_count(run, ST_REPLAY_CUT));
	add_metric(&table, "nothing lost silently", "-", is, unsaid == 0);
	add_restart(&table, run);
	add_time(&table, run);
	return table_print(&table);
}

static int print_report(const struct run *run) {
	size_t full = replay_most(run, true), small = replay_most(run, false);
	size_t scale = full > small ? full : small;
	int status = print_turns(run);
	if (status != DONE)
		return status;
	printf("\n");
	print_spark(run, "full history ", 0, scale);
	print_spark(run, "last exchange", 1, scale);
	print_spark(run, "epochs       ", 2, scale);
	size_t files = run_count(run, ST_REPLAY_FILES), writes = run_count(run, ST_REPLAY_WRITES);
	size_t edits = run_count(run, ST_REPLAY_EDITS);
	printf(
		"\n%zu %s touched. %zu %s: %zu identical (no-ops), %zu nearly identical while the "
		"snapshot named the file.\n%zu %s: %zu failed, %zu of files that somebody else had "
		"changed.\n\n",
		files, plural(files, "file", "files"), writes, plural(writes, "write", "writes"),
		run_count(run, ST_REPLAY_IDENTICAL), run_count(run, ST_REPLAY_NEARLY), edits,
		plural(edits, "edit", "edits"), run_count(run, ST_REPLAY_FAILED),
		run_count(run, ST_REPLAY_STALE));
	status = print_metrics(run);
	if (status != DONE)
		return status;
	struct st_summary summary = {0};
	st_summary_add(&summary, st_replay_measured(run->replay));
	printf("\n");
	return replay_print_strategies(&summary, &run->limits);
}

static int print_report_json(const struct run *run, bool snapshot) {
	struct stet_json *json = stet_json_new();
	static const char *const names[] = {
		"/turns",  "/files", "/filesWritten", "/writes", "/identical", "/nearly", "/edits",
		"/failed", "/stale", "/cut",          "/unsaid", "/needless",  "/staged", "/refused"};
	if (!json)
		return report_nomem();
	for (int i = 0; i <= ST_REPLAY_REFUSED; i++)
		stet_json_set_int(json, names[i], (int64_t)run_count(run, i));
	stet_json_set_int(json, "/restart/turn", (int64_t)run->restart.turn);
	stet_json_set_bool(json, "/restart/same", run->restart.same);
	stet_json_set_int(json, "/restart/wrong", (int64_t)run->restart.wrong);
	for (size_t i = 0; i < run->count; i++) {
		stet_json_set_int(json, "/full/-", (int64_t)run->turns[i].full);
		stet_json_set_int(json, "/snapshot/-", (int64_t)run->turns[i].small);
		stet_json_set_int(json, "/epochs/-", (int64_t)run->turns[i].epochs);
	}
	struct st_summary summary = {0};
	st_summary_add(&summary, st_replay_measured(run->replay));
	replay_add_strategies(json, &summary);
	size_t len = 0;
	const char *text = st_replay_snapshot(run->replay, &len);
	if (snapshot)
		stet_json_set_text(json, "/lastSnapshot", text, len);
	int status = put_json(json);
	stet_json_free(json);
	return status;
}

static int show_run(const struct options *options, const struct arguments *args,
                    const struct run *run) {
	const char *svg = option_value(args, "--svg");
	bool snapshot = has_option(args, "--snapshot");
	if (run->count == 0)
		return report_as(STET_E_INVALID, "The run has no turns.");
	/* Draw before printing, so that an error can still be the answer to --json. */
	int status = svg ? replay_draw(run, svg) : DONE;
	if (status == DONE)
		status = options->json ? print_report_json(run, snapshot) : print_report(run);
	if (status == DONE && snapshot && !options->json) {
		size_t len = 0;
		const char *text = st_replay_snapshot(run->replay, &len);
		put(stdout, "\n", 1);
		put_line(stdout, text, len);
	}
	return status == DONE ? done() : status;
}

/* Open a run, and measure it. */
static int open_run(struct run *run, const char *file, const char *rows, size_t len) {
	struct stet_error err = {0};
	const char *slash = strrchr(file, '/');
	snprintf(run->name, sizeof run->name, "%s", slash ? slash + 1 : file);
	char *ending = strstr(run->name, ".jsonl");
	if (ending)
		*ending = '\0';
	int code = st_replay_open(rows, len, &run->replay, &err);
	if (code == 0) {
		st_replay_budget(run->replay, run->limits.budget);
		code = st_replay_measure(run->replay, run->limits.above, run->limits.to, &err);
	}
	return code < 0 ? report(&err) : DONE;
}

static int play_one(const struct options *options, const struct arguments *args,
                    const struct limits *limits) {
	struct run run = {.limits = *limits};
	char *rows = NULL;
	size_t len = 0;
	int status = slurp(operand(args, 0), &rows, &len);
	if (status == DONE)
		status = open_run(&run, operand(args, 0), rows, len);
	if (status == DONE)
		status = play(&run);
	if (status == DONE)
		status = show_run(options, args, &run);
	st_replay_close(run.replay);
	remove_stage(&run);
	free(run.turns);
	free(rows);
	return status;
}

/* Add one of several runs to the summary, unless it never gets as long as an epoch. */
static int add_run(struct st_summary *summary, const char *file, const struct limits *limits) {
	struct stet_error err = {0};
	struct run run = {.limits = *limits};
	char *rows = NULL;
	size_t len = 0;
	int code = 0, status = slurp(file, &rows, &len);
	if (status == DONE)
		status = open_run(&run, file, rows, len);
	while (status == DONE && (code = st_replay_next(run.replay, &err)) > 0)
		progress_count(summary->runs);
	if (code < 0)
		status = report(&err);
	if (status == DONE && st_measure_tokens(st_replay_measured(run.replay)) >= run.limits.above)
		st_summary_add(summary, st_replay_measured(run.replay));
	st_replay_close(run.replay);
	free(rows);
	return status;
}

static int compare_runs(const struct options *options, const struct arguments *args,
                        const struct limits *limits) {
	struct st_summary summary = {0};
	int status = DONE;
	if (option_value(args, "--svg") || has_option(args, "--snapshot"))
		return report_as(STET_E_INVALID, "--svg and --snapshot take a single FILE.");
	progress_begin("Replaying");
	for (int i = 0; i < args->count && status == DONE; i++)
		status = add_run(&summary, operand(args, i), limits);
	progress_end();
	if (status == DONE && summary.runs == 0)
		return report_as(STET_E_INVALID, "None of the runs has %s tokens. Give a smaller --above.",
		                 group_digits(limits->above).text);
	if (status != DONE)
		return status;
	if (!options->json)
		return replay_print_strategies(&summary, limits) == DONE ? done() : SYSTEM;
	struct stet_json *json = stet_json_new();
	if (!json)
		return report_nomem();
	stet_json_set_int(json, "/runs", (int64_t)summary.runs);
	stet_json_set_int(json, "/turns", (int64_t)summary.turns);
	replay_add_strategies(json, &summary);
	status = put_json(json);
	stet_json_free(json);
	return status == DONE ? done() : status;
}

static int run_replay(const struct options *options, const struct arguments *args) {
	int64_t budget = 0, above = 0, to = 0;
	int status = option_number(args, "--budget", 1000, 100000000, 5000, &budget);
	if (status == DONE)
		status = option_number(args, "--above", 2000, 100000000, 24000, &above);
	if (status == DONE)
		status = option_number(args, "--to", 1000, 100000000, above / 4, &to);
	if (status == DONE && to >= above)
		status = report_as(STET_E_INVALID, "--to %zu is not below --above %zu.", (size_t)to,
		                   (size_t)above);
	if (status != DONE)
		return status;
	const struct limits limits = {(size_t)budget, (size_t)above, (size_t)to};
	return args->count > 1 ? compare_runs(options, args, &limits)
	                       : play_one(options, args, &limits);
}

static const struct option options[] = {
	{"--svg", "FILE", "draw the curves into FILE"},
	{"--budget", "N", "how many tokens a prompt with the last exchange may have (5000)"},
	{"--above", "N", "epochs: cut a prompt that has more tokens than this (24000)"},
	{"--to", "N", "epochs: cut it to this number of tokens (a quarter)"},
	{"--snapshot", NULL, "print the snapshot after the last turn as well"},
	OPTIONS_END,
};

const struct command replay_command = {
	.name = "replay",
	.summary = "measure what shorter histories keep and save in recorded runs",
	.synopsis = "FILE...",
	.description =
		"Replays a recorded run of an agent, turn by turn, and shows the tokens of its context "
		"with the full history, with the last exchange and a snapshot, and with epochs (see stet "
		"compact), the redundant writes, the stale edits, and metrics of success. stet writes the "
		"agent's files in a temporary workspace (in TMPDIR), which it closes and opens again in "
		"the "
		"middle of the run.\n\n"
		"A second table compares ways to shorten a history: for each call that the agent made, is "
		"what it uses in the prompt? It shows that, and the cost at the prices of a provider's "
		"cache. With several FILEs, it is the only table, over all runs that have more than "
		"--above "
		"tokens.\n\n"
		"FILE (- for standard input) has a JSON object in each line: turn, tool (or system, user, "
		"assistant, disk), op (read, write, edit and others), args, result_text, path, tokens.",
	.min = 1,
	.max = -1,
	.options = options,
	.examples =
		(const struct example[]){
			{"stet replay run.jsonl", "tables and curves"},
			{"stet replay --svg run.svg run.jsonl", "draw the curves too"},
			{"stet replay --above 5000 --to 2500 run.jsonl", "cut within a small budget"},
			{0},
		},
	.run = run_replay,
};
