/**
 * The clients that stet setup knows: which files each reads, and what stet
 * writes into them.
 *
 * A client has up to four files, and a list of entries, each for one of these
 * files. A path of a file that begins with "~/" is below the user's home, any
 * other below the workspace.
 */
#ifndef STET_CLI_SETUP_CLIENTS_H
#define STET_CLI_SETUP_CLIENTS_H

#include <stdbool.h>
#include <stddef.h>

enum { CLIENT_FILES = 4, CLIENT_KEYS = 4 };

/** The purpose of an entry; the user can leave out each part. */
enum part {
	PART_SERVER,
	PART_HOOKS,
	/** Takes the client's own editing tools away. */
	PART_DENY,
};

enum entry_kind {
	/** A member of an object. Members that the user added to its value stay. */
	ENTRY_MEMBER,
	/** A member that other entries of the file need, too: removed only with the last of them. */
	ENTRY_SHARED,
	/** An element of an array. */
	ENTRY_ELEMENT,
	/** A table of TOML; its value has a line for each key. */
	ENTRY_TABLE,
	/** The whole file. */
	ENTRY_TEXT,
};

struct entry {
	enum part part;
	enum entry_kind kind;
	/** Which of the client's files. */
	size_t file;
	/** Where, as member names that end with NULL. */
	const char *path[CLIENT_KEYS];
	/** JSON, TOML or text, in which @P is the program and @H the hook's command, both quoted. */
	const char *value;
	/** A hook that asks the running server instead of starting a process; NULL if the client has no such hooks. */
	const char *served;
};

/** The value of an entry before its program is filled in. */
static inline const char *entry_value(const struct entry *entry, bool served) {
	return served && entry->served ? entry->served : entry->value;
}

/** Where a file is; NULL if the client has none for that scope. */
struct client_file {
	const char *project;
	const char *user;
};

struct client {
	/** The argument of stet setup. */
	const char *name;
	/** The client's full name. */
	const char *title;
	struct client_file files[CLIENT_FILES];
	/** Without --scope, write the user's files. */
	bool user;
	/** Ends with an entry without value. */
	const struct entry *entries;
	/** A command of the client that lists its servers; NULL if there is none. */
	const char *check;
	/** A sentence on what else the user has to do; NULL if nothing. */
	const char *note;
	/** A sentence on what else hooks need; NULL if nothing. */
	const char *hook_note;
};

/** Whether the client has hooks that ask the running server. */
bool client_serves_hooks(const struct client *client);

extern const struct client clients[];
extern const size_t client_count;

/** The plugin for opencode, src/cli/setup/opencode.js. */
extern const char opencode_plugin[];

/**
 * The path of one of the client's files, which the caller frees; NULL if there
 * is none, if HOME is not set, or if memory ran out.
 */
char *client_path(const struct client *client, size_t file, const char *root, bool user);

/** Whether the client has files for the user, or for a project. */
bool client_has_scope(const struct client *client, bool user);

/** Whether stet knows a setting that takes the client's own tools away, or hooks of the client. */
bool client_has_part(const struct client *client, enum part part, bool user);

#endif
