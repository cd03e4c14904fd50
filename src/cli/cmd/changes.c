/* stet changes: list the files that have changed since the session read them. */
#include <string.h>

#include "cli/cli.h"

static void show_stale(const struct stet_json *answer) {
	for (size_t i = 0; i < stet_json_count(answer, "/structuredContent/stale"); i++) {
		char pointer[48];
		snprintf(pointer, sizeof pointer, "/structuredContent/stale/%zu", i);
		put_name(stdout, stet_json_text(answer, pointer, NULL));
		putchar('\n');
	}
	int64_t omitted = stet_json_int(answer, "/structuredContent/omitted", 0);
	if (omitted > 0)
		complain("%lld more %s left out", (long long)omitted,
		         plural((uint64_t)omitted, "file is", "files are"));
}

static int run_changes(const struct options *options, const struct arguments *args) {
	const char *clock = operand(args, 0);
	struct stet_json *call = stet_json_new();
	if (call && clock)
		stet_json_set_text(call, "/clock", clock, strlen(clock));
	if (call)
		stet_json_set_int(call, "/limit", 10000);
	return cli_run(options, DONE, "changes", call, show_stale);
}

const struct command changes_command = {
	.name = "changes",
	.summary = "list the files that have changed since the session read them",
	.synopsis = "[CLOCK]",
	.description =
		"Prints the path of each file that the session has read and that has changed or is gone "
		"since. With --json, prints the answer of the tool changes, with all files in use and a "
		"clock. A clock is valid as long as the process that gave it, such as a server, is "
		"running; with any other clock, the answer has the full list.",
	.max = 1,
	.state = true,
	.examples =
		(const struct example[]){
			{"stet --session me changes", "what to read again"},
			{0},
		},
	.run = run_changes,
};
