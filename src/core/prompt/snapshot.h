/**
 * The state of the work as text for a prompt (spec 2's FormatForPrompt):
 *
 *     --- Repository State ---
 *     Workspace: /work/coder-001
 *     Story: hello-001
 *
 *     Existing Files (3):
 *       • cmd/main.go (a4f3e1, 245 bytes) - go source
 *       • go.mod (8d2c47, 89 bytes) - go module
 *       • README.md (1b4e9a, 156 bytes) - markdown
 *
 *     Open Tasks (2):
 *       1. [pending] Add unit tests for main package
 *       2. [pending] Run go build and verify compilation
 *
 *     Last updated: 2025-10-22 03:15:42 UTC
 *
 * It fits a budget of tokens whatever the state: tasks come first, then files
 * that others changed, then what changed in this story, then the rest. Lines
 * become names, names become counts by directory; what is left out is counted.
 * The same state gives the same text, and it is cheap for 100,000 files.
 *
 * Names of files are data. One that is more than letters, digits and the usual
 * signs stands in quotes with everything odd escaped, and a long one is cut, so
 * that none can pose as a line of this text or as an instruction. A task keeps
 * its words, on one line. Its number is its id.
 *
 *     st_auto(st_buf) text = ST_BUF_INIT;
 *     int code = st_snapshot_format(state, 0, &text, err);
 */
#ifndef STET_CORE_PROMPT_SNAPSHOT_H
#define STET_CORE_PROMPT_SNAPSHOT_H

#include "base/buf.h"
#include "core/state/repo_state.h"

/** How many tokens a snapshot may have, and the least that it can be told. */
enum { ST_SNAPSHOT_BUDGET = 500, ST_SNAPSHOT_LEAST = 150 };

/**
 * Append the snapshot of a state.
 *
 * @budget  In o200k's tokens; 0 for ST_SNAPSHOT_BUDGET. Less than
 *          ST_SNAPSHOT_LEAST counts as that.
 * @return  0 or STET_E_NOMEM.
 */
[[nodiscard]] int st_snapshot_format(const struct st_repo_state *state, size_t budget,
                                     struct st_buf *out, struct stet_error *err);

/** Append a file's name as data: plain if it is harmless, else quoted, escaped and cut. */
void st_snapshot_add_name(struct st_buf *out, struct st_str name);

#endif
