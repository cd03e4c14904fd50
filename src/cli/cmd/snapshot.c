/* stet snapshot: the state of the work, as a model gets it. */
#include "cli/cli.h"

static int run(const struct options *options, const struct arguments *args) {
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
		progress_begin("Looking through the workspace");
	if (status == DONE)
		status = cli_call(&cli, "repo_state", call, NULL);
	else
		stet_json_free(call);
	progress_end();
	return cli_close(&cli, status);
}

static const struct option options[] = {
	{"--scan", NULL, "add every file of the workspace that is not ignored"},
	{"--budget", "N", "how many tokens it may have (500)"},
	{"--log", "FILE", "append it to FILE too, as a line of JSON"},
	OPTIONS_END,
};

const struct command snapshot_command = {
	.name = "snapshot",
	.summary = "show the state of the work: files, changes, open tasks",
	.description =
		"Print what a model is told instead of its history: the files that were read or written, "
		"what "
		"changed in this story and what others changed, and the open tasks. It fits its budget "
		"whatever the number of files; what is left out is counted.",
	.state = true,
	.options = options,
	.examples =
		(const struct example[]){
			{"stet snapshot", "what tools have seen and done"},
			{"stet snapshot --scan", "and every other file of the workspace"},
			{0},
		},
	.run = run,
};
