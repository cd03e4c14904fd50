/* stet undo: undo the last write of a file, or a run of writes. */
#include "cli/cli.h"

static bool names_run(const struct arguments *args) {
	return has_run_option(args) || has_option(args, "--id") || has_option(args, "--dry-run") ||
	       has_option(args, "--redo");
}

static struct stet_json *make_args(const struct arguments *args, int *status) {
	struct stet_json *json = args->count > 0 ? cli_args(operand(args, 0)) : stet_json_new();
	*status = set_run_options(json, args);
	if (json && has_option(args, "--dry-run"))
		stet_json_set_bool(json, "/dryRun", 1);
	if (json && has_option(args, "--redo"))
		stet_json_set_bool(json, "/redo", 1);
	return json;
}

/* A person who names a run knows whose it is: no preview is needed first. */
static int undo_run(const struct options *options, struct stet_json *json) {
	struct stet_error err = {0};
	struct cli cli;
	int status = cli_open(&cli, options);
	if (status == DONE && stet_workspace_set(cli.ws, STET_OPTION_HASH_PROVES, 1, &err) < 0)
		return cli_close(&cli, report(&err));
	if (status == DONE)
		return cli_close(&cli, cli_call(&cli, "undo", json, show_history));
	stet_json_free(json);
	return status;
}

static int run_undo(const struct options *options, const struct arguments *args) {
	int status;
	struct stet_json *json = make_args(args, &status);
	if (status == DONE && names_run(args))
		return undo_run(options, json);
	return cli_run(options, status, "undo", json, show_change);
}

static const struct option options[] = {
	RUN_OPTIONS,
	{"--id", "N", "one entry, by its number in stet log"},
	{"--dry-run", NULL, "print what would change as a diff, and change nothing"},
	{"--redo", NULL, "bring back what undo took back"},
	OPTIONS_END,
};

const struct command undo_command = {
	.name = "undo",
	.summary = "undo the last write or a run of writes",
	.synopsis = "[PATH]",
	.description =
		"Undoes the last write of PATH through stet, or without PATH the session's own last "
		"write. Refuses if the file has changed since. Without PATH, files that were changed "
		"together are undone together, also by --id.\n\n"
		"With --of, --story, --since or --id it undoes every write that fits all of them, in all "
		"files or in PATH; --session names the session that undoes. If others changed a file "
		"since, only the changes of the run are taken out. Where changes of others overlap them, "
		"the file is left as it is and named, and the exit status is 1. --redo undoes the last "
		"undo of the session, or the undos of the writes that fit.",
	.max = 1,
	.state = true,
	.options = options,
	.examples =
		(const struct example[]){
			{"stet --session me undo", "undo my last write"},
			{"stet undo --of reviewer --since 1h --dry-run", "what undoing a run would change"},
			{0},
		},
	.run = run_undo,
};
