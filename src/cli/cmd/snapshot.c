/* stet snapshot: print the state of the work in the form that models get. */
#include "cli/cli.h"

static int run_snapshot(const struct options *options, const struct arguments *args) {
	int64_t budget;
	int status = option_number(args, "--budget", 150, 1000000, 500, &budget);
	struct stet_json *call = stet_json_new();
	if (call) {
		stet_json_set_int(call, "/budget", budget);
		if (has_option(args, "--scan"))
			stet_json_set_bool(call, "/scan", 1);
	}
	struct cli cli;
	if (status == DONE)
		status = cli_open(&cli, options);
	if (status != DONE) {
		stet_json_free(call);
		return status;
	}
	status = cli_log(&cli, args);
	if (has_option(args, "--scan"))
		progress_begin("Scanning the workspace");
	if (status == DONE)
		status = cli_call(&cli, "repo_state", call, NULL);
	else
		stet_json_free(call);
	progress_end();
	return cli_close(&cli, status);
}

static const struct option options[] = {
	{"--scan", NULL, "add every file of the workspace that is not ignored"},
	{"--budget", "N", "how many tokens the snapshot may have (500)"},
	{"--log", "FILE", "also append the snapshot to FILE, as a line of JSON"},
	OPTIONS_END,
};

const struct command snapshot_command = {
	.name = "snapshot",
	.summary = "show the state of the work: files, changes, open tasks",
	.description =
		"Prints the text that a model gets instead of its history: the files that were read or "
		"written, the changes of this story and of others, and the open tasks. The snapshot stays "
		"within its budget, however many files there are, and counts what it leaves out.",
	.state = true,
	.options = options,
	.examples =
		(const struct example[]){
			{"stet snapshot", "the files that tools have read or written"},
			{"stet snapshot --scan", "and all other files of the workspace"},
			{0},
		},
	.run = run_snapshot,
};
