/**
 * The difference of two texts, by lines.
 *
 * A line ends at LF and nowhere else, as for diff, patch and git: a CR is part
 * of its line, and the last line may lack its LF and is then another line than
 * one that has it. Lines are compared as bytes.
 *
 *     st_auto(st_diff) diff = {0};
 *     if (st_diff_init(&diff, old, new, err) < 0)
 *             return err->code;
 *     for (size_t i = 0; i < diff.count; i++)
 *             show(&diff.hunks[i]);
 *
 * Time and memory are bounded whatever the texts are (see text/diff/myers.h); the
 * choices among equally short differences are git's, so that merges agree with
 * git's too.
 */
#ifndef STET_TEXT_DIFF_DIFF_H
#define STET_TEXT_DIFF_DIFF_H

#include "text/lines/lines.h"

/**
 * Lines of the old text that lines of the new text replace. Lines count from
 * 0; one of the counts may be 0. Between two hunks there is at least one line
 * that both texts have.
 */
struct st_hunk {
	size_t old_start, old_count;
	size_t new_start, new_count;
};

/** Two texts, which it borrows, and how they differ. */
struct st_diff {
	struct st_lines old, new;
	/** In order. */
	struct st_hunk *hunks;
	size_t count;
	/** Lines in all hunks. */
	size_t removed, added;
};

/** The lines that two texts do not begin and end with alike, by their offsets. */
struct st_diff_middle {
	/** In both texts. */
	size_t start;
	size_t old_end, new_end;
};

struct st_diff_middle st_diff_middle(struct st_str old, struct st_str new);

/** Compare two texts. Returns 0, STET_E_TOO_BIG, STET_E_NOMEM or STET_E_CANCELLED; on failure nothing is kept. */
[[nodiscard]] int st_diff_init(struct st_diff *diff, struct st_str old, struct st_str new,
                               struct stet_error *err);

/**
 * Compare parts of two texts that have all of their differences and, on either
 * side, at least one line of what is around them, as far as there is any.
 *
 * @return As st_diff_init(); 1, with nothing kept, if the rest of the texts may
 *         make a difference.
 */
[[nodiscard]] int st_diff_init_parts(struct st_diff *diff, struct st_str old, struct st_str new,
                                     struct stet_error *err);

void st_diff_release(struct st_diff *diff);

#endif
