/* stet replay: replay a recorded run, with its full history and with snapshots. */
#include <errno.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/cli.h"
#include "eval/replay.h"

struct turn {
	/* Tokens of the prompt with the full history, and with a snapshot. */
	size_t full;
	size_t small;
	/* The agent only wrote what the files already had. */
	bool needless;
};

/* The result of closing and reopening the workspace in the middle of the run. */
struct restart {
	size_t turn;
	size_t staged;
	bool same;
	size_t wrong;
};

struct run {
	struct turn *turns;
	size_t count;
	size_t budget;
	double seconds;
	struct st_replay *replay;
	/* The temporary workspace; empty if there is none. */
	char dir[4096];
	struct restart restart;
};

static size_t run_count(const struct run *run, int count) {
	return st_replay_count(run->replay, count);
}

static int add_turn(struct run *run) {
	struct turn *turns = reallocarray(run->turns, run->count + 1, sizeof *turns);
	if (!turns)
		return report_nomem();
	run->turns = turns;
	run->turns[run->count++] =
		(struct turn){.full = st_replay_full(run->replay), .small = st_replay_short(run->replay)};
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

static size_t most_tokens(const struct run *run, bool full) {
	size_t most = 0;
	for (size_t i = 0; i < run->count; i++) {
		size_t tokens = full ? run->turns[i].full : run->turns[i].small;
		most = tokens > most ? tokens : most;
	}
	return most;
}

/* Print a line of up to 60 bars, each the maximum of its share of the turns. */
static void print_spark(const struct run *run, const char *title, bool full, size_t scale) {
	size_t bars = run->count < 60 ? run->count : 60;
	printf("%s  ", title);
	for (size_t i = 0; i < bars; i++) {
		size_t top = 0;
		for (size_t j = i * run->count / bars; j < (i + 1) * run->count / bars; j++) {
			size_t tokens = full ? run->turns[j].full : run->turns[j].small;
			top = tokens > top ? tokens : top;
		}
		printf("\xe2\x96%c", (int)(0x81 + (scale ? top * 7 / scale : 0)));
	}
	printf("  %zu\n", full ? run->turns[run->count - 1].full : run->turns[run->count - 1].small);
}

/* Print the turns 1, 2, 4, 8 ... and the last. */
static bool is_shown(size_t turn, size_t count) {
	return turn == count || (turn & (turn - 1)) == 0;
}

static int print_turns(const struct run *run) {
	struct table table = {.columns = 4, .right = 0xf, .heading = true};
	table_add(&table, "turn");
	table_add(&table, "full history");
	table_add(&table, "snapshot");
	table_add(&table, "saved");
	for (size_t i = 0; i < run->count; i++) {
		const struct turn *turn = &run->turns[i];
		if (!is_shown(i + 1, run->count))
			continue;
		table_addf(&table, "%zu", i + 1);
		table_addf(&table, "%zu", turn->full);
		table_addf(&table, "%zu", turn->small);
		table_addf(&table, "%.0f %%",
		           turn->full > turn->small
		               ? 100.0 - 100.0 * (double)turn->small / (double)turn->full
		               : 0.0);
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
	snprintf(is, sizeof is,
	         "at turn %zu, %zu %s: %s state; then %zu %s refused, %zu of %zu %s right",
	         restart->turn, restart->staged, plural(restart->staged, "file", "files"),
	         restart->same ? "the same" : "another", refused, plural(refused, "write", "writes"),
	         staged - restart->wrong, staged, plural(staged, "file", "files"));
	add_metric(table, "restart in the middle is clean", "-", is,
	           restart->same && refused == 0 && restart->wrong == 0);
}

/* A model's time depends on the turns and the tokens it reads; stet's own is measured. */
static void add_time(struct table *table, const struct run *run) {
	size_t full = 0, small = 0, turns = 0;
	char was[64], is[160];
	for (size_t i = 0; i < run->count; i++) {
		full += run->turns[i].full;
		small += run->turns[i].needless ? 0 : run->turns[i].small;
		turns += !run->turns[i].needless;
	}
	snprintf(was, sizeof was, "%zu %s, %zu tokens read", run->count,
	         plural(run->count, "turn", "turns"), full);
	snprintf(is, sizeof is, "%zu %s, %zu tokens read; %.2f s in stet", turns,
	         plural(turns, "turn", "turns"), small, run->seconds);
	add_metric(table, "completion time", was, is, small <= full);
}

static int print_metrics(const struct run *run) {
	char was[64], is[160];
	struct table table = {.columns = 4, .heading = true};
	size_t writes = run_count(run, ST_REPLAY_WRITES), files = run_count(run, ST_REPLAY_WRITTEN);
	size_t same = run_count(run, ST_REPLAY_IDENTICAL), near = run_count(run, ST_REPLAY_NEARLY);
	size_t needed = writes - same - near;
	add_metric(&table, "metric", "recorded", "with stet", true);
	free(table.cells[3]);
	table.cells[3] = strdup("met");
	snprintf(was, sizeof was, "%zu %s of %zu %s", writes, plural(writes, "write", "writes"), files,
	         plural(files, "file", "files"));
	snprintf(is, sizeof is, "%zu %s", needed, plural(needed, "write", "writes"));
	add_metric(&table, "one write per unique file", was, is, needed <= files);
	snprintf(was, sizeof was, "up to %zu tokens", most_tokens(run, true));
	snprintf(is, sizeof is, "up to %zu tokens", most_tokens(run, false));
	add_metric(&table, "every turn within the budget", was, is,
	           most_tokens(run, false) <= run->budget);
	size_t unsaid = run_count(run, ST_REPLAY_UNSAID);
	snprintf(is, sizeof is, "%zu of %zu %s; %zu cut, with a mark", unsaid, run->count,
	         plural(run->count, "prompt hides a loss", "prompts hide a loss"),
	         run_count(run, ST_REPLAY_CUT));
	add_metric(&table, "nothing lost silently", "-", is, unsaid == 0);
	add_restart(&table, run);
	add_time(&table, run);
	return table_print(&table);
}

static int print_report(const struct run *run) {
	size_t full = most_tokens(run, true), small = most_tokens(run, false);
	size_t scale = full > small ? full : small;
	int status = print_turns(run);
	if (status != DONE)
		return status;
	printf("\n");
	print_spark(run, "full history", true, scale);
	print_spark(run, "snapshot    ", false, scale);
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
	return print_metrics(run);
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
	}
	size_t len = 0;
	const char *text = st_replay_snapshot(run->replay, &len);
	if (snapshot)
		stet_json_set_text(json, "/lastSnapshot", text, len);
	int status = put_json(json);
	stet_json_free(json);
	return status;
}

/* ---- the picture ---- */

static void draw_line(FILE *svg, const struct run *run, bool full, double scale,
                      const char *style) {
	fprintf(svg, "<polyline fill=\"none\" %s points=\"", style);
	for (size_t i = 0; i < run->count; i++) {
		double tokens = (double)(full ? run->turns[i].full : run->turns[i].small);
		double x = run->count > 1 ? 60 + 560.0 * (double)i / (double)(run->count - 1) : 60;
		fprintf(svg, "%.1f,%.1f ", x, 320 - 280 * tokens / scale);
	}
	fprintf(svg, "\"/>\n");
}

static int draw_svg(const struct run *run, const char *name) {
	double scale =
		(double)(most_tokens(run, true) > run->budget ? most_tokens(run, true) : run->budget);
	double budget = 320 - 280 * (double)run->budget / scale;
	FILE *svg = fopen(name, "we");
	if (!svg)
		return report_as(STET_E_IO, "Cannot write %s: %s.", name, strerror(errno));
	fprintf(
		svg,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 640 360\" "
		"font-family=\"sans-serif\" font-size=\"12\">\n"
		"<rect width=\"640\" height=\"360\" fill=\"white\"/>\n"
		"<path d=\"M60 40V320H620\" fill=\"none\" stroke=\"#888\"/>\n"
		"<path d=\"M60 %.1fH620\" fill=\"none\" stroke=\"#bbb\" stroke-dasharray=\"4 4\"/>\n"
		"<text x=\"60\" y=\"24\">Tokens of context per turn: full history (red), snapshot (blue), "
		"budget (dashed)</text>\n"
		"<text x=\"54\" y=\"46\" text-anchor=\"end\">%.0f</text>\n"
		"<text x=\"54\" y=\"320\" text-anchor=\"end\">0</text>\n"
		"<text x=\"620\" y=\"340\" text-anchor=\"end\">turn %zu</text>\n",
		budget, scale, run->count);
	draw_line(svg, run, true, scale, "stroke=\"#c33\" stroke-width=\"2\"");
	draw_line(svg, run, false, scale, "stroke=\"#36c\" stroke-width=\"2\"");
	fprintf(svg, "</svg>\n");
	bool good = !ferror(svg);
	good &= fclose(svg) == 0;
	return good ? DONE : report_as(STET_E_IO, "Cannot write %s.", name);
}

static int show_run(const struct options *options, const struct arguments *args,
                    const struct run *run) {
	const char *svg = option_value(args, "--svg");
	bool snapshot = has_option(args, "--snapshot");
	if (run->count == 0)
		return report_as(STET_E_INVALID, "The run has no turns.");
	/* Draw before printing, so that an error can still be the answer to --json. */
	int status = svg ? draw_svg(run, svg) : DONE;
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

static int run_replay(const struct options *options, const struct arguments *args) {
	struct stet_error err = {0};
	struct run run = {0};
	char *rows = NULL;
	size_t len = 0;
	int64_t budget = 0;
	int status = option_number(args, "--budget", 1000, 100000000, 5000, &budget);
	if (status == DONE)
		status = slurp(operand(args, 0), &rows, &len);
	if (status == DONE && st_replay_open(rows, len, &run.replay, &err) < 0)
		status = report(&err);
	if (status == DONE) {
		run.budget = (size_t)budget;
		st_replay_budget(run.replay, run.budget);
		status = play(&run);
	}
	if (status == DONE)
		status = show_run(options, args, &run);
	st_replay_close(run.replay);
	remove_stage(&run);
	free(run.turns);
	free(rows);
	return status;
}

static const struct option options[] = {
	{"--svg", "FILE", "draw both curves into FILE"},
	{"--budget", "N", "how many tokens a prompt may have (5000)"},
	{"--snapshot", NULL, "print the snapshot after the last turn as well"},
	OPTIONS_END,
};

const struct command replay_command = {
	.name = "replay",
	.summary = "show what snapshots would have saved in a recorded run",
	.synopsis = "FILE",
	.description =
		"Replays a recorded run of an agent, turn by turn, and shows the tokens of its context "
		"with the full history and with a snapshot, the redundant writes, the stale edits, and "
		"metrics of success. stet writes the agent's files in a temporary workspace (in TMPDIR), "
		"which it closes and opens again in the middle of the run.\n\n"
		"FILE (- for standard input) has a JSON object in each line: turn, tool (or system, user, "
		"assistant, disk), op (read, write, edit and others), args, result_text, path, tokens.",
	.min = 1,
	.max = 1,
	.options = options,
	.examples =
		(const struct example[]){
			{"stet replay run.jsonl", "a table and two curves"},
			{"stet replay --svg run.svg run.jsonl", "draw the curves too"},
			{0},
		},
	.run = run_replay,
};
