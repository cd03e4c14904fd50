/**
 * The workspace and session of a command, and calling a tool in them.
 *
 * This folder is the program `stet`, built on the public headers: reading
 * arguments (commands.h), printing (output.h), and one file per command (cmd/).
 * Most commands open a workspace, call one tool and print its answer:
 *
 *     struct cli cli;
 *     int status = cli_open(&cli, options);
 *     if (status != DONE)
 *             return status;
 *     return cli_close(&cli, cli_call(&cli, "read_file", cli_args(path), NULL));
 */
#ifndef STET_CLI_CLI_H
#define STET_CLI_CLI_H

#include "cli/output.h"

struct cli {
	const struct options *options;
	struct stet_workspace *ws;
	struct stet_session *session;
	/** The configuration in force. */
	struct stet_config *config;
	/** Called with every answer of cli_call(), before it is printed; may be NULL. */
	void (*look)(const struct stet_json *answer);
};

/**
 * Set the options of a workspace by its configuration and --set. Prints the
 * notices of the configuration.
 *
 * @out  Receives the configuration, which the caller frees; may be NULL.
 * @return DONE, or the exit status after reporting an error.
 */
int configure(const struct options *options, struct stet_workspace *ws, struct stet_config **out);

/** Open a configured workspace and a session. Returns DONE, or the exit status after reporting an error. */
int cli_open(struct cli *cli, const struct options *options);

/** Log snapshots to the file of the option --log, if there is one. Returns the exit status. */
int cli_log(struct cli *cli, const struct arguments *args);

/** Print the remaining notices and close. Returns `status`, or another one if the state could not be saved. */
int cli_close(struct cli *cli, int status);

/** Prints an answer for people; NULL prints the answer's text. */
typedef void cli_show(const struct stet_json *answer);

/**
 * Call a tool and print its answer: with --json, the whole data; otherwise
 * `show` prints it. A failure's message and diff go to standard error.
 *
 * @args  The arguments; freed here.
 * @return The exit status.
 */
int cli_call(struct cli *cli, const char *tool, struct stet_json *args, cli_show *show);

/**
 * Open, call, close.
 *
 * @status  The status of making the arguments. If it is not DONE, this only
 *          frees them and returns it.
 */
int cli_run(const struct options *options, int status, const char *tool, struct stet_json *args,
            cli_show *show);

/** The arguments of a tool with a path; NULL if memory ran out. */
struct stet_json *cli_args(const char *path);

/** The options of commands that change files, for their tables. */
#define CHANGE_OPTIONS \
	{"--expect", "HASH", "refuse unless the file has this hash (16 to 64 digits)"}, { \
		"--on-stale", "refuse|merge", "what to do if the file changed since it was read" \
	}

/** As cli_args(), with the first operand as path and the values of CHANGE_OPTIONS. */
struct stet_json *cli_change_args(const struct arguments *args);

/** The options that name a run of writes, for the tables of commands. */
#define RUN_OPTIONS \
	{"--of", "NAME", "the writes of a session"}, {"--story", "ID", "the writes of a story"}, { \
		"--since", "TIME", \
			"the writes since 30s, 10m, 2h or 1d ago, or since 2026-01-31T12:00:00Z" \
	}

/** Whether one of them was given. */
bool has_run_option(const struct arguments *args);

/** Set the members that they and --id stand for. Returns the status. */
int set_run_options(struct stet_json *json, const struct arguments *args);

/** Prints the answer of the tools history and undo. */
cli_show show_history;

/** Set a member to an operand, or to standard input if it is "-". Returns the exit status. */
int set_operand(struct stet_json *json, const char *pointer, const char *text);

/** Set a member to the value of an option, if the user gave it. */
void set_option(struct stet_json *json, const char *pointer, const struct arguments *args,
                const char *name);

/** Prints the answer of a tool that changes a file: its first lines, and the change as a diff. */
cli_show show_change;

/**
 * Read a file, or standard input if its name is "-". At most 64 MiB.
 *
 * @out    Receives the bytes, NUL-ended; the caller frees them with free().
 * @return DONE, or the exit status after reporting an error.
 */
int slurp(const char *name, char **out, size_t *len);

#endif
