/* stet apply: a patch over several files, all or nothing. */
#include <stdlib.h>

#include "cli/cli.h"

static int set_patch(struct stet_json *json, const struct arguments *args) {
	char *text = NULL;
	size_t len = 0;
	int status = slurp(args->count > 0 ? operand(args, 0) : "-", &text, &len);
	if (status == DONE)
		stet_json_set_text(json, "/patch", text, len);
	free(text);
	return status;
}

static int run_apply(const struct options *options, const struct arguments *args) {
	struct stet_json *json = stet_json_new();
	if (!json)
		return report_nomem();
	int status = set_patch(json, args);
	if (has_option(args, "--dry-run"))
		stet_json_set_bool(json, "/dryRun", 1);
	return cli_run(options, status, "apply_patch", json, show_change);
}

static const struct option options[] = {
	{"--dry-run", NULL, "only show the diffs; change nothing"},
	OPTIONS_END,
};

const struct command apply_command = {
	.name = "apply",
	.summary = "apply a patch to several files, all or nothing",
	.synopsis = "[FILE]",
	.description =
		"Applies a unified diff, as git diff and diff -u write it, or a patch in Codex's format "
		"(*** Begin Patch). FILE has the patch; without FILE, or with -, it comes from standard "
		"input. A hunk whose lines are at one other place is applied there, and stet says so. If "
		"a file does not fit, nothing is changed.",
	.min = 0,
	.max = 1,
	.options = options,
	.examples =
		(const struct example[]){
			{"git diff main feature | stet apply", "take over the changes of a branch"},
			{"stet apply fix.patch --dry-run", "what a patch would do"},
			{0},
		},
	.run = run_apply,
};
