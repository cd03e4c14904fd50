/* stet hook: decide about one event of an agent's own tools. */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/cli.h"

/* How long an agent may take to send an event. */
enum { PATIENCE_S = 10 };

static void give_up(int number) {
	(void)number;
	_exit(DONE);
}

/* Read the event. If the agent does not end it, this process ends, and the agent goes on without a decision. */
static int read_event(char **event, size_t *len) {
	signal(SIGALRM, give_up);
	alarm(PATIENCE_S);
	int status = slurp("-", event, len);
	alarm(0);
	return status;
}

/* A hook must not be in the agent's way: if it fails, it prints nothing and exits with 0. */
static int run_hook(const struct options *options, const struct arguments *args) {
	struct stet_error err = {0};
	char *event = NULL, *decision = NULL;
	size_t event_len = 0, len = 0;
	(void)options;
	if (read_event(&event, &event_len) != DONE)
		return DONE;
	if (stet_hook_run(event, event_len, option_value(args, "--client"), &decision, &len, &err) < 0)
		complain("%s", err.message);
	if (decision)
		put_line(stdout, decision, len);
	stet_free(decision);
	free(event);
	(void)done();
	return DONE;
}

static const struct option options[] = {
	{"--client", "NAME",
     "claude, codex, gemini, qwen, cursor or opencode; recognised by the event if left out"},
	OPTIONS_END,
};

const struct command hook_command = {
	.name = "hook",
	.summary = "guard an agent's own tools: one event in, one decision out",
	.description =
		"Reads one event of a coding agent's hooks from standard input, as JSON, and prints the "
		"decision, or nothing. Records what the model was sent, denies an edit or a write that "
		"would overwrite what it has not seen, with the diff as the reason, and logs what the "
		"agent's tools wrote. The exit status is always 0: a hook is never in the agent's way. "
		"The workspace is the nearest directory with .stet or .git, from the event's directory "
		"upwards.",
	.always_done = true,
	.options = options,
	.examples =
		(const struct example[]){
			{"echo '{}' | stet hook", "an event that says nothing gets no decision"},
			{0},
		},
	.run = run_hook,
};
