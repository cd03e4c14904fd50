/**
 * A client's file, read and replaced through a session, so that no write of a
 * running client is lost: a file that changed between the two is refused.
 *
 *     struct config_file file = {0};
 *     status = config_file_read(&file, path);
 *     ... file.text, NULL if there is no file ...
 *     status = config_file_write(&file, text);
 *     config_file_release(&file);
 */
#ifndef STET_CLI_SETUP_CONFIG_FILE_H
#define STET_CLI_SETUP_CONFIG_FILE_H

#include <stdbool.h>

#include "stet/stet.h"

struct config_file {
	char *path;
	/** NULL if there is no file. */
	char *text;
	/** The topmost directory that config_file_write() made; NULL if there was nothing to make. */
	char *made;
	/** The directory and the name of the file, links resolved. */
	char *dir;
	char *name;
	struct stet_workspace *ws;
	struct stet_session *session;
};

/** Each returns DONE, or the exit status after reporting an error. */
int config_file_read(struct config_file *file, const char *path);
int config_file_write(struct config_file *file, const char *text);

/** Delete the file, then directories down from `made`, if they are empty; made may be NULL. */
int config_file_delete(struct config_file *file, const char *made);

void config_file_release(struct config_file *file);

/** The text of a file, which the caller frees; NULL if it cannot be read. Reports nothing. */
char *config_file_peek(const char *path);

#endif
