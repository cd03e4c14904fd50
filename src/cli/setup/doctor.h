/**
 * The checks of stet doctor on the clients' hooks: whether the configured
 * commands work, when they were last called, and whether Codex trusts them.
 */
#ifndef STET_CLI_SETUP_DOCTOR_H
#define STET_CLI_SETUP_DOCTOR_H

#include "cli/doctor.h"

/** Try the hooks of each client that has them. Call it after check_state(). */
void check_hooks(struct findings *found, const char *root);

#endif
