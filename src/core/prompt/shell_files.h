/**
 * The files that a shell command names in a way that says what happens to them:
 * a redirection, sed -i, cat, rm, mv. Everything else a command may do is unknown.
 *
 *     st_shell_files(command, note_file, data);
 */
#ifndef STET_CORE_PROMPT_SHELL_FILES_H
#define STET_CORE_PROMPT_SHELL_FILES_H

#include <stdbool.h>

#include "base/str.h"

/** The access of a tool call or a command to a file. */
enum st_file_use {
	ST_USE_READ,
	ST_USE_WROTE,
	ST_USE_EDITED,
	ST_USE_DELETED,
};

/** Receives one file; false to stop. */
typedef bool st_file_use_fn(void *data, struct st_str path, enum st_file_use use);

/** Find the files of a command. Returns false if the function stopped it. */
bool st_shell_files(struct st_str command, st_file_use_fn *each, void *data);

#endif
