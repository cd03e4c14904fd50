/**
 * What most commands begin with: an open workspace and a session, and a tool
 * called in it.
 *
 *     struct work work;
 *     int status = cli_open(&work, options);
 *     if (status != DONE)
 *             return status;
 *     struct stet_json *call = stet_json_new();
 *     stet_json_set_text(call, "/path", path, strlen(path));
 *     return cli_close(&work, cli_call(&work, "read_file", call, show));
 */
#ifndef STET_CLI_CLI_H
#define STET_CLI_CLI_H

#include "cli/output.h"

struct cli {
	const struct options *options;
	struct stet_workspace *ws;
	struct stet_session *session;
	/** What applies here. */
	struct stet_config *config;
};

/**
 * Set the options of a workspace by the configuration and by --set, and say
 * what was left out.
 *
 * @out  Receives the configuration, to be freed; may be NULL.
 * @return DONE, or the status of a failure after saying why.
 */
int configure(const struct options *options, struct stet_workspace *ws, struct stet_config **out);

/** Open both, configured. Returns DONE, or the status of a failure after saying why. */
int cli_open(struct cli *cli, const struct options *options);

/** Log snapshots where the option --log says, if it is given. Returns DONE, or a status after saying why. */
int cli_log(struct cli *cli, const struct arguments *args);

/** Say the notices that are left, close both, and pass a status on. */
int cli_close(struct cli *cli, int status);

/** Say the notices that came with an answer. */
void show_notices(const struct stet_json *answer);

/** Prints the structuredContent of an answer; NULL for the answer's text. */
typedef void cli_show(const struct stet_json *answer);

/**
 * Call a tool and print its answer: all of it with --json; otherwise what
 * show prints, or on failure the message and the diff on standard error.
 *
 * @args  The arguments; freed here. NULL is reported as out of memory.
 * @return The exit status.
 */
int cli_call(struct cli *cli, const char *tool, struct stet_json *args, cli_show *show);

/**
 * All of it: open, call, close.
 *
 * @status  What making the arguments came to: unless DONE, they are freed and
 *          it is passed on.
 */
int cli_run(const struct options *options, int status, const char *tool, struct stet_json *args,
            cli_show *show);

/** The arguments of a tool that begin with a path; NULL if memory is short. */
struct stet_json *cli_args(const char *path);

/** The options of commands that change files, for their tables. */
#define CHANGE_OPTIONS \
	{"--expect", "HASH", "refuse unless the file is this version: 16 to 64 digits"}, { \
		"--on-stale", "refuse|merge", "what to do if others changed the file since it was read" \
	}

/** As cli_args(), of the first operand and CHANGE_OPTIONS. */
struct stet_json *cli_change_args(const struct arguments *args);

/** Set a member to an operand, or to standard input if it is "-". Returns the status. */
int set_operand(struct stet_json *json, const char *pointer, const char *text);

/** Set a member to the value of an option, if it was given. */
void set_option(struct stet_json *json, const char *pointer, const struct arguments *args,
                const char *name);

/** Prints the answer of a tool that changes a file: what it did, and the lines. */
cli_show show_change;

/**
 * Read a file, or standard input if its name is "-". At most 64 MiB.
 *
 * @return DONE with the bytes in *out (freed with free()), NUL-ended; or the
 *         status of a failure after saying why.
 */
int slurp(const char *name, char **out, size_t *len);

#endif
