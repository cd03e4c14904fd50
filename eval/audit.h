/**
 * Compare a prompt with the history it was made from: does the prompt say
 * everything that it leaves out?
 *
 * The comparison uses only the text of the prompt, as a model does, and nothing
 * of the code that made it.
 *
 *     struct st_audit audit = {0};
 *     int code = st_audit_prompt(history, prompt, &audit, err);
 *     st_audit_files(snapshot, &state, &audit);
 *     assert(st_audit_unsaid(&audit) == 0);
 */
#ifndef STET_EVAL_AUDIT_H
#define STET_EVAL_AUDIT_H

#include "base/error.h"
#include "base/str.h"
#include "core/state/repo_state.h"

/** How many items are missing without a mention, by kind. */
struct st_audit {
	/** Messages of the history that the prompt neither contains nor counts as left out. */
	size_t messages;
	/** Messages of the prompt that differ from the history and have no mark of a cut. */
	size_t texts;
	/** Files that a snapshot neither names nor counts. */
	size_t files;
};

/**
 * Compare a prompt with its history, both in the format of chat completions,
 * and add to the audit.
 *
 * @return 0, STET_E_INVALID (not such a list) or STET_E_NOMEM.
 */
[[nodiscard]] int st_audit_prompt(struct st_str history, struct st_str prompt,
                                  struct st_audit *audit, struct stet_error *err);

/** Compare a snapshot with the state it was made from, and add to the audit. */
void st_audit_files(struct st_str snapshot, const struct st_repo_state *state,
                    struct st_audit *audit);

/** How many items of all kinds are missing without a mention. */
size_t st_audit_unsaid(const struct st_audit *audit);

#endif
