/* stet story: what is being worked on. */
#include <string.h>

#include "cli/cli.h"

static int run(const struct options *options, const struct arguments *args) {
	const char *id = operand(args, 0);
	bool end = has_option(args, "--end");
	if (id && end)
		return usage_error(args->command, "a story is set or ended, not both");
	if (id && !*id)
		return usage_error(args->command, "a story has a name");
	const char *use = option_value(args, "--use-snapshot");
	if (end && use)
		return usage_error(args->command, "a story that ends uses no snapshot");
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
     "whether prompts of this story have the snapshot or the full history"},
	OPTIONS_END,
};

const struct command story_command = {
	.name = "story",
	.summary = "set, end or show the story that is worked on",
	.synopsis = "[ID]",
	.description =
		"A story is what files are compared with: they count as created, modified or unchanged "
		"since it began. With ID: begins it. Without: shows the one that is worked on.\n\n"
		"Prompts (stet prompt, stet compact) have the snapshot instead of the history unless the "
		"key useSnapshot of the configuration is false. A story may say otherwise for itself, "
		"with --use-snapshot; that goes with the story.",
	.max = 1,
	.state = true,
	.options = options,
	.examples =
		(const struct example[]){
			{"stet story LOGIN-7", "from here on, what changes belongs to LOGIN-7"},
			{"stet story LOGIN-8 --use-snapshot true",
             "one whose prompts have the snapshot, whatever is configured"},
			{0},
		},
	.run = run,
};
