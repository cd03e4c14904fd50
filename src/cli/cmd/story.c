/* stet story: set, end or show the story, a named unit of work. */
#include <string.h>

#include "cli/cli.h"

static int run_story(const struct options *options, const struct arguments *args) {
	const char *id = operand(args, 0);
	bool end = has_option(args, "--end");
	if (id && end)
		return usage_error(args->command, "give either ID or --end, not both");
	if (id && !*id)
		return usage_error(args->command, "ID must not be empty");
	const char *use = option_value(args, "--use-snapshot");
	if (end && use)
		return usage_error(args->command, "give either --end or --use-snapshot, not both");
	struct stet_json *json = stet_json_new();
	if (json && id)
		stet_json_set_text(json, "/id", id, strlen(id));
	if (json && end)
		stet_json_set_text(json, "/action", "end", 3);
	if (json && use)
		stet_json_set_bool(json, "/useSnapshot", strcmp(use, "true") == 0);
	return cli_run(options, DONE, "story", json, NULL);
}

static const struct option options[] = {
	{"--end", NULL, "end the story"},
	{"--use-snapshot", "true|false",
     "whether prompts of this story contain the snapshot or the full history"},
	OPTIONS_END,
};

const struct command story_command = {
	.name = "story",
	.summary = "set, end or show the current story",
	.synopsis = "[ID]",
	.description =
		"A story is a named unit of work: files count as created, modified or unchanged since it "
		"began. With ID, begins the story. Without, shows the current one.\n\n"
		"Prompts (stet prompt, stet compact) contain the snapshot instead of the history, unless "
		"the key useSnapshot of the configuration is false. --use-snapshot overrides that key for "
		"one story, until it ends.",
	.max = 1,
	.state = true,
	.options = options,
	.examples =
		(const struct example[]){
			{"stet story LOGIN-7", "from now on, changes belong to LOGIN-7"},
			{"stet story LOGIN-8 --use-snapshot true",
             "use snapshots in this story, whatever the configuration says"},
			{0},
		},
	.run = run_story,
};
