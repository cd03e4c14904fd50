/* stet story: what is being worked on. */
#include <string.h>

#include "cli/work.h"

static int run(const struct options *options, const struct arguments *args) {
	const char *id = operand(args, 0);
	bool end = has_option(args, "--end");
	if (id && end)
		return usage_error(args->command, "a story is set or ended, not both");
	if (id && !*id)
		return usage_error(args->command, "a story has a name");
	struct stet_json *json = stet_json_new();
	if (json && id)
		stet_json_set_text(json, "/id", id, strlen(id));
	if (json && end)
		stet_json_set_text(json, "/action", "end", 3);
	return work_run(options, DONE, "story", json, NULL);
}

static const struct option options[] = {
	{"--end", NULL, "end the story"},
	OPTIONS_END,
};

const struct command story_command = {
	.name = "story",
	.summary = "set, end or show the story that is worked on",
	.synopsis = "[ID]",
	.description =
		"A story is what files are compared with: they count as created, modified or unchanged "
		"since it began. With ID: begins it. Without: shows the one that is worked on.",
	.max = 1,
	.options = options,
	.examples =
		(const struct example[]){
			{"stet story LOGIN-7", "from here on, what changes belongs to LOGIN-7"}, {0}},
	.run = run,
};
