/* stet serve: the MCP server over HTTP, for many agents. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/host.h"
#include "cli/cli.h"

/* For the signal handler. */
static struct stet_server *running;

static void stop(int number) {
	stet_server_stop(running);
}

static void reload(int number) {
	stet_server_reload(running);
}

static void tell(void *arg, const char *message) {
	complain("%s", message);
}

/* What comes from standard input cannot be read again, so these are tokens without a file. */
static int add_input(struct stet_server *server) {
	struct stet_error err = {0};
	char *text = NULL;
	size_t len = 0;
	int status = slurp("-", &text, &len);
	if (status == DONE && stet_server_tokens(server, text, len, &err) < 0)
		status = report(&err);
	if (text)
		explicit_bzero(text, len);
	free(text);
	return status;
}

/* Tokens come from a file or the environment: what is on the command line, ps shows to everybody. */
static int add_tokens(struct stet_server *server, const struct arguments *args) {
	struct stet_error err = {0};
	const char *variable = getenv("STET_TOKEN"), *name;
	if (variable && stet_server_tokens(server, variable, strlen(variable), &err) < 0)
		return report(&err);
	for (int i = 0; (name = option_value_at(args, "--token-file", i)); i++) {
		int status = DONE;
		if (strcmp(name, "-") == 0)
			status = add_input(server);
		else if (stet_server_token_file(server, name, &err) < 0)
			status = report(&err);
		if (status != DONE)
			return status;
	}
	return DONE;
}

static int allow_everybody(struct stet_server *server, const struct arguments *args) {
	struct stet_error err = {0};
	if (!has_option(args, "--no-auth"))
		return DONE;
	complain(
		"warning: with --no-auth every user and program of this machine can read and change "
		"these files.");
	return stet_server_set(server, STET_SERVER_NO_AUTH, 1, &err) < 0 ? report(&err) : DONE;
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
		status = allow_everybody(server, args);
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
	action.sa_handler = reload;
	sigaction(SIGHUP, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* The token itself goes to a terminal only: what else takes the output may be a log that others read. */
static int show_token(const struct stet_server *server) {
	const char *path = stet_server_own_token(server);
	char *text = NULL;
	size_t len = 0;
	if (!path)
		return DONE;
	printf("token file: %s\n", path);
	if (!isatty(STDOUT_FILENO))
		return DONE;
	int status = slurp(path, &text, &len);
	if (status == DONE)
		printf("Authorization: Bearer %.*s\n", (int)strcspn(text, "\n"), text);
	if (text)
		explicit_bzero(text, len);
	free(text);
	return status;
}

/* Where it is, as --json has it. */
static int print_json(const struct stet_server *server) {
	const char *url = stet_server_url(server), *path = stet_server_own_token(server);
	struct stet_json *json = stet_json_new();
	if (!json)
		return report_nomem();
	stet_json_set_text(json, "/url", url, strlen(url));
	if (path)
		stet_json_set_text(json, "/tokenFile", path, strlen(path));
	int status = put_json(json);
	stet_json_free(json);
	return status;
}

static int print_address(const struct stet_server *server) {
	if (is_json())
		return print_json(server);
	puts(stet_server_url(server));
	int status = show_token(server);
	return status == DONE ? done() : status;
}

static int listen_and_run(struct stet_server *server, const struct arguments *args) {
	struct stet_error err = {0};
	const char *address = option_value(args, "--listen");
	if (stet_server_listen(server, address ? address : "127.0.0.1", &err) < 0)
		return report(&err);
	running = server;
	stet_server_notices(server, tell, NULL);
	handle_signals();
	int status = print_address(server);
	if (status != DONE)
		return status;
	if (stet_server_run(server))
		return DONE;
	complain("a call does not come to its end, and is left behind");
	_Exit(SYSTEM);
}

static int run(const struct options *options, const struct arguments *args) {
	struct stet_error err = {0};
	struct stet_host *host = NULL;
	struct stet_server *server = NULL;
	/* What one client has read would let another one overwrite it. */
	if (options->session_named)
		return usage_error(args->command,
		                   "--session is for one agent, as with stet mcp; here each client has a "
		                   "session of its own, or names one in its calls (session)");
	int status = host_open(options, args, &host);
	if (status != DONE)
		return status;
	if (stet_server_new(host, option_value(args, "--tools"), &server, &err) < 0)
		status = report(&err);
	if (status == DONE)
		status = set_up(server, args);
	if (status == DONE)
		status = listen_and_run(server, args);
	stet_server_free(server);
	host_close(host);
	return status;
}

static const struct option serve_options[] = {
	{"--listen", "ADDR",
     "the address and port to listen on, 127.0.0.1 and any free port by default; or unix:PATH"},
	{"--token-file", "FILE",
     "accept the tokens in this file, one per line, instead of your own; may be given again"},
	{"--no-auth", NULL, "ask for no token; every user of this machine can then use it"},
	{"--host", "NAME", "a further name that clients may use for it; may be given again"},
	{"--max-body", "BYTES", "the largest request, 32 MiB by default"},
	{"--max-clients", "N", "the most connections at once, 1024 by default"},
	{"--max-sessions", "N", "the most sessions, 1000 by default"},
	{"--session-idle", "SECONDS", "when an unused session ends, 3600 by default"},
	HOST_OPTIONS,
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
		"to replace or delete whole files they name one in their calls (session). So there is no "
		"--session here, and STET_SESSION is not looked at.\n\n"
		"Clients need a token (Authorization: Bearer). It is the one in your token file, "
		"~/.local/state/stet/token, which the first start makes, unless --token-file or the "
		"environment variable STET_TOKEN names others. A token file that other users can read is "
		"refused. SIGHUP has the files read again. Session names belong to the token.\n\n"
		"Only this machine can reach it, unless --listen says otherwise; then a token has to be "
		"given. At a Unix socket (--listen unix:PATH) there is no token: only your own processes, "
		"and root's, are served. Requests that name another host than this one are refused, see "
		"--host: they may be a web page's.",
	.max = -1,
	.options = serve_options,
	.examples =
		(const struct example[]){
			{"stet serve", "the working directory, for clients on this machine"},
			{"stet serve --listen 127.0.0.1:7070 src docs", "two directories, at a fixed port"},
			{"stet serve --listen unix:stet.sock", "at a Unix socket, without a token"},
			{"stet serve --listen 0.0.0.0:7070 --token-file tokens",
             "for other machines, whose clients have a token"},
			{0},
		},
	.run = run,
};
