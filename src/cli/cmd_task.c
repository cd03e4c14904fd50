/* stet task: what remains to be done. */
#include <stdlib.h>
#include <string.h>

#include "cli/work.h"

/* What can be done, the tool's word for it, and whether it is about a task by number or a text. */
static const struct {
	const char *word;
	const char *action;
	bool number;
	bool text;
} actions[] = {
	{"list", "list", false, false},    {"add", "add", false, true},
	{"start", "start", true, false},   {"done", "complete", true, false},
	{"remove", "remove", true, false}, {"claim", "claim", false, false},
};

static int set_number(struct stet_json *json, const struct arguments *args, const char *text) {
	char *end = NULL;
	long long number = text ? strtoll(text, &end, 10) : 0;
	if (!text || end == text || *end != '\0' || number < 1)
		return usage_error(args->command, "%s takes the number of a task", operand(args, 0));
	stet_json_set_int(json, "/id", number);
	return DONE;
}

static int set_action(struct stet_json *json, const struct arguments *args) {
	const char *word = args->count > 0 ? operand(args, 0) : "list", *rest = operand(args, 1);
	const char *words[] = {"list", "add", "start", "done", "remove", "claim", NULL};
	for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
		if (strcmp(actions[i].word, word) != 0)
			continue;
		stet_json_set_text(json, "/action", actions[i].action, strlen(actions[i].action));
		if (actions[i].number)
			return set_number(json, args, rest);
		if (actions[i].text && !rest)
			return usage_error(args->command, "add takes a text");
		return actions[i].text ? set_operand(json, "/description", rest) : DONE;
	}
	const char *near = suggest(word, words);
	return near ? usage_error(args->command, "there is no \"%s\" for tasks. Did you mean %s?", word,
	                          near)
	            : usage_error(args->command, "there is no \"%s\" for tasks", word);
}

static int run(const struct options *options, const struct arguments *args) {
	struct stet_json *json = stet_json_new();
	if (!json)
		return report_nomem();
	int64_t priority;
	int status = option_number(args, "--priority", -1000000, 1000000, 0, &priority);
	if (status == DONE)
		status = set_action(json, args);
	if (has_option(args, "--priority"))
		stet_json_set_int(json, "/priority", priority);
	return work_run(options, status, "tasks", json, NULL);
}

static const struct option options[] = {
	{"--priority", "N", "with add: the lowest comes first"},
	OPTIONS_END,
};

const struct command task_command = {
	.name = "task",
	.summary = "plan and finish tasks",
	.synopsis = "[list|add|start|done|remove|claim] [TEXT]",
	.description =
		"The tasks that remain, shared by everybody who works here. add takes a text, start, done "
		"and remove the number of a task; claim starts the first that nobody works on.",
	.max = 2,
	.options = options,
	.examples =
		(const struct example[]){
			{"stet task add 'write the parser'", "one more task"},
			{"stet task done 1", "finish a task"},
			{0},
		},
	.run = run,
};
