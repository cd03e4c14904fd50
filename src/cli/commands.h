/** The commands of the command line: a table, and what they share. */
#ifndef STET_CLI_COMMANDS_H
#define STET_CLI_COMMANDS_H

#include <stdbool.h>
#include <stddef.h>

#include "stet/stet.h"

/** What stands before the command. */
struct options {
	/** The workspace; "." by default. */
	const char *root;
	/** A name for the session; NULL for none. */
	const char *session;
	bool json;
};

struct command {
	const char *name;
	/** A few words for the list of commands. */
	const char *summary;
	/** Behind "Usage: stet NAME ", with a line per option. */
	const char *usage;
	/** argv[0] is the command's name. Returns the exit status. */
	int (*run)(const struct options *options, int argc, char **argv);
};

/** All commands, ending with NULL. */
extern const struct command *const commands[];

/** The command of a name; NULL if there is none. */
const struct command *command_find(const char *name);

extern const struct command agents_command;

/** Say on standard error how a command is used. Returns 2. */
int usage_error(const struct command *command, const char *problem, const char *what);

/** Say why a call failed. Returns the exit status that belongs to the error. */
int report(const struct stet_error *err);

/** Write to standard output; what did not arrive is noticed by flush_output(). */
void put(const char *text, size_t len);

/** The exit status: 0, or 3 with a message if the output was lost. */
int flush_output(void);

#endif
