/* stet serve: the MCP server over HTTP, for many agents. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cli/desk.h"
#include "cli/work.h"

/* For the signal handler. */
static struct stet_server *running;

static void stop(int number) {
	stet_server_stop(running);
}

/* Tokens come from a file or the environment: what is on the command line, ps shows to everybody. */
static int add_tokens(struct stet_server *server, const struct arguments *args) {
	struct stet_error err = {0};
	const char *variable = getenv("STET_TOKEN"), *name;
	if (variable && stet_server_tokens(server, variable, strlen(variable), &err) < 0)
		return report(&err);
	for (int i = 0; (name = option_value_at(args, "--token-file", i)); i++) {
		char *text = NULL;
		size_t len = 0;
		int status = slurp(name, &text, &len);
		if (status == DONE && stet_server_tokens(server, text, len, &err) < 0)
			status = report(&err);
		if (text)
			explicit_bzero(text, len);
		free(text);
		if (status != DONE)
			return status;
	}
	return DONE;
}

static int add_hosts(struct stet_server *server, const struct arguments *args) {
	struct stet_error err = {0};
	const char *name;
	for (int i = 0; (name = option_value_at(args, "--host", i)); i++) {
		if (stet_server_host(server, name, &err) < 0)
			return report(&err);
	}
	return DONE;
}

static int set_limit(struct stet_server *server, const struct arguments *args, const char *name,
                     enum stet_server_option option) {
	struct stet_error err = {0};
	int64_t value = 0;
	int status = option_number(args, name, 1, INT32_MAX, 0, &value);
	if (status == DONE && value > 0 && stet_server_set(server, option, value, &err) < 0)
		status = report(&err);
	return status;
}

static int set_up(struct stet_server *server, const struct arguments *args) {
	int status = add_tokens(server, args);
	if (status == DONE)
		status = add_hosts(server, args);
	if (status == DONE)
		status = set_limit(server, args, "--max-body", STET_SERVER_MAX_BODY);
	if (status == DONE)
		status = set_limit(server, args, "--max-clients", STET_SERVER_MAX_CONNECTIONS);
	if (status == DONE)
		status = set_limit(server, args, "--max-sessions", STET_SERVER_MAX_SESSIONS);
	if (status == DONE)
		status = set_limit(server, args, "--session-idle", STET_SERVER_SESSION_IDLE);
	return status;
}

static void handle_signals(void) {
	struct sigaction action = {.sa_handler = stop};
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static int listen_and_run(struct stet_server *server, const struct arguments *args) {
	struct stet_error err = {0};
	const char *address = option_value(args, "--listen");
	if (stet_server_listen(server, address ? address : "127.0.0.1", &err) < 0)
		return report(&err);
	running = server;
	handle_signals();
	puts(stet_server_url(server));
	int status = done();
	if (status != DONE)
		return status;
	if (stet_server_run(server))
		return DONE;
	complain("a call does not come to its end, and is left behind");
	_Exit(SYSTEM);
}

static int run(const struct options *options, const struct arguments *args) {
	struct stet_error err = {0};
	struct stet_desk *desk = NULL;
	struct stet_server *server = NULL;
	int status = desk_open(options, args, &desk);
	if (status != DONE)
		return status;
	if (stet_server_new(desk, option_value(args, "--tools"), &server, &err) < 0)
		status = report(&err);
	if (status == DONE)
		status = set_up(server, args);
	if (status == DONE)
		status = listen_and_run(server, args);
	stet_server_free(server);
	desk_close(desk);
	return status;
}

static const struct option serve_options[] = {
	{"--listen", "ADDR",
     "the address and port to listen on; 127.0.0.1 and any free port by default"},
	{"--token-file", "FILE", "accept the tokens in this file, one per line; may be given again"},
	{"--host", "NAME", "a further name that clients may use for it; may be given again"},
	{"--max-body", "BYTES", "the largest request, 32 MiB by default"},
	{"--max-clients", "N", "the most connections at once, 1024 by default"},
	{"--max-sessions", "N", "the most sessions, 1000 by default"},
	{"--session-idle", "SECONDS", "when an unused session ends, 3600 by default"},
	DESK_OPTIONS,
	OPTIONS_END,
};

const struct command serve_command = {
	.name = "serve",
	.summary = "serve many agents over HTTP (MCP)",
	.synopsis = "[DIR...]",
	.description =
		"Serves the directories, or the root, as an MCP server over Streamable HTTP. The first "
		"line of the output is the URL for clients. The same port has /healthz, and /metrics for "
		"Prometheus. A signal ends it when the work that is going on is done.\n\n"
		"Each client is a session of its own: what one has read says nothing about another, and a "
		"conflict names the session that wrote. Clients of protocol 2026-07-28 have no session; "
		"they name one in their calls (session), or prove what they saw (expectedHash).\n\n"
		"Only this machine can reach it, unless --listen says otherwise; then clients need a "
		"token (Authorization: Bearer), from --token-file or the environment variable STET_TOKEN. "
		"Session names belong to the token. Requests that name another host than this one are "
		"refused, see --host: they may be a web page's.",
	.max = -1,
	.options = serve_options,
	.examples =
		(const struct example[]){
			{"stet serve", "the working directory, for clients on this machine"},
			{"stet serve --listen 127.0.0.1:7070 src docs", "two directories, at a fixed port"},
			{"stet serve --listen 0.0.0.0:7070 --token-file tokens",
             "for other machines, whose clients have a token"},
			{0},
		},
	.run = run,
};
