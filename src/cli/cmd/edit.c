/* stet edit: search and replace, with exactly one match per edit, all or nothing. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static int set_edits(struct stet_json *json, const struct arguments *args) {
	struct stet_json *edits = NULL;
	struct stet_error err = {0};
	char *text = NULL;
	size_t len = 0;
	int status = slurp(option_value(args, "--edits"), &text, &len);
	if (status == DONE && stet_json_parse(text, len, 0, &edits, &err) < 0)
		status = usage_error(args->command, "the edits are %s", err.message);
	if (status == DONE)
		stet_json_set_json(json, "/edits", text, len);
	stet_json_free(edits);
	free(text);
	return status;
}

static int set_old_and_new(struct stet_json *json, const struct arguments *args) {
	if (args->count != 3)
		return usage_error(args->command, "give PATH OLD NEW, or PATH and --edits");
	int status = set_operand(json, "/oldText", operand(args, 1));
	return status != DONE ? status : set_operand(json, "/newText", operand(args, 2));
}

static int run_edit(const struct options *options, const struct arguments *args) {
	struct stet_json *json = cli_change_args(args);
	if (!json)
		return report_nomem();
	int status = has_option(args, "--edits") ? set_edits(json, args) : set_old_and_new(json, args);
	if (has_option(args, "--all"))
		stet_json_set_bool(json, "/replaceAll", 1);
	if (has_option(args, "--dry-run"))
		stet_json_set_bool(json, "/dryRun", 1);
	return cli_run(options, status, "edit_file", json, show_change);
}

static const struct option options[] = {
	{"--all", NULL, "replace every occurrence, not exactly one"},
	{"--edits", "FILE", "several edits: a JSON array of {oldText, newText, replaceAll}"},
	{"--dry-run", NULL, "only show the diff; change nothing"},
	CHANGE_OPTIONS,
	OPTIONS_END,
};

const struct command edit_command = {
	.name = "edit",
	.summary = "replace a text that occurs once",
	.synopsis = "PATH [OLD NEW]",
	.description =
		"Replaces OLD, which must occur exactly once, by NEW and shows the diff. OLD or NEW may "
		"be -, for standard input. If the file has changed since the session read it, stet "
		"refuses the edit and shows the change; that counts as having read it, so the same "
		"command succeeds the second time.",
	.min = 1,
	.max = 3,
	.options = options,
	.examples =
		(const struct example[]){
			{"stet edit server.conf 'port = 8080' 'port = 9090'", "change one place"},
			{"stet edit main.c --edits edits.json --dry-run", "what several edits would do"},
			{0},
		},
	.run = run_edit,
};
