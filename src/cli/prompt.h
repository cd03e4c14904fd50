/** The common part of stet prompt and stet compact: a context made from options and the workspace's snapshot. */
#ifndef STET_CLI_PROMPT_H
#define STET_CLI_PROMPT_H

#include "cli/cli.h"

/** The options of both commands, for their tables. */
#define PROMPT_OPTIONS \
	{"--template", "FILE", "the system prompt"}, {"--request", "TEXT", "the user's request"}, \
		{"--additional", "FILE", "additional text for the prompt"}, \
		{"--snapshot", "FILE", "use this snapshot instead of the workspace's"}, \
		{"--log", "FILE", "append the snapshot of the workspace to FILE, as a line of JSON"}, \
		{"--budget", "N", "how many tokens the prompt may have (5000)"}, \
		{"--overhead", "N", "tokens of your tool definitions, which count too (0)"}, \
		{"--percent", "N", "your model's tokens per 100 o200k tokens (100)"}, { \
		"--format", "auto|chat|responses|anthropic|gemini", "the shape of the messages" \
	}

/**
 * Make a context from the options.
 *
 * @messages  Messages to learn from, or NULL.
 * @out  Receives the context; the caller frees it with stet_context_free().
 * @return DONE, or the exit status after reporting an error.
 */
int prompt_context(const struct options *options, const struct arguments *args,
                   const char *messages, size_t len, struct stet_context **out);

/** Print a prompt, and with --verbose what it left out. Frees the prompt. Returns the exit status. */
int prompt_print(const struct arguments *args, const struct stet_context *context, char *prompt,
                 size_t len);

#endif
