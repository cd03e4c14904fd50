/* stet prompt: make a prompt from a template and the state of the work. */
#include "cli/prompt.h"

static int run_prompt(const struct options *options, const struct arguments *args) {
	struct stet_error err = {0};
	struct stet_context *context = NULL;
	char *prompt = NULL;
	size_t len = 0;
	int status = prompt_context(options, args, NULL, 0, &context);
	if (status != DONE)
		return status;
	int code = stet_context_prompt(context, &prompt, &len, &err);
	status = code < 0 ? report(&err) : prompt_print(args, context, prompt, len);
	stet_context_free(context);
	return status;
}

static const struct option options[] = {
	PROMPT_OPTIONS,
	{"--verbose", NULL, "print how many tokens the prompt has"},
	OPTIONS_END,
};

const struct command prompt_command = {
	.name = "prompt",
	.summary = "make a prompt from a template and the state of the work",
	.description =
		"Prints the messages of a new request to a model, as JSON: the system prompt, the "
		"snapshot of the workspace and the request to complete the open tasks, within a budget of "
		"tokens. Where snapshots are not used (the key useSnapshot, or stet story "
		"--use-snapshot), the prompt has no snapshot, and you have to add the history.",
	.state = true,
	.options = options,
	.examples =
		(const struct example[]){
			{"stet prompt --template coder.txt", "the messages of the next request"},
			{"stet prompt --format anthropic --budget 3000",
             "for Anthropic's API, with a smaller budget"},
			{0},
		},
	.run = run_prompt,
};
