/* Print --help from the table of commands. */
#include <string.h>

#include "cli/output.h"

/* The width at which paragraphs break. */
enum { WIDTH = 80 };

/* Print a text in indented lines; the output is already at a column. */
static void print_wrapped(const char *text, size_t column, size_t indent) {
	bool first = true;
	while (*text) {
		size_t len = strcspn(text, " \n");
		if (text[0] == '\n') {
			printf("\n%*s", (int)indent, "");
			column = indent;
			first = true;
			text++;
			continue;
		}
		if (!first && column + 1 + len > WIDTH) {
			printf("\n%*s", (int)indent, "");
			column = indent;
			first = true;
		}
		printf("%s%.*s", first ? "" : " ", (int)len, text);
		column += len + !first;
		first = false;
		text += len + (text[len] == ' ');
	}
	putchar('\n');
}

static void print_options(const struct option *option) {
	for (; option && option->name; option++) {
		int used = printf("  %s%s%s", option->name, option->value ? " " : "",
		                  option->value ? option->value : "");
		size_t indent = 22;
		if (used >= 21)
			printf("\n%*s", (int)indent, "");
		else
			printf("%*s", (int)indent - used, "");
		print_wrapped(option->description, indent, indent);
	}
}

static void print_examples(const struct example *example) {
	for (; example && example->line; example++)
		printf("  # %s\n  %s\n", example->what, example->line);
}

int help_command(const struct command *command) {
	const char *heading = paint(stdout, BOLD), *plain = paint(stdout, PLAIN);
	printf("Usage: stet %s%s%s%s\n\n", command->name, command->options ? " [OPTION...]" : "",
	       command->synopsis ? " " : "", command->synopsis ? command->synopsis : "");
	print_wrapped(command->description, 0, 0);
	if (command->options) {
		printf("\n%sOptions%s\n", heading, plain);
		print_options(command->options);
	}
	printf("\n%sOptions of every command%s\n", heading, plain);
	print_options(common_options);
	printf("\n%sExamples%s\n", heading, plain);
	print_examples(command->examples);
	return done();
}

int help_all(void) {
	const char *heading = paint(stdout, BOLD), *plain = paint(stdout, PLAIN);
	puts(
		"Usage: stet [OPTION...] COMMAND [ARGUMENT...]\n"
		"       stet --version\n"
		"\n"
		"The file layer between coding agents and a repository.");
	printf("\n%sCommands%s\n", heading, plain);
	for (const struct command *const *command = commands; *command; command++)
		printf("  %-9s %s\n", (*command)->name, (*command)->summary);
	printf("\n%sOptions%s\n", heading, plain);
	print_options(common_options);
	puts(
		"\nExit status: 0 done, 1 refused (a conflict, no match), 2 wrong usage or input,\n"
		"3 the system failed. stet COMMAND --help shows the help of a command.");
	return done();
}
