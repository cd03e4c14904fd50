/* stet mcp: the MCP server on standard input and output. */
#include <unistd.h>

#include "cli/host.h"
#include "cli/signals.h"

static int serve(struct stet_host *host, const struct arguments *args, struct stet_error *err) {
	int signals = open_signals();
	if (signals < 0)
		return SYSTEM;
	int code = stet_mcp_stdio(host, option_value(args, "--tools"), STDIN_FILENO, STDOUT_FILENO,
	                          signals, err);
	close(signals);
	return code < 0 ? report(err) : DONE;
}

static int run(const struct options *options, const struct arguments *args) {
	struct stet_error err = {0};
	struct stet_host *host = NULL;
	struct host_roots roots = {.options = options, .args = args};
	int status = host_open(options, args, &host);
	if (status == DONE && options->session && stet_host_session(host, options->session, &err) < 0)
		status = report(&err);
	if (status == DONE) {
		host_follow(host, &roots);
		status = serve(host, args, &err);
	}
	host_close(host);
	return status;
}

static const struct option options[] = {
	HOST_OPTIONS,
	OPTIONS_END,
};

const struct command mcp_command = {
	.name = "mcp",
	.summary = "serve an agent over the Model Context Protocol",
	.synopsis = "[DIR...]",
	.description =
		"Speaks MCP on standard input and output, for one agent: tools for the files below each "
		"DIR, resources, prompts, subscriptions. Nothing outside of these "
		"directories can be read or written. Without DIR and --root, the roots that the client "
		"names are the directories; the working directory serves if it names none. With --session "
		"NAME the agent's session has that "
		"name: it is remembered when the agent starts again, and the log shows it. Ends when the "
		"input does, or on a signal, with "
		"everything answered that was received.",
	.max = -1,
	.options = options,
	.examples =
		(const struct example[]){
			{"stet mcp ~/project", "what an agent's configuration calls"},
			{"stet mcp --tools files,text src docs", "two directories, and no tools for tasks"},
			{0},
		},
	.run = run,
};
