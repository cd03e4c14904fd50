/**
 * The commands of the command line: a table, and how their arguments are read.
 *
 * A command is a file cmd_NAME.c with one `const struct command`. The table
 * says all that there is to say about it: the parser, --help, the man pages,
 * the shell completions and docs/commands.md are made from it.
 *
 *     static const struct option options[] = {
 *             {"--limit", "N", "print at most N lines"},
 *             {"--order", "name|size", "what comes first"},
 *             {"--quiet", NULL, "print nothing"},
 *             OPTIONS_END,
 *     };
 *
 *     static int run(const struct options *options, const struct arguments *args) {
 *             if (has_option(args, "--quiet"))
 *                     ...
 *             return done();
 *     }
 *
 *     const struct command list_command = {
 *             .name = "list",
 *             .summary = "list what is there",
 *             .synopsis = "[PATH]",
 *             .description = "Whole sentences, a paragraph or two.",
 *             .max = 1,
 *             .options = options,
 *             .examples = (const struct example[]){{"stet list src", "what is below src"}, {0}},
 *             .run = run,
 *     };
 *
 * Conventions. Answers go to standard output, everything else to standard
 * error. The exit status is one of enum status; stet_error_exit() of a code is
 * the right one. In a synopsis FILE is any file, and `-` is standard input,
 * through slurp(); PATH is a file of the workspace. With --json the answer is
 * one object, through put_json(). See output.h for
 * colours, tables and progress, and work.h for opening a workspace and calling
 * a tool.
 */
#ifndef STET_CLI_COMMANDS_H
#define STET_CLI_COMMANDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stet/stet.h"

/** The exit status. */
enum status {
	DONE = 0,
	/** A conflict, no match: what was asked was not done, and the answer says why. */
	REFUSED = 1,
	/** Wrong usage, or input that cannot be used. */
	USAGE = 2,
	/** The system failed. */
	SYSTEM = 3,
};

/** The options that every command takes, before its name or behind it. */
struct options {
	/** The workspace; "." by default. */
	const char *root;
	/** A name for the session; NULL for none. By --session, or else by STET_SESSION. */
	const char *session;
	bool session_named;
	/** The command's: it fails where the state of the work is not kept. */
	bool state;
	bool json;
	/** KEY=VALUE of each --set, and how many. */
	const char *set[16];
	int set_count;
	/** --help was asked for; main answers it. */
	bool help;
	/** "auto", "always" or "never"; what it comes to is in output.h. */
	const char *color;
};

struct option {
	/** With its dashes. A table ends with OPTIONS_END. */
	const char *name;
	/**
	 * What its value is called: "N", "FILE", "DIR"; or the words that it may
	 * be, as "refuse|merge", and others are refused. NULL for a flag.
	 */
	const char *value;
	/** A few words without a full stop. */
	const char *description;
};

#define OPTIONS_END \
	{ 0 }

/** A line that can be typed, and what it does. A list ends with {0}. */
struct example {
	const char *line;
	const char *what;
};

struct arguments;

struct command {
	const char *name;
	/** A few words for the list of commands. */
	const char *summary;
	/** The operands, as "PATH [TEXT]"; words to choose from as "add|done". May be NULL. */
	const char *synopsis;
	/** Sentences; paragraphs are separated by "\n\n". */
	const char *description;
	/** How many operands there must be, and may be; -1 for any number. */
	int min;
	int max;
	/** A PATH of "-" is standard input; elsewhere that is refused, with a sentence. */
	bool input;
	/** It is about the state of the work, and fails where that is not kept. */
	bool state;
	/** May be NULL. */
	const struct option *options;
	/** At least one. */
	const struct example *examples;
	/** Returns the exit status. */
	int (*run)(const struct options *options, const struct arguments *args);
};

/** All commands, in the order of the help, ending with NULL. */
extern const struct command *const commands[];

/** The options of every command. */
extern const struct option common_options[];

/** The command of a name; NULL if there is none. */
const struct command *command_find(const char *name);

extern const struct command agents_command;
extern const struct command changes_command;
extern const struct command check_command;
extern const struct command compact_command;
extern const struct command doctor_command;
extern const struct command edit_command;
extern const struct command hash_command;
extern const struct command inspect_command;
extern const struct command log_command;
extern const struct command mcp_command;
extern const struct command patch_command;
extern const struct command prompt_command;
extern const struct command read_command;
extern const struct command record_command;
extern const struct command replace_command;
extern const struct command replay_command;
extern const struct command serve_command;
extern const struct command setup_command;
extern const struct command snapshot_command;
extern const struct command story_command;
extern const struct command task_command;
extern const struct command undo_command;
extern const struct command watch_command;
extern const struct command write_command;

/** An option that was given. */
struct option_value {
	const char *name;
	const char *value;
};

/** What was given to a command, checked against its table. */
struct arguments {
	const struct command *command;
	const char **operands;
	int count;
	struct option_value *option_value;
	int option_count;
};

/** The n-th operand, from 0; NULL if there are fewer. */
const char *operand(const struct arguments *args, int n);

bool has_option(const struct arguments *args, const char *name);

/** The value of an option, the last one if it was given several times; NULL if it was not. */
const char *option_value(const struct arguments *args, const char *name);

/** The n-th value, from 0, of an option that may be given several times; NULL beyond the last. */
const char *option_value_at(const struct arguments *args, const char *name, int n);

/**
 * The value of an option as a number between min and max, or the fallback if
 * it was not given.
 *
 * @return DONE, or USAGE after saying what is wrong.
 */
int option_number(const struct arguments *args, const char *name, int64_t min, int64_t max,
                  int64_t fallback, int64_t *out);

/**
 * Read what stands behind a command's name. Options of every command go to
 * options, the rest to args.
 *
 * @return DONE, USAGE after saying what is wrong, or SYSTEM.
 */
int arguments_read(struct arguments *args, struct options *options, int argc, char **argv);
void arguments_release(struct arguments *args);

/** Take one option of every command: how many arguments it used, 0 if it is none, -1 if it is wrong. */
int common_option_read(struct options *options, int argc, char **argv);

/** Say how a command is misused, and how to learn more. Returns USAGE. */
__attribute__((format(printf, 2, 3))) int usage_error(const struct command *command,
                                                      const char *format, ...);

/** Print what --help says of a command, or of all. Returns the exit status. */
int help_command(const struct command *command);
int help_all(void);

/** Of words, ending with NULL, the one that was probably meant; NULL if none is near. */
const char *suggest(const char *typed, const char *const *names);

/** The name of a command that was probably meant, or NULL. */
const char *suggest_command(const char *typed);

#endif
