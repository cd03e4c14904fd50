/**
 * The command line: picks the command and hands over.
 *
 * A map of the source, from the ground up. Each layer includes only the ones
 * above it in this list.
 *
 * - include/stet/  The library as programs see it. Start with stet.h.
 * - src/base/      Buffers, views, errors, UTF-8: what C forgot to bring.
 * - src/text/      Lines, search, replace, patch, diff: bytes in, bytes out.
 * - src/fs/        Files below one root, and replacing them safely.
 * - src/core/      Workspace, sessions, and what each of them has seen.
 * - src/tools/     What an agent can call, by name and with JSON.
 * - src/cli/       This program, on the public headers alone.
 *
 * Beside them: tests/, bench/ and fuzz/, each with one program per file, and
 * tools/, the scripts behind the Makefile.
 */
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"

static void print_usage(FILE *out) {
	fputs(
		"Usage: stet [--root DIR] [--session NAME] [--json] COMMAND [ARGUMENT...]\n"
		"       stet --version | --help\n"
		"\n"
		"The file layer between coding agents and a repository.\n"
		"\n",
		out);
	for (const struct command *const *command = commands; *command; command++)
		fprintf(out, "  %-8s  %s\n", (*command)->name, (*command)->summary);
	fputs(
		"\n"
		"stet COMMAND --help tells more about one.\n",
		out);
}

static int print_version(void) {
	printf("stet %s\n", stet_version());
	return flush_output();
}

static int print_help(void) {
	print_usage(stdout);
	return flush_output();
}

static int fail(const char *problem, const char *what) {
	fprintf(stderr, "stet: %s \"%s\". Try stet --help.\n", problem, what);
	return 2;
}

/* The options before the command: how many arguments they take, or -1 if one is wrong. */
static int parse(int argc, char **argv, struct options *options) {
	int i = 1;
	for (; i < argc && argv[i][0] == '-'; i++) {
		bool root = strcmp(argv[i], "--root") == 0;
		if (strcmp(argv[i], "--json") == 0)
			options->json = true;
		else if ((root || strcmp(argv[i], "--session") == 0) && i + 1 < argc)
			*(root ? &options->root : &options->session) = argv[++i];
		else
			return -i;
	}
	return i;
}

static int run(const struct command *command, const struct options *options, int argc,
               char **argv) {
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (strcmp(argv[i], "--help") == 0) {
			printf("Usage: stet %s %s", command->name, command->usage);
			return flush_output();
		}
	}
	return command->run(options, argc, argv);
}

int main(int argc, char **argv) {
	struct options options = {.root = "."};
	if (argc == 2 && strcmp(argv[1], "--version") == 0)
		return print_version();
	if (argc == 2 && strcmp(argv[1], "--help") == 0)
		return print_help();
	int first = parse(argc, argv, &options);
	if (first < 0)
		return fail("there is no such option, or it lacks its value:", argv[-first]);
	if (first == argc) {
		print_usage(stderr);
		return 2;
	}
	const struct command *command = command_find(argv[first]);
	if (!command)
		return fail("unknown command", argv[first]);
	return run(command, &options, argc - first, argv + first);
}
