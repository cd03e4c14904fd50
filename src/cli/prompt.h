/** What prompt and compact share: a context set by options, with the snapshot of the workspace in it. */
#ifndef STET_CLI_PROMPT_H
#define STET_CLI_PROMPT_H

#include "cli/cli.h"

/** The options, for their tables. */
#define PROMPT_OPTIONS \
	{"--template", "FILE", "the system prompt"}, {"--request", "TEXT", "what to do now"}, \
		{"--additional", "FILE", "more to know"}, \
		{"--snapshot", "FILE", "the snapshot, instead of that of the workspace"}, \
		{"--log", "FILE", "append the snapshot of the workspace to FILE, as a line of JSON"}, \
		{"--budget", "N", "how many tokens the prompt may have (5000)"}, \
		{"--percent", "N", "your model's tokens per 100 o200k tokens (100)"}, { \
		"--format", "auto|chat|responses|anthropic", "the shape of the messages" \
	}

/**
 * Make a context by the options.
 *
 * @out  Receives it, to be freed with stet_context_free().
 * @return DONE, or the status of a failure after saying why.
 */
int prompt_context(const struct options *options, const struct arguments *args,
                   struct stet_context **out);

/** Print a prompt, and with --verbose what it left out. Returns the status. */
int prompt_print(const struct arguments *args, const struct stet_context *context, char *prompt,
                 size_t len);

#endif
