/* stet mcp: run the MCP server on standard input and output. */
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

static int run_mcp(const struct options *options, const struct arguments *args) {
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
		"DIR, resources, prompts, subscriptions. The agent can read and write nothing outside of "
		"these directories. Without DIR and --root, the directories are the client's roots, or "
		"the working directory if the client has none. With --session NAME, the agent's session "
		"has that name: stet remembers it when the agent starts again, and the log shows it. Ends "
		"when the input ends or on a signal, after answering everything that it received.",
	.max = -1,
	.options = options,
	.examples =
		(const struct example[]){
			{"stet mcp ~/project", "for the configuration of an agent"},
			{"stet mcp --tools files,text src docs", "two directories, without tools for tasks"},
			{0},
		},
	.run = run_mcp,
};
