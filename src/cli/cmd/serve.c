/* stet serve: run the MCP server over HTTP, for many agents. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/host.h"
#include "cli/cli.h"

/* The server that the signal handlers stop or reload. */
static struct stet_server *running;

static void stop_server(int number) {
	stet_server_stop(running);
}

static void reload_tokens(int number) {
	stet_server_reload(running);
}

static void print_notice(void *arg, const char *message) {
	complain("%s", message);
}

/* Standard input cannot be read again on SIGHUP, so its tokens are added without a file. */
static int add_input_tokens(struct stet_server *server) {
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

/* Tokens come from files or the environment, not from the command line, which ps shows to all users. */
static int add_tokens(struct stet_server *server, const struct arguments *args) {
	struct stet_error err = {0};
	const char *variable = getenv("STET_TOKEN"), *name;
	if (variable && stet_server_tokens(server, variable, strlen(variable), &err) < 0)
		return report(&err);
	for (int i = 0; (name = option_value_at(args, "--token-file", i)); i++) {
		int status = DONE;
		if (strcmp(name, "-") == 0)
			status = add_input_tokens(server);
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

static int add_tls(struct stet_server *server, const struct arguments *args) {
	struct stet_error err = {0};
	const char *certificate = option_value(args, "--tls-cert"),
			   *key = option_value(args, "--tls-key");
	if (!certificate != !key)
		return usage_error(args->command, "--tls-cert and --tls-key go together");
	if (certificate && stet_server_tls(server, certificate, key, &err) < 0)
		return report(&err);
	if (!has_option(args, "--insecure"))
		return DONE;
	return stet_server_set(server, STET_SERVER_INSECURE, 1, &err) < 0 ? report(&err) : DONE;
}

static int add_access_log(struct stet_server *server, const struct arguments *args) {
	struct stet_error err = {0};
	const char *path = option_value(args, "--access-log");
	return path && stet_server_access_log(server, path, &err) < 0 ? report(&err) : DONE;
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

static int add_page(struct stet_server *server, const struct arguments *args) {
	struct stet_error err = {0};
	bool page = has_option(args, "--page"), undo = has_option(args, "--allow-undo");
	if (undo && !page)
		return usage_error(args->command, "--allow-undo needs --page");
	int code = page ? stet_server_set(server, STET_SERVER_PAGE, 1, &err) : 0;
	if (code == 0 && undo)
		code = stet_server_set(server, STET_SERVER_ALLOW_UNDO, 1, &err);
	return code < 0 ? report(&err) : DONE;
}

static int configure_server(struct stet_server *server, const struct arguments *args) {
	int status = add_tokens(server, args);
	if (status == DONE)
		status = add_page(server, args);
	if (status == DONE)
		status = allow_everybody(server, args);
	if (status == DONE)
		status = add_tls(server, args);
	if (status == DONE)
		status = add_access_log(server, args);
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
	struct sigaction action = {.sa_handler = stop_server};
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	action.sa_handler = reload_tokens;
	sigaction(SIGHUP, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* The address of the page: that of the MCP endpoint without its path. A browser cannot use a Unix socket. */
static void print_page(const struct stet_server *server, const char *token) {
	const char *url = stet_server_url(server);
	size_t len = strlen(url) - strlen("/mcp");
	if (strncmp(url, "http", 4) == 0)
		printf("page: %.*s/%s%.*s\n", (int)len, url, *token ? "#token=" : "",
		       (int)strcspn(token, "\n"), token);
}

/* Print the token itself only to a terminal: any other output may be a log that others can read. */
static int show_token(const struct stet_server *server, bool page) {
	const char *path = stet_server_own_token(server);
	char *text = NULL;
	size_t len = 0;
	if (path)
		printf("token file: %s\n", path);
	if (!path || !isatty(STDOUT_FILENO)) {
		if (page)
			print_page(server, "");
		return DONE;
	}
	int status = slurp(path, &text, &len);
	if (status == DONE)
		printf("Authorization: Bearer %.*s\n", (int)strcspn(text, "\n"), text);
	if (status == DONE && page)
		print_page(server, text);
	if (text)
		explicit_bzero(text, len);
	free(text);
	return status;
}

static int print_address_json(const struct stet_server *server) {
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

static int print_address(const struct stet_server *server, bool page) {
	if (is_json())
		return print_address_json(server);
	puts(stet_server_url(server));
	int status = show_token(server, page);
	return status == DONE ? done() : status;
}

static int listen_and_run(struct stet_server *server, const struct arguments *args) {
	struct stet_error err = {0};
	const char *address = option_value(args, "--listen");
	if (stet_server_listen(server, address ? address : "127.0.0.1", &err) < 0)
		return report(&err);
	running = server;
	stet_server_notices(server, print_notice, NULL);
	handle_signals();
	int status = print_address(server, has_option(args, "--page"));
	if (status != DONE)
		return status;
	if (stet_server_run(server))
		return DONE;
	complain("a call does not end; exiting without it");
	_Exit(SYSTEM);
}

static int run_serve(const struct options *options, const struct arguments *args) {
	struct stet_error err = {0};
	struct stet_host *host = NULL;
	struct stet_server *server = NULL;
	/* If clients shared a session, what one has read would let another overwrite it. */
	if (options->session_named)
		return usage_error(args->command,
		                   "--session is not allowed here: each client has a session of its own, "
		                   "or names one in its calls (session). Use stet mcp for one agent");
	int status = host_open(options, args, &host);
	if (status != DONE)
		return status;
	if (stet_server_new(host, option_value(args, "--tools"), &server, &err) < 0)
		status = report(&err);
	if (status == DONE)
		status = configure_server(server, args);
	if (status == DONE)
		status = listen_and_run(server, args);
	stet_server_free(server);
	host_close(host);
	return status;
}

static const struct option serve_options[] = {
	{"--listen", "ADDR",
     "the address and port to listen on, 127.0.0.1 and any free port by default; or unix:PATH, or "
     "systemd for the socket of a unit"},
	{"--token-file", "FILE",
     "accept the tokens in this file, one per line, instead of your own; may be repeated"},
	{"--no-auth", NULL, "require no token; every user of this machine can then use the server"},
	{"--tls-cert", "FILE", "use TLS with this certificate (PEM, with those that lead to its root)"},
	{"--tls-key", "FILE", "the private key of the certificate"},
	{"--insecure", NULL, "let other machines connect without TLS"},
	{"--access-log", "FILE", "append a line of JSON for each request; - for standard error"},
	{"--host", "NAME", "another name that clients may use for this host; may be repeated"},
	{"--page", NULL, "serve a page, too, to watch in a browser what agents do to the files"},
	{"--allow-undo", NULL, "with --page: undo and redo writes from the page"},
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
		"Prometheus. On a signal, the server finishes the calls that are running, and ends.\n\n"
		"Each client has a session of its own: what one client has read does not count for "
		"another, and a conflict names the session that wrote. Clients of protocol 2026-07-28 "
		"have no session; to replace or delete whole files, they name one in their calls "
		"(session). So there is no --session here, and STET_SESSION is ignored.\n\n"
		"Clients need a token (Authorization: Bearer). By default it is the token in your token "
		"file, ~/.local/state/stet/token, which the first start creates; --token-file or the "
		"environment variable STET_TOKEN replace it. The server refuses a token file that other "
		"users can read. After a token, its line may have name=NAME, read-only, and root=DIR for "
		"each directory that it is limited to. Session names belong to the token, or to its name. "
		"On SIGHUP the server reads token files and certificate again.\n\n"
		"Only this machine can reach the server, unless --listen says otherwise; then you have to "
		"give a token, and a certificate (--tls-cert, --tls-key). A Unix socket (--listen "
		"unix:PATH) needs no token: it serves only your own "
		"processes and root's. The server refuses requests that name another host than this one, "
		"because a web page may have sent them; see --host.",
	.max = -1,
	.options = serve_options,
	.examples =
		(const struct example[]){
			{"stet serve", "the working directory, for clients on this machine"},
			{"stet serve --listen 127.0.0.1:7070 src docs", "two directories, at a fixed port"},
			{"stet serve --listen unix:stet.sock", "at a Unix socket, without a token"},
			{"stet serve --page", "with a page to watch the agents"},
			{"stet serve --listen 0.0.0.0:7070 --token-file tokens --tls-cert cert.pem --tls-key "
             "key.pem",
             "for clients on other machines"},
			{0},
		},
	.run = run_serve,
};
