/**
 * The record that stet setup keeps of each file that it changed: the bytes before,
 * and the hash after. While the file still has that hash, nobody else changed it,
 * and stet setup --remove restores the bytes.
 *
 * A record is a file in stet/setup below $XDG_STATE_HOME or ~/.local/state,
 * which only the user can read, named after the hash of the path.
 */
#ifndef STET_CLI_SETUP_RECORD_H
#define STET_CLI_SETUP_RECORD_H

#include <stdbool.h>
#include <stddef.h>

struct record {
	/** The text before; NULL if there was no file. */
	char *before;
	/** The topmost directory that stet made for the file; NULL if there is none. */
	char *made;
	/** The hash of the text that stet wrote. */
	char after[65];
};

/** Read the record of a path. Returns false if there is none. */
bool record_read(const char *path, struct record *record);

/** Write the record of a path. Returns false if there is no place for it. */
bool record_write(const char *path, const struct record *record);
void record_remove(const char *path);

/** Call a function with the path of each file that has a record, until it returns true. Returns whether it did. */
bool record_find(bool (*call)(const char *path, void *arg), void *arg);

void record_release(struct record *record);

/** Whether a text is what stet wrote. */
bool record_is_current(const struct record *record, const char *text);

#endif
