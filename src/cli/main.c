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
 * - src/cli/       This program, on the public headers alone.
 *
 * Beside them: tests/, bench/ and fuzz/, each with one program per file, and
 * tools/, the scripts behind the Makefile.
 */
#include <stdio.h>
#include <string.h>

#include "stet/stet.h"

static const char usage[] =
	"Usage: stet [--version] [--help]\n"
	"\n"
	"The file layer between coding agents and a repository.\n"
	"\n"
	"  --version  print the version\n"
	"  --help     print this\n";

/* Output that did not arrive is a failure: stdout may be a full disk. */
static int print(const char *text) {
	if (fputs(text, stdout) == EOF || fflush(stdout) == EOF) {
		perror("stet: cannot write to standard output");
		return 3;
	}
	return 0;
}

static int print_version(void) {
	char line[64];
	snprintf(line, sizeof line, "stet %s\n", stet_version());
	return print(line);
}

int main(int argc, char **argv) {
	if (argc < 2) {
		fputs(usage, stderr);
		return 2;
	}
	if (strcmp(argv[1], "--version") == 0)
		return print_version();
	if (strcmp(argv[1], "--help") == 0)
		return print(usage);
	fprintf(stderr, "stet: unknown command \"%s\". Try stet --help.\n", argv[1]);
	return 2;
}
