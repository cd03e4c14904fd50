/**
 * The clients that stet setup knows: where each keeps its configuration and
 * how a server is written there.
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
	/** What is typed, and what it is called. */
	const char *name;
	const char *title;
	/** The file below the workspace, and below the user's home; NULL if there is none. */
	const char *project;
	const char *user;
	/** The member that holds the servers. */
	const char *member;
	enum client_format format;
	/** Arguments before "mcp", as JSON with a comma behind; "" for none. */
	const char *before;
	/** A command of the client that lists its servers; NULL if there is none. */
	const char *check;
	/** What else has to be done, or to be there, as a sentence; NULL if nothing. */
	const char *note;
};

extern const struct client clients[];
extern const size_t client_count;

/** The file for a client, to be freed: of the user, or of the workspace; NULL if there is none. */
char *client_path(const struct client *client, const char *root, bool user);

/**
 * The text of a client's file with stet in it.
 *
 * @program  How stet is called.
 * @return   To be freed; NULL if memory is short.
 */
char *client_text(const struct client *client, const char *text, size_t len, const char *program);

/** Whether a text of a client's file has stet already. */
bool client_has(const struct client *client, const char *text, size_t len);

/** The file in which a client is configured for stet, until the next call; NULL if there is none. */
const char *client_configured(const struct client *client, const char *root);

#endif
