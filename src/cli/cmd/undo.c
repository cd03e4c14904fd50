/* stet undo: put back what a file was before its last write. */
#include <string.h>

#include "cli/cli.h"

static int run(const struct options *options, const struct arguments *args) {
	struct stet_json *json = args->count > 0 ? cli_args(operand(args, 0)) : stet_json_new();
	return cli_run(options, DONE, "undo", json, show_change);
}

const struct command undo_command = {
	.name = "undo",
	.summary = "take back the last write",
	.synopsis = "[PATH]",
	.description =
		"Puts back what a file was before its last write through stet: PATH, or the session's own "
		"last one. Refused if the file has changed since.",
	.max = 1,
	.state = true,
	.examples = (const struct example[]){{"stet --session me undo", "my last write, undone"}, {0}},
	.run = run,
};
