/**
 * The program stet: reads the options before the command, and runs the command.
 *
 * A map of the source, the lowest layer first: each includes only those listed
 * before it; src/cli includes include/stet alone.
 *
 * - include/stet/  The library as programs see it. Start with stet.h.
 * - src/base/      Buffers, views, errors, JSON, UTF-8.
 * - src/text/      Lines, search, replace, patch, diff: bytes in, bytes out.
 * - src/fs/        Files below one root, and replacing them safely.
 * - src/hub/       A PostgreSQL database that machines share.
 * - src/core/      Workspaces, sessions and what each has seen, the state.
 * - src/hook/      Events of agents' own tools in, decisions out.
 * - src/tools/     The tools that agents call by name, with JSON.
 * - src/mcp/       The Model Context Protocol, without a socket.
 * - src/net/       Event loop, threads, stdio and HTTP.
 * - src/cli/       This program, on the public headers alone.
 *
 * Beside them: eval/ (recorded runs, for stet replay), tests/, bench/ and fuzz/
 * with one program per file, and tools/, the scripts behind the Makefile.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/output.h"

static int print_version(void) {
	printf("stet %s\n", stet_version());
	return done();
}

static int unknown_command(const char *name) {
	const char *near = suggest_command(name);
	return near ? usage_error(NULL, "there is no command \"%s\". Did you mean %s?", name, near)
	            : usage_error(NULL, "there is no command \"%s\"", name);
}

/* Read the options before the command. Returns the index of the command, or -1 after an error. */
static int read_options(int argc, char **argv, struct options *options) {
	int i = 1;
	for (int used = 0; i < argc && argv[i][0] == '-'; i += used) {
		used = common_option_read(options, argc - i, argv + i);
		if (used == 0)
			usage_error(NULL, "there is no option %s", argv[i]);
		if (used <= 0)
			return -1;
	}
	return i;
}

static int run_command(const struct command *command, struct options *options, int argc,
                       char **argv) {
	struct arguments args = {.command = command};
	int status = arguments_read(&args, options, argc, argv);
	if (status == DONE) {
		output_init(options->color);
		options->state = command->state;
		status = options->help ? help_command(command) : command->run(options, &args);
	}
	arguments_release(&args);
	return command->always_done ? DONE : status;
}

/* The status after an error in the options before the command, which one of the arguments names. */
static int refused_status(int argc, char **argv) {
	for (int i = 1; i < argc; i++) {
		const struct command *command = command_find(argv[i]);
		if (command && command->always_done)
			return DONE;
	}
	return USAGE;
}

/* Find --json first, so that errors in other arguments are reported as JSON too. */
static void find_json(int argc, char **argv) {
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (strcmp(argv[i], "--json") == 0)
			output_json();
	}
}

int main(int argc, char **argv) {
	const char *root = getenv("STET_ROOT"), *session = getenv("STET_SESSION");
	struct options options = {
		.root = root && *root ? root : ".",
		.session = session && *session ? session : NULL,
	};
	output_init(NULL);
	find_json(argc, argv);
	if (argc == 2 && strcmp(argv[1], "--version") == 0)
		return print_version();
	int first = read_options(argc, argv, &options);
	if (first < 0)
		return refused_status(argc, argv);
	output_init(options.color);
	if (first == argc && options.help)
		return help_all();
	if (first == argc)
		return usage_error(NULL, "a command is missing");
	if (strcmp(argv[first], "help") == 0) {
		options.help = true;
		if (++first == argc)
			return help_all();
	}
	const struct command *command = command_find(argv[first]);
	if (!command)
		return unknown_command(argv[first]);
	return run_command(command, &options, argc - first, argv + first);
}
