/**
 * Compare two texts line by line.
 *
 * The folder text/diff holds the comparison itself, unified diffs (unified.h)
 * and the three-way merge (merge.h).
 *
 * Only LF ends a line, as in diff, patch and git: a CR is part of its line, and
 * a last line without LF differs from the same line with one. Lines compare as
 * bytes.
 *
 *     st_auto(st_diff) diff = {0};
 *     if (st_diff_init(&diff, old, new, err) < 0)
 *             return err->code;
 *     for (size_t i = 0; i < diff.count; i++)
 *             show(&diff.hunks[i]);
 *
 * Time and memory are bounded for any texts (see text/diff/myers.h). Among equally
 * short differences it chooses as git does, so merges agree with git's.
 */
#ifndef STET_TEXT_DIFF_DIFF_H
#define STET_TEXT_DIFF_DIFF_H

#include "text/lines/lines.h"

/**
 * Lines of the old text, and the lines of the new text that replace them. Starts
 * count from 0; one of the counts may be 0. At least one unchanged line separates
 * two hunks.
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
	/** How many lines all hunks remove and add. */
	size_t removed, added;
};

/** The offsets of the lines that remain after cutting off common first and last lines. */
struct st_diff_middle {
	/** The same in both texts. */
	size_t start;
	size_t old_end, new_end;
};

struct st_diff_middle st_diff_middle(struct st_str old, struct st_str new);

/**
 * Compare two texts.
 *
 * @diff    Needs st_diff_release() after success; empty after a failure.
 * @return  0, STET_E_TOO_BIG, STET_E_NOMEM or STET_E_CANCELLED.
 */
[[nodiscard]] int st_diff_init(struct st_diff *diff, struct st_str old, struct st_str new,
                               struct stet_error *err);

/**
 * Compare parts of two texts. The parts must contain all differences and at least
 * one line of context on either side, if the texts have one.
 *
 * @return As st_diff_init(); or 1, with an empty diff, if comparing the whole
 *         texts may give other hunks.
 */
[[nodiscard]] int st_diff_init_parts(struct st_diff *diff, struct st_str old, struct st_str new,
                                     struct stet_error *err);

void st_diff_release(struct st_diff *diff);

#endif
