/**
 * The clients that stet setup knows: where each keeps its configuration, and
 * how to write a server into it.
 */
#ifndef STET_CLI_CLIENTS_H
#define STET_CLI_CLIENTS_H

#include <stdbool.h>
#include <stddef.h>

enum client_format {
	/** {"command": "stet", "args": ["mcp"]} */
	CLIENT_ARGS,
	/** The same, with "type": "stdio" */
	CLIENT_TYPED,
	/** {"type": "local", "command": ["stet", "mcp"], "enabled": true} */
	CLIENT_LOCAL,
	/** A table of TOML */
	CLIENT_TOML,
};

struct client {
	/** The argument of stet setup. */
	const char *name;
	/** The client's full name. */
	const char *title;
	/** The configuration file below the workspace; NULL if there is none. */
	const char *project;
	/** The configuration file below the user's home; NULL if there is none. */
	const char *user;
	/** The member of the file that has the servers. */
	const char *member;
	enum client_format format;
	/** Arguments before "mcp", as JSON with a trailing comma; "" for none. */
	const char *before;
	/** A command of the client that lists its servers; NULL if there is none. */
	const char *check;
	/** A sentence on what else the user has to do; NULL if nothing. */
	const char *note;
};

extern const struct client clients[];
extern const size_t client_count;

/** The path of the client's file for the user or the project, which the caller frees; NULL if there is none. */
char *client_path(const struct client *client, const char *root, bool user);

/**
 * Add stet to the text of a client's file.
 *
 * @program  The name or path of stet.
 * @return   The new text, which the caller frees; NULL if memory ran out.
 */
char *client_text(const struct client *client, const char *text, size_t len, const char *program);

/** Whether the text of a client's file contains stet. */
bool client_has(const struct client *client, const char *text, size_t len);

/** The client's file that contains stet, valid until the next call; NULL if there is none. */
const char *client_configured(const struct client *client, const char *root);

#endif
