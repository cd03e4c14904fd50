/**
 * core/prompt turns the state of the work and a message history into prompts.
 *
 * The snapshot is the state of the work as text:
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
 * It always fits a budget of tokens. Tasks get room first, then files that
 * others changed, then files changed in this story, then the rest. If lines for
 * all files do not fit, it lists names, else counts by directory; it counts what
 * it leaves out. The same state gives the same text. 100,000 files are cheap.
 *
 * File names are data: an unusual name is quoted and escaped, and a long one is
 * cut, so that it cannot pose as a line of this text or as an instruction. A
 * task's description stays as it is, on one line. Its number is its id.
 *
 *     st_auto(st_buf) text = ST_BUF_INIT;
 *     int code = st_snapshot_format(state, 0, &text, err);
 */
#ifndef STET_CORE_PROMPT_SNAPSHOT_H
#define STET_CORE_PROMPT_SNAPSHOT_H

#include "base/buf.h"
#include "core/state/repo_state.h"

/** The default budget in tokens, and the smallest. */
enum { ST_SNAPSHOT_BUDGET = 500, ST_SNAPSHOT_BUDGET_MIN = 150 };

/**
 * Append the snapshot of a state.
 *
 * @budget  In o200k tokens; 0 for ST_SNAPSHOT_BUDGET. Raised to
 *          ST_SNAPSHOT_BUDGET_MIN.
 * @return  0 or STET_E_NOMEM.
 */
[[nodiscard]] int st_snapshot_format(const struct st_repo_state *state, size_t budget,
                                     struct st_buf *out, struct stet_error *err);

/** Append a file name: as it is if it is harmless, else quoted, escaped and cut. */
void st_snapshot_add_name(struct st_buf *out, struct st_str name);

#endif
