/* stet task: list and change the tasks. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

/* The operands of an action: none, a text, several texts, or the number of a task, perhaps. */
enum subject { NONE, TEXT, TEXTS, NUMBER, ANY_NUMBER };

/* The actions, and their names in the tool tasks. */
static const struct {
	const char *word;
	const char *action;
	enum subject subject;
} actions[] = {
	{"list", "list", NONE},         {"add", "add", TEXT},
	{"set", "set", TEXTS},          {"start", "start", NUMBER},
	{"done", "complete", NUMBER},   {"prioritise", "prioritise", NUMBER},
	{"remove", "remove", NUMBER},   {"claim", "claim", ANY_NUMBER},
	{"release", "release", NUMBER},
};

static int set_number(struct stet_json *json, const struct arguments *args, const char *text) {
	char *end = NULL;
	long long number = text ? strtoll(text, &end, 10) : 0;
	if (!text || end == text || *end != '\0' || number < 1)
		return usage_error(args->command, "%s takes the number of a task", operand(args, 0));
	stet_json_set_int(json, "/id", number);
	return DONE;
}

static int set_items(struct stet_json *json, const struct arguments *args) {
	if (args->count < 2)
		return usage_error(args->command, "set takes the texts of the tasks");
	stet_json_set_json(json, "/items", "[]", 2);
	for (int i = 1; i < args->count; i++)
		stet_json_set_text(json, "/items/-", operand(args, i), strlen(operand(args, i)));
	return DONE;
}

static int set_subject(struct stet_json *json, const struct arguments *args, enum subject subject) {
	const char *rest = operand(args, 1);
	if (subject == TEXTS)
		return set_items(json, args);
	if (args->count > 2)
		return usage_error(args->command, "unexpected argument \"%s\"", operand(args, 2));
	if (subject == NUMBER || (subject == ANY_NUMBER && rest))
		return set_number(json, args, rest);
	if (subject == TEXT && !rest)
		return usage_error(args->command, "add takes a text");
	return subject == TEXT ? set_operand(json, "/description", rest) : DONE;
}

static int set_action(struct stet_json *json, const struct arguments *args) {
	const char *word = args->count > 0 ? operand(args, 0) : "list";
	const char *names[] = {"list",       "add",    "set",   "start",   "done",
	                       "prioritise", "remove", "claim", "release", NULL};
	for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
		if (strcmp(actions[i].word, word) != 0)
			continue;
		stet_json_set_text(json, "/action", actions[i].action, strlen(actions[i].action));
		if (strcmp(word, "prioritise") == 0 && !has_option(args, "--priority"))
			return usage_error(args->command, "prioritise takes --priority N");
		return set_subject(json, args, actions[i].subject);
	}
	const char *near = suggest(word, names);
	return near ? usage_error(args->command, "there is no action \"%s\". Did you mean %s?", word,
	                          near)
	            : usage_error(args->command, "there is no action \"%s\"", word);
}

static int run_task(const struct options *options, const struct arguments *args) {
	struct stet_json *json = stet_json_new();
	if (!json)
		return report_nomem();
	int64_t priority;
	int status = option_number(args, "--priority", -1000000, 1000000, 0, &priority);
	if (status == DONE)
		status = set_action(json, args);
	if (has_option(args, "--priority"))
		stet_json_set_int(json, "/priority", priority);
	return cli_run(options, status, "tasks", json, NULL);
}

static const struct option options[] = {
	{"--priority", "N", "with add and prioritise: the lowest comes first"},
	OPTIONS_END,
};

const struct command task_command = {
	.name = "task",
	.summary = "plan and finish tasks",
	.synopsis = "[list|add|set|start|done|prioritise|remove|claim|release] [TEXT...]",
	.description =
		"Lists or changes the open tasks, which everybody who works here shares; with a hub, "
		"everybody who works on the repository. add takes a text; set takes the texts of all "
		"unfinished tasks and replaces the list; start, done, prioritise, remove and release take "
		"the number of a task; claim starts the first task that nobody works on, or the one with "
		"a number.",
	.max = -1,
	.state = true,
	.options = options,
	.examples =
		(const struct example[]){
			{"stet task add 'write the parser'", "add a task"},
			{"stet task prioritise 1 --priority 5", "after tasks with a lower number"},
			{"stet task done 1", "finish a task"},
			{0},
		},
	.run = run_task,
};
