/**
 * Holding a prompt against what it was made of: is everything that it leaves
 * out said to be left out? (spec 2: nothing is lost silently)
 *
 * This goes by the words of the prompt alone, as its reader has to, and knows
 * nothing of how they came about.
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

/** What is missing without a word, by kind. */
struct st_audit {
	/** Messages of the history that are neither in the prompt nor among those it counts. */
	size_t messages;
	/** Messages in the prompt that are others than in the history, and have no mark of a cut. */
	size_t texts;
	/** Files that a snapshot neither names nor counts. */
	size_t files;
};

/**
 * Hold a prompt against its history, both of them lists of chat completions.
 *
 * @return 0, STET_E_INVALID (no such list) or STET_E_NOMEM.
 */
[[nodiscard]] int st_audit_prompt(struct st_str history, struct st_str prompt,
                                  struct st_audit *audit, struct stet_error *err);

/** Hold a snapshot against its state. */
void st_audit_files(struct st_str snapshot, const struct st_repo_state *state,
                    struct st_audit *audit);

size_t st_audit_unsaid(const struct st_audit *audit);

#endif
