/* stet undo: undo the last write of a file. */
#include <string.h>

#include "cli/cli.h"

static int run_undo(const struct options *options, const struct arguments *args) {
	struct stet_json *json = args->count > 0 ? cli_args(operand(args, 0)) : stet_json_new();
	return cli_run(options, DONE, "undo", json, show_change);
}

const struct command undo_command = {
	.name = "undo",
	.summary = "undo the last write",
	.synopsis = "[PATH]",
	.description =
		"Undoes the last write of PATH through stet, or without PATH the session's own last "
		"write. Refuses if the file has changed since.",
	.max = 1,
	.state = true,
	.examples = (const struct example[]){{"stet --session me undo", "undo my last write"}, {0}},
	.run = run_undo,
};
