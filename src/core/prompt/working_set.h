/**
 * The working set of a list of messages: the texts of files that its calls read,
 * wrote or edited, as far as no later call shows the same text or replaces it.
 *
 * A cut cannot keep all of them. The best ones come first: a file that was used
 * later is more likely to be used again, and of two files that are as likely, the
 * smaller one leaves more room for others.
 *
 *     struct st_working_set set = {0};
 *     int code = st_working_set_read(&set, &calls, err);
 *     for (size_t i = 0; i < set.count; i++)
 *             ... calls.items[set.items[i].call] ...
 *     st_working_set_release(&set);
 */
#ifndef STET_CORE_PROMPT_WORKING_SET_H
#define STET_CORE_PROMPT_WORKING_SET_H

#include "core/prompt/message_calls.h"

struct st_working_text {
	/** The number of the call. */
	size_t call;
	/** The text in its result, or the one that its arguments put into the file. */
	struct st_str text;
	size_t tokens;
	/** A sum of the path; how many files were used later than this one. */
	uint64_t file;
	size_t rank;
};

struct st_working_set {
	struct st_working_text *items;
	size_t count;
};

/** Find the texts, the best first. Returns 0 or STET_E_NOMEM. */
[[nodiscard]] int st_working_set_read(struct st_working_set *set,
                                      const struct st_message_calls *calls, struct stet_error *err);
void st_working_set_release(struct st_working_set *set);

#endif
