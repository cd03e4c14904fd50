/* stet diff: a run of writes as one unified diff. */
#include <string.h>

#include "cli/cli.h"

static int run_diff(const struct options *options, const struct arguments *args) {
	struct stet_json *json = args->count > 0 ? cli_args(operand(args, 0)) : stet_json_new();
	bool named = args->count > 0 || has_run_option(args);
	if (!named && !options->session)
		return usage_error(args->command, "say which writes: --of, --story, --since or PATH");
	if (!named && json)
		stet_json_set_text(json, "/of", options->session, strlen(options->session));
	int status = set_run_options(json, args);
	if (json)
		stet_json_set_bool(json, "/run", 1);
	return cli_run(options, status, "history", json, show_history);
}

static const struct option options[] = {RUN_OPTIONS, OPTIONS_END};

const struct command diff_command = {
	.name = "diff",
	.summary = "show a run of writes as one diff",
	.synopsis = "[PATH]",
	.description =
		"Prints, for each file, the difference between what it was before the first write that "
		"fits and what the last one made of it. --session is the session that asks, and alone its "
		"own writes are shown; --of names another one. Writes that were taken back are not among "
		"them.",
	.max = 1,
	.state = true,
	.options = options,
	.examples =
		(const struct example[]){
			{"stet diff --of reviewer", "all that a session changed"},
			{"stet diff --since 30m", "what changed through stet in half an hour"},
			{0},
		},
	.run = run_diff,
};
