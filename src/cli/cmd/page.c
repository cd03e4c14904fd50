/* stet page: watch in a browser what agents do to the files. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "cli/browser.h"
#include "cli/cli.h"
#include "cli/host.h"

enum { TOKEN_BYTES = 24 };

/* The server that the signal handler stops. */
static struct stet_server *running;

static void stop_server(int number) {
	stet_server_stop(running);
}

static void handle_signals(void) {
	struct sigaction action = {.sa_handler = stop_server};
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* A token for this run alone: the address holds it, and may end up in a history or a log. */
static int make_token(char token[2 * TOKEN_BYTES + 1]) {
	unsigned char bytes[TOKEN_BYTES];
	if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
		return report_as(STET_E_IO, "No random numbers for a token: %s.", strerror(errno));
	for (size_t i = 0; i < sizeof bytes; i++)
		snprintf(token + 2 * i, 3, "%02x", bytes[i]);
	return DONE;
}

/* "http://127.0.0.1:8080/#token=...", from the address of the MCP endpoint. */
static void write_address(const struct stet_server *server, const char *token, char *out,
                          size_t size) {
	const char *url = stet_server_url(server);
	int len = (int)strlen(url) - (int)strlen("/mcp");
	snprintf(out, size, "%.*s/#token=%s", len, url, token);
}

static int print_address(const char *address) {
	if (is_json()) {
		struct stet_json *json = stet_json_new();
		if (!json)
			return report_nomem();
		stet_json_set_text(json, "/url", address, strlen(address));
		int status = put_json(json);
		stet_json_free(json);
		return status;
	}
	puts(address);
	return done();
}

static int listen_and_run(struct stet_server *server, const struct arguments *args,
                          const char *token) {
	struct stet_error err = {0};
	struct browser_file file = {0};
	char address[512];
	const char *listen = option_value(args, "--listen");
	if (stet_server_listen(server, listen ? listen : "127.0.0.1", &err) < 0)
		return report(&err);
	running = server;
	handle_signals();
	write_address(server, token, address, sizeof address);
	int status = print_address(address);
	if (status != DONE)
		return status;
	if (!has_option(args, "--no-open") && isatty(STDOUT_FILENO))
		(void)browser_open(&file, address);
	int ended = stet_server_run(server);
	browser_close(&file);
	if (ended)
		return DONE;
	complain("a call does not end; exiting without it");
	_Exit(SYSTEM);
}

static int configure_server(struct stet_server *server, const struct arguments *args,
                            const char *token) {
	struct stet_error err = {0};
	int code = stet_server_set(server, STET_SERVER_PAGE, 2, &err);
	if (code == 0 && has_option(args, "--allow-undo"))
		code = stet_server_set(server, STET_SERVER_ALLOW_UNDO, 1, &err);
	if (code == 0)
		code = stet_server_tokens(server, token, strlen(token), &err);
	return code < 0 ? report(&err) : DONE;
}

static int run_page(const struct options *options, const struct arguments *args) {
	struct stet_error err = {0};
	struct stet_host *host = NULL;
	struct stet_server *server = NULL;
	char token[2 * TOKEN_BYTES + 1];
	const char *listen = option_value(args, "--listen");
	if (listen && strncmp(listen, "unix:", 5) == 0)
		return usage_error(args->command,
		                   "a browser cannot use a Unix socket: give --listen an "
		                   "address and a port");
	int status = make_token(token);
	if (status == DONE)
		status = host_open(options, args, &host);
	if (status != DONE)
		return status;
	if (stet_server_new(host, NULL, &server, &err) < 0)
		status = report(&err);
	if (status == DONE)
		status = configure_server(server, args, token);
	if (status == DONE)
		status = listen_and_run(server, args, token);
	stet_server_free(server);
	host_close(host);
	return status;
}

static const struct option page_options[] = {
	{"--allow-undo", NULL, "undo and redo writes from the page; without it the page only shows"},
	{"--no-open", NULL, "print the address only, and start no browser"},
	{"--listen", "ADDR",
     "the address of this machine and the port to listen on; 127.0.0.1 and any free port by "
     "default"},
	{"--ext", "ENDINGS", "show the contents only of files with these endings, such as .md,.txt"},
	{"--state-dir", "NAME", "the state directory below each directory; .stet by default"},
	OPTIONS_END,
};

const struct command page_command = {
	.name = "page",
	.summary = "watch in a browser what agents do to the files",
	.synopsis = "[DIR...]",
	.description =
		"Serves a page that shows, live, what agents do to the files of each DIR, or of the root: "
		"who works on what, conflicts and what became of them, the history of writes with their "
		"diffs, and how many tokens were sent to whom. Prints the address of the page, and opens "
		"it in the browser if there is a desktop. Ends on a signal.\n\n"
		"The page reads the log and the state that the agents' own stet processes write, so it can "
		"be started at any time. The address holds a token that is valid until the command ends; "
		"anybody who has the address sees the files' history. Only this machine can reach the "
        "page; "
		"stet serve --page can let in others.\n\n"
		"The page changes nothing without --allow-undo; with it, each undo is previewed first. "
		"stet serve --page adds the page to an MCP server. stet top shows the same in a terminal.",
	.max = -1,
	.options = page_options,
	.examples =
		(const struct example[]){
			{"stet page", "what happens in the working directory"},
			{"stet page --allow-undo ~/project", "and take it back"},
			{0},
		},
	.run = run_page,
};
