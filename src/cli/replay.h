/**
 * The output of stet replay for a run: the picture, and the table of strategies.
 *
 *     int status = replay_draw(&run, "run.svg");
 *     if (status == DONE)
 *             status = replay_print_strategies(&summary, &run.limits);
 */
#ifndef STET_CLI_REPLAY_H
#define STET_CLI_REPLAY_H

#include "cli/cli.h"
#include "eval/replay.h"
#include "eval/summary.h"

struct turn {
	/** Tokens of the prompt: the full history, the last exchange with a snapshot, epochs. */
	size_t full;
	size_t small;
	size_t epochs;
	/** The agent only wrote what the files already had. */
	bool needless;
};

/** The result of closing and reopening the workspace in the middle of the run. */
struct restart {
	size_t turn;
	size_t staged;
	bool same;
	size_t wrong;
};

/** Tokens of a prompt with the last exchange; above which, and to which, epochs cut. */
struct limits {
	size_t budget, above, to;
};

struct run {
	/** The name of its file, without directories and ending. */
	char name[128];
	struct turn *turns;
	size_t count;
	struct limits limits;
	double seconds;
	struct st_replay *replay;
	/** The temporary workspace; empty if there is none. */
	char dir[4096];
	struct restart restart;
};

/** A number with commas between its thousands. */
struct grouped {
	char text[32];
};
struct grouped group_digits(size_t number);

/** The most tokens of any turn, with the full history or with the last exchange. */
size_t replay_most(const struct run *run, bool full);

/** Draw a run into an SVG file. Returns the exit status. */
int replay_draw(const struct run *run, const char *file);

/** Print a table of all strategies, with the prices. Returns the exit status. */
int replay_print_strategies(const struct st_summary *summary, const struct limits *limits);

/** Add the same to an answer in JSON. */
void replay_add_strategies(struct stet_json *json, const struct st_summary *summary);

#endif
