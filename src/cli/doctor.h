/**
 * The findings of stet doctor, and its checks of the state directory.
 *
 *     add_finding(found, WEAK, "leases", strerror(errno), "See /proc/sys/fs/leases-enable");
 */
#ifndef STET_CLI_DOCTOR_H
#define STET_CLI_DOCTOR_H

#include "cli/output.h"

enum verdict { FINE, WEAK, BROKEN };

/** All findings, as a table and as JSON. */
struct findings {
	struct table table;
	struct stet_json *json;
	enum verdict worst;
};

/** Add a finding: its subject, what was found, and what to do about it (may be NULL). */
void add_finding(struct findings *found, enum verdict verdict, const char *about, const char *what,
                 const char *advice);

/** Check the state directory and its database. */
void check_state(struct findings *found, struct stet_workspace *ws);

/** Count the rescued files in a state directory below the descriptor of the root. */
void check_rescued(struct findings *found, int root, const char *state_dir);

#endif
