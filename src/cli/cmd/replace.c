/* stet replace: search and replace a chosen occurrence. */
#include "cli/cli.h"

static int run_replace(const struct options *options, const struct arguments *args) {
	struct stet_json *json = cli_change_args(args);
	if (!json)
		return report_nomem();
	int status = set_operand(json, "/oldText", operand(args, 1));
	if (status == DONE)
		status = set_operand(json, "/newText", operand(args, 2));
	set_option(json, "/occurrence", args, "--occurrence");
	return cli_run(options, status, "text_replace", json, show_change);
}

static const struct option options[] = {
	{"--occurrence", "WHICH", "first (default), last, all, or a number from 1"},
	CHANGE_OPTIONS,
	OPTIONS_END,
};

const struct command replace_command = {
	.name = "replace",
	.summary = "replace the first, last, n-th or every occurrence of a text",
	.synopsis = "PATH OLD NEW",
	.description =
		"Replaces OLD by NEW; only the matched bytes change. OLD or NEW may be -, for standard "
		"input. If OLD is not found, the error shows the nearest text and what differs.",
	.min = 3,
	.max = 3,
	.options = options,
	.examples =
		(const struct example[]){
			{"stet replace notes.md teh the --occurrence all", "every occurrence"},
			{0},
		},
	.run = run_replace,
};
