/* stet show: one write of the log with its diff. */
#include <stdlib.h>

#include "cli/cli.h"

static int run_show(const struct options *options, const struct arguments *args) {
	char *end = NULL;
	long long id = strtoll(operand(args, 0), &end, 10);
	if (*end != '\0' || id < 1)
		return usage_error(args->command, "ID is the number of a write, as stet log lists it");
	struct stet_json *json = stet_json_new();
	if (json)
		stet_json_set_int(json, "/id", id);
	return cli_run(options, DONE, "history", json, show_history);
}

const struct command show_command = {
	.name = "show",
	.summary = "show one write of the log",
	.synopsis = "ID",
	.description =
		"Prints who made a write, when, and its diff. Of files that were changed together "
		"it shows all. stet log lists the numbers.",
	.min = 1,
	.max = 1,
	.state = true,
	.examples = (const struct example[]){{"stet show 12", "what a write changed"}, {0}},
	.run = run_show,
};
