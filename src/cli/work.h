/**
 * What most commands begin with: an open workspace and a session, and a tool
 * called in it.
 *
 *     struct work work;
 *     int status = work_open(&work, options);
 *     if (status != DONE)
 *             return status;
 *     struct stet_json *call = stet_json_new();
 *     stet_json_set_text(call, "/path", path, strlen(path));
 *     return work_close(&work, work_call(&work, "read_file", call, show));
 */
#ifndef STET_CLI_WORK_H
#define STET_CLI_WORK_H

#include "cli/output.h"

struct work {
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
int work_open(struct work *work, const struct options *options);

/** Log snapshots where the option --log says, if it is given. Returns DONE, or a status after saying why. */
int work_log(struct work *work, const struct arguments *args);

/** Say the notices that are left, close both, and pass a status on. */
int work_close(struct work *work, int status);

/** Say the notices that came with an answer. */
void show_notices(const struct stet_json *answer);

/** Prints the structuredContent of an answer; NULL for the answer's text. */
typedef void work_show(const struct stet_json *answer);

/**
 * Call a tool and print its answer: all of it with --json; otherwise what
 * show prints, or on failure the message and the diff on standard error.
 *
 * @args  The arguments; freed here. NULL is reported as out of memory.
 * @return The exit status.
 */
int work_call(struct work *work, const char *tool, struct stet_json *args, work_show *show);

/**
 * All of it: open, call, close.
 *
 * @status  What making the arguments came to: unless DONE, they are freed and
 *          it is passed on.
 */
int work_run(const struct options *options, int status, const char *tool, struct stet_json *args,
             work_show *show);

/** The arguments of a tool that begin with a path; NULL if memory is short. */
struct stet_json *work_args(const char *path);

/** The options of commands that change files, for their tables. */
#define CHANGE_OPTIONS \
	{"--expect", "HASH", "refuse unless the file is this version: 16 to 64 digits"}, { \
		"--on-stale", "refuse|merge", "what to do if others changed the file since it was read" \
	}

/** As work_args(), of the first operand and CHANGE_OPTIONS. */
struct stet_json *work_change_args(const struct arguments *args);

/** Set a member to an operand, or to standard input if it is "-". Returns the status. */
int set_operand(struct stet_json *json, const char *pointer, const char *text);

/** Set a member to the value of an option, if it was given. */
void set_option(struct stet_json *json, const char *pointer, const struct arguments *args,
                const char *name);

/** Prints the answer of a tool that changes a file: what it did, and the lines. */
work_show show_change;

/**
 * Read a file, or standard input if its name is "-". At most 64 MiB.
 *
 * @return DONE with the bytes in *out (freed with free()), NUL-ended; or the
 *         status of a failure after saying why.
 */
int slurp(const char *name, char **out, size_t *len);

#endif
