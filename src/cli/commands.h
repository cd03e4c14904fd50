/**
 * The table of commands, and reading their arguments.
 *
 * A command is a file cmd/NAME.c with one `const struct command`. The parser,
 * --help, the man pages, the shell completions and docs/commands.md all come
 * from this table.
 *
 *     static const struct option options[] = {
 *             {"--limit", "N", "print at most N lines"},
 *             {"--order", "name|size", "what comes first"},
 *             {"--quiet", NULL, "print nothing"},
 *             OPTIONS_END,
 *     };
 *
 *     static int run_list(const struct options *options, const struct arguments *args) {
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
 *             .run = run_list,
 *     };
 *
 * Conventions. Answers go to standard output, everything else to standard
 * error. The exit status is one of enum status; stet_error_exit() gives the one
 * for an error code. In a synopsis, FILE is any file, where `-` means standard
 * input (slurp()); PATH is a file of the workspace. With --json the answer is
 * one object (put_json()). See output.h for colours, tables and progress, and
 * cli.h for opening a workspace and calling a tool.
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
	/** Refused: a conflict, no match. The answer says why. */
	REFUSED = 1,
	/** Wrong usage or invalid input. */
	USAGE = 2,
	/** The system failed. */
	SYSTEM = 3,
};

/** The options of every command, given before or after its name. */
struct options {
	/** The workspace; "." by default. */
	const char *root;
	/** The session's name, from --session or STET_SESSION; NULL for none. */
	const char *session;
	/** The name came from --session. */
	bool session_named;
	/** Copied from the command: fail if the state of the work cannot be saved. */
	bool state;
	bool json;
	/** The KEY=VALUE of each --set. */
	const char *set[16];
	int set_count;
	/** The user asked for --help; main prints it. */
	bool help;
	/** "auto", "always" or "never"; see output_init(). */
	const char *color;
};

struct option {
	/** With its dashes. A table ends with OPTIONS_END. */
	const char *name;
	/**
	 * The name of its value: "N", "FILE", "DIR"; or the allowed words, such as
	 * "refuse|merge". NULL for a flag.
	 */
	const char *value;
	/** A few words without a full stop. */
	const char *description;
};

#define OPTIONS_END \
	{ 0 }

/** A command line, and what it does. A list ends with {0}. */
struct example {
	const char *line;
	const char *what;
};

struct arguments;

struct command {
	const char *name;
	/** A few words for the list of commands. */
	const char *summary;
	/** The operands, as "PATH [TEXT]"; allowed words as "add|done". May be NULL. */
	const char *synopsis;
	/** Sentences; paragraphs are separated by "\n\n". */
	const char *description;
	/** The least and the most operands; -1 for any number. */
	int min;
	int max;
	/** Accepts "-" for standard input as PATH; other commands refuse it. */
	bool input;
	/** Uses the state of the work, and fails if that cannot be saved. */
	bool state;
	/**
	 * Exits with 0 even after an error in its arguments: to an agent, a hook
	 * that ends with 2 blocks the tool.
	 */
	bool always_done;
	/** May be NULL. */
	const struct option *options;
	/** At least one. */
	const struct example *examples;
	/** Returns the exit status. */
	int (*run)(const struct options *options, const struct arguments *args);
};

/** All commands in the order of the help; the last entry is NULL. */
extern const struct command *const commands[];

/** The options of every command. */
extern const struct option common_options[];

/** Find a command by its name; NULL if there is none. */
const struct command *command_find(const char *name);

extern const struct command agents_command;
extern const struct command changes_command;
extern const struct command check_command;
extern const struct command compact_command;
extern const struct command diff_command;
extern const struct command doctor_command;
extern const struct command edit_command;
extern const struct command forecast_command;
extern const struct command grep_command;
extern const struct command hash_command;
extern const struct command hook_command;
extern const struct command inspect_command;
extern const struct command log_command;
extern const struct command mcp_command;
extern const struct command page_command;
extern const struct command patch_command;
extern const struct command apply_command;
extern const struct command prompt_command;
extern const struct command read_command;
extern const struct command record_command;
extern const struct command replace_command;
extern const struct command replay_command;
extern const struct command serve_command;
extern const struct command setup_command;
extern const struct command show_command;
extern const struct command snapshot_command;
extern const struct command story_command;
extern const struct command task_command;
extern const struct command top_command;
extern const struct command undo_command;
extern const struct command watch_command;
extern const struct command who_command;
extern const struct command write_command;

/** An option that the user gave. */
struct option_value {
	const char *name;
	const char *value;
};

/** The operands and options of a command, checked against its table. */
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

/** The last value of an option; NULL if the user did not give it. */
const char *option_value(const struct arguments *args, const char *name);

/** The n-th value, from 0, of an option that may be repeated; NULL after the last. */
const char *option_value_at(const struct arguments *args, const char *name, int n);

/**
 * The value of an option as a number between min and max; the fallback if the
 * user did not give it.
 *
 * @return DONE, or USAGE after reporting an error.
 */
int option_number(const struct arguments *args, const char *name, int64_t min, int64_t max,
                  int64_t fallback, int64_t *out);

/**
 * Read the arguments after a command's name: options of every command into
 * `options`, the rest into `args`.
 *
 * @return DONE, USAGE after reporting an error, or SYSTEM.
 */
int arguments_read(struct arguments *args, struct options *options, int argc, char **argv);
void arguments_release(struct arguments *args);

/** Read one option of every command. Returns how many arguments it used, 0 if it is another option, -1 on an error. */
int common_option_read(struct options *options, int argc, char **argv);

/** Print what is wrong with the command line, and how to get help. Returns USAGE. */
__attribute__((format(printf, 2, 3))) int usage_error(const struct command *command,
                                                      const char *format, ...);

/** Print the help of a command, or of all. Returns the exit status. */
int help_command(const struct command *command);
int help_all(void);

/** The name that the user probably meant; NULL if none is similar. The last of the names is NULL. */
const char *suggest(const char *typed, const char *const *names);

/** The name of the command that the user probably meant; NULL if none is similar. */
const char *suggest_command(const char *typed);

#endif
