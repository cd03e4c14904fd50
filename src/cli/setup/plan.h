/**
 * The plan of stet setup for one client: the files that it changes, each with
 * its text before and after. Nothing is written until every file is known to
 * be one that stet can change.
 *
 *     struct plan plan = {.client = client, .user = true, .hooks = true};
 *     int status = plan_make(&plan, root);
 *     if (status == DONE && plan.changes > 0)
 *             status = plan_write(&plan);
 *     plan_release(&plan);
 */
#ifndef STET_CLI_SETUP_PLAN_H
#define STET_CLI_SETUP_PLAN_H

#include "cli/setup/clients.h"
#include "cli/setup/config_file.h"
#include "cli/setup/record.h"

enum { PLAN_ENTRIES = 16 };

/** An entry with its value for this machine. */
struct planned_entry {
	const struct entry *entry;
	char *value;
	/** The file did not have it. */
	bool is_new;
};

struct plan_file {
	struct config_file file;
	struct planned_entry entries[PLAN_ENTRIES];
	size_t count;
	/** What was remembered about the file. */
	struct record record;
	bool recorded;
	/** The new text; NULL to delete the file. */
	char *next;
	bool changes;
	/** It has entries of the client's other scope, which stay, with the record. */
	bool others;
	/** A file of stet's own was changed by somebody else, and stays. */
	bool foreign;
};

struct plan {
	const struct client *client;
	/** The user's files, not the project's. */
	bool user;
	bool hooks;
	/** Hooks ask the running server, where the client can. */
	bool served;
	bool deny;
	/** Take the entries out. */
	bool remove;
	struct plan_file files[CLIENT_FILES];
	size_t count;
	/** How many files change. */
	size_t changes;
	/** The name or path of stet. */
	char *program;
};

/** Read every file and make its new text. Returns DONE, or the exit status after reporting an error. */
int plan_make(struct plan *plan, const char *root);

/** Write the files that change. Returns the exit status. */
int plan_write(struct plan *plan);

/** The entries of a file alone, as a document of its own; the caller frees it. NULL if memory ran out. */
char *plan_document(const struct plan_file *file);

void plan_release(struct plan *plan);

/** "stet" if the shell finds this program by that name, else its path; the caller frees it. */
char *own_program(void);

/**
 * The client's file that has a part of stet's entries, which the caller frees;
 * NULL if there is none. The value of the entry need not be up to date.
 */
char *client_configured(const struct client *client, enum part part, const char *root, bool user);

#endif
