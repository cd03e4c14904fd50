/**
 * What stet doctor finds, and who looks for it.
 *
 *     find(found, WEAK, "leases", strerror(errno), "See /proc/sys/fs/leases-enable");
 */
#ifndef STET_CLI_DOCTOR_H
#define STET_CLI_DOCTOR_H

#include "cli/output.h"

enum verdict { FINE, WEAK, BROKEN };

/** What was found, one line each. */
struct findings {
	struct table table;
	struct stet_json *json;
	enum verdict worst;
};

/** One finding: what it is about, how it is, and what to do if it is not fine; that may be NULL. */
void find(struct findings *found, enum verdict verdict, const char *about, const char *what,
          const char *advice);

/** The state directory, and what is in its database. */
void look_at_state(struct findings *found, struct stet_workspace *ws);

/** Copies of what others wrote, in a directory of that name below the descriptor of the root. */
void look_at_rescued(struct findings *found, int root, const char *state_dir);

#endif
