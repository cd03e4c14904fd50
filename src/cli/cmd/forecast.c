/* stet forecast: say whether the changes of other checkouts merge with those here. */
#include "cli/cli.h"

static int run_forecast(const struct options *options, const struct arguments *args) {
	struct stet_json *json = args->count > 0 ? cli_args(operand(args, 0)) : stet_json_new();
	if (json) {
		stet_json_set_bool(json, "/forecast", 1);
		stet_json_set_bool(json, "/all", has_option(args, "--all"));
	}
	return cli_run(options, DONE, "others", json, NULL);
}

static const struct option options[] = {
	{"--all", NULL, "compare all pairs of checkouts, not only those with this one"},
	OPTIONS_END,
};

const struct command forecast_command = {
	.name = "forecast",
	.summary = "say whether other checkouts of this repository merge with this one",
	.synopsis = "[PATH]",
	.description =
		"Compares this checkout with each other one in which agents were active: every file that "
		"both changed since their common commit is merged in memory, with the bytes that the files "
		"have now, committed or not. Prints which merge, and the lines that overlap: those here "
		"after <, those there after >. With PATH, only that file.\n\n"
		"Nothing is changed. git reads the common commit; no configuration of the repository has "
		"an "
		"effect on it.",
	.max = 1,
	.options = options,
	.examples =
		(const struct example[]){
			{"stet forecast", "would the other worktrees merge with this one?"},
			{"stet forecast src/main.c --all", "how one file differs between all of them"},
			{0},
		},
	.run = run_forecast,
};
